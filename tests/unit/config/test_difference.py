"""What is different between two configurations, as the log tells it."""

from pepsi.config import difference
from pepsi.config.load import Config, load_text

FILE = """\
[pepsi-postgres]
DSN = {dsn}
[pepsi-ingress]
ENTRY_STAGE = a
[stage-a]
PROGRAM = one
{a}
{more}
"""


def config(a: str = "", more: str = "", dsn: str = "embedded") -> Config:
    return load_text(FILE.format(a=a, more=more, dsn=dsn))


def stages(old: Config, new: Config) -> list[str]:
    return list(difference.stages(old, new))


def test_each_key_that_is_set_changed_or_gone_has_its_line() -> None:
    old = config("PARALLELISM = 2\nQUEUE_LIMIT = 4")
    new = config("PARALLELISM = 3\nMAX_RUNTIME = 5 s")
    assert stages(old, new) == [
        "[stage-a] MAX_RUNTIME: (not set) -> 5 s",
        "[stage-a] PARALLELISM: 2 -> 3",
        "[stage-a] QUEUE_LIMIT: 4 -> (not set)",
    ]


def test_stages_that_are_new_or_gone_have_theirs() -> None:
    more = "[stage-b]\nPROGRAM = two"
    assert stages(config(), config(more=more)) == ["[stage-b] is new"]
    assert stages(config(more=more), config()) == ["[stage-b] is gone"]


def test_what_may_be_a_secret_is_not_shown() -> None:
    old, new = config("PASSWORD = one"), config("PASSWORD = two")
    assert stages(old, new) == ["[stage-a] PASSWORD: (not shown) -> (not shown)"]
    old, new = config(dsn="host=/a password=one"), config(dsn="host=/a password=two")
    (line,) = difference.settings("pepsi-postgres", old.postgres, new.postgres)
    assert line == "[pepsi-postgres] DSN: (not shown) -> (not shown)"


def test_settings_are_shown_as_they_are_written() -> None:
    old = load_text(FILE.format(a="", more="", dsn="embedded"))
    new = load_text(FILE.format(a="", more="[pepsi-dispatch]\nPOLL_INTERVAL = 90\nCONFIG_FILE = /x", dsn="embedded"))
    assert list(difference.settings("pepsi-dispatch", old.dispatch, new.dispatch)) == [
        "[pepsi-dispatch] CONFIG_FILE: (not set) -> /x",
        "[pepsi-dispatch] POLL_INTERVAL: 30 s -> 90 s",
    ]


def test_equal_configurations_differ_in_nothing() -> None:
    assert not stages(config("PARALLELISM = 2"), config("PARALLELISM = 2"))
