"""Finding and loading a configuration."""

from pathlib import Path

import pytest

from pepsi.config.load import MOST_PROBLEMS, Config, load, load_base, load_text, locate
from pepsi.errors import ConfigError
from pepsi.model.stage import StageSpec

GOOD = """\
[pepsi-postgres]
DSN = embedded

[pepsi-ingress]
ENTRY_STAGE = if

[stage-if]
PROGRAM = pepsi-stage-if
THEN_STAGE = relay
ELSE_STAGE = discard

[stage-relay]
PROGRAM = pepsi-stage-relay-to-smarthost -v
PARALLELISM = 8
MAX_RUNTIME = 20 min
BOUNCE_STAGE = discard

[stage-discard]
PROGRAM = pepsi-stage-discard
FUSION = no
"""

BAD = """\
# A file in which everything is wrong that can be.
[pepsi]
HOSTNAME = mail_1
ALOW_FUSION = yes
POLL_INTERVAL = 5 s
share_telemetry = no

[pepsi-postgress]
DSN = embedded

[pepsi-postgres]
CONNECT_TIMEOUT = 0
STATEMENT_TIMEOUT = soon

[pepsi-dispatch]
FAIR_SCHEDULING = maybe
FAIR_FIFO_PERCENT = 101
METRICS_LISTEN = 9100
STANDBY = yes
STANDBY = no

[pepsi-ingress]
ENTRY_STAGE = stage-if

[stage-if]
PROGRAM = pepsi-stage-if "
THEN_STAGE = realy
NEXT_STAGE = Relay
QUEUE_LIMIT
  PARALLELISM = 5

[satge-discard]
[stage-relay]
MAX_LIFETIME = 1 year
[stage-if]
[if]
[stage-]
"""

ERRORS = """\
pepsi.conf:3: [pepsi] HOSTNAME = mail_1: expected a host name such as mail.example.org
pepsi.conf:4: [pepsi] ALOW_FUSION = yes: no such key; did you mean ALLOW_FUSION?
pepsi.conf:5: [pepsi] POLL_INTERVAL = 5 s: no such key; it belongs to [pepsi-dispatch]
pepsi.conf:6: [pepsi] share_telemetry = no: keys are written in upper case; write SHARE_TELEMETRY
pepsi.conf:8: [pepsi-postgress]: no such section; did you mean pepsi-postgres?
pepsi.conf:11: [pepsi-postgres] DSN: this key must be set; its value is a DSN: Which database to use; embedded runs a \
private server under STATE_DIRECTORY.
pepsi.conf:12: [pepsi-postgres] CONNECT_TIMEOUT = 0: expected 1 s to 10 min
pepsi.conf:13: [pepsi-postgres] STATEMENT_TIMEOUT = soon: expected a duration such as 300, 250 ms, 5 s, 2 min, 120 h \
or 1 d
pepsi.conf:16: [pepsi-dispatch] FAIR_SCHEDULING = maybe: expected yes or no
pepsi.conf:17: [pepsi-dispatch] FAIR_FIFO_PERCENT = 101: expected 0 to 100
pepsi.conf:18: [pepsi-dispatch] METRICS_LISTEN = 9100: expected an endpoint such as tcp:25 or \
tcp:9100:interface=127.0.0.1
pepsi.conf:20: [pepsi-dispatch] STANDBY = no: this key stands at line 19 already; remove one of them
pepsi.conf:23: [pepsi-ingress] ENTRY_STAGE = stage-if: no such stage; write if
pepsi.conf:26: [stage-if] PROGRAM = pepsi-stage-if ": expected a command line: no closing quotation
pepsi.conf:27: [stage-if] THEN_STAGE = realy: no such stage; did you mean relay?
pepsi.conf:28: [stage-if] NEXT_STAGE = Relay: expected the name of a stage: at most 50 lower-case letters, digits, \
dots, dashes, underscores
pepsi.conf:29: [stage-if] QUEUE_LIMIT: expected KEY = value
pepsi.conf:30: [stage-if] PARALLELISM = 5: an indented line goes on with the value above it, and this looks like a \
line of its own; begin it at the margin
pepsi.conf:32: [satge-discard]: no such section; did you mean stage-discard?
pepsi.conf:33: [stage-relay] PROGRAM: this key must be set; its value is a command: The program that does the work of \
the stage, found on PATH unless it has a slash.
pepsi.conf:34: [stage-relay] MAX_LIFETIME = 1 year: expected a duration such as 300, 250 ms, 5 s, 2 min, 120 h or 1 d
pepsi.conf:35: [stage-if]: this section stands at line 25 already; join the two
pepsi.conf:36: [if]: no such section; a stage is [stage-if]
pepsi.conf:37: [stage-]: no such section; a stage's name has 1 to 50 letters, digits, dots, dashes, underscores"""


def errors(text: str, **keywords: object) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load_text(text, **keywords)  # type: ignore[arg-type]
    return str(caught.value).splitlines()


def test_a_good_file_is_what_it_says() -> None:
    config = load_text(GOOD)
    assert config.warnings == ()
    assert config.postgres.dsn == "embedded"
    assert config.ingress.entry_stage == "if"
    assert config.specs == {
        "if": StageSpec(name="if", program="pepsi-stage-if"),
        "relay": StageSpec(
            name="relay",
            program="pepsi-stage-relay-to-smarthost -v",
            parallelism=8,
            max_runtime=1200.0,
            bounce_stage="discard",
        ),
        "discard": StageSpec(name="discard", program="pepsi-stage-discard", fusion=False),
    }
    assert config.stages["if"].raw.entries["THEN_STAGE"].value == "relay"


def test_every_error_of_a_file_is_told_at_once_with_its_place_and_its_mend() -> None:
    assert errors(BAD) == ERRORS.splitlines()


def test_the_dispatchers_max_runtime_is_that_of_every_stage_that_has_none() -> None:
    specs = load_text(GOOD + "[pepsi-dispatch]\nMAX_RUNTIME = 10 s\n").specs
    assert {name: spec.max_runtime for name, spec in specs.items()} == {"if": 10.0, "relay": 1200.0, "discard": 10.0}


def test_the_host_has_the_machines_name_and_a_postmaster_there() -> None:
    pepsi = load_text(GOOD, machine="mx1.example.net").pepsi
    assert (pepsi.hostname, pepsi.postmaster) == ("mx1.example.net", "postmaster@mx1.example.net")


def test_a_host_name_that_is_set_is_the_postmasters_too() -> None:
    pepsi = load_text("[pepsi]\nHOSTNAME = mx.example.org\n" + GOOD).pepsi
    assert (pepsi.hostname, pepsi.postmaster) == ("mx.example.org", "postmaster@mx.example.org")


def test_a_machine_without_a_usable_name_must_be_given_one() -> None:
    assert errors(GOOD, machine="my_machine") == [
        "pepsi.conf: [pepsi] HOSTNAME: the machine calls itself my_machine, which is no host name; set this key"
    ]
    assert load_text("[pepsi]\nHOSTNAME = a.example\n" + GOOD, machine="my_machine").pepsi.hostname == "a.example"


def test_relative_paths_start_from_the_directory_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "pepsi.conf"
    file.write_text("[pepsi]\nSTATE_DIRECTORY = state\n[pepsi-dispatch]\nCONFIG_FILE = /etc/other.conf\n" + GOOD)
    config = load(file)
    assert config.path == file
    assert config.pepsi.state_directory == tmp_path / "state"
    assert config.dispatch.config_file == Path("/etc/other.conf")


def test_without_a_state_directory_it_is_that_of_the_system() -> None:
    assert load_text(GOOD).pepsi.state_directory == Path("/var/lib/pepsi")


def test_errors_name_the_file_as_it_was_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "a.conf"
    file.write_text("[pepsi-postgres]\nDSN = embedded\nX = 1\n")
    with pytest.raises(ConfigError) as caught:
        load_base(file)
    assert str(caught.value) == f"{file}:3: [pepsi-postgres] X = 1: no such key"


def test_a_file_that_cannot_be_read_is_an_error_that_says_why(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none: cannot be read: No such file or directory"):
        load(tmp_path / "none")
    with pytest.raises(ConfigError, match=r"cannot be read: Is a directory"):
        load(tmp_path)


def test_a_file_that_is_no_configuration_does_not_flood_the_terminal() -> None:
    lines = errors("x\n" * 5000)
    assert len(lines) == MOST_PROBLEMS + 1
    assert lines[-1].startswith("pepsi.conf: and ")


def test_an_empty_file_says_what_is_needed() -> None:
    assert [line.split(":")[1].strip() for line in errors("")] == [
        "[pepsi-postgres] DSN",
        "[pepsi-ingress] ENTRY_STAGE",
    ]


def test_a_program_that_needs_no_stages_is_not_stopped_by_theirs(tmp_path: Path) -> None:
    file = tmp_path / "pepsi.conf"
    file.write_text("[pepsi-postgres]\nDSN = host=/run\n[stage-a]\nNEXT_STAGE = only-in-the-overlay\n")
    base = load_base(file)
    assert base.postgres.dsn == "host=/run"
    assert not isinstance(base, Config)


def test_a_stages_own_keys_are_no_concern_of_the_loader() -> None:
    assert load_text(GOOD + "CONDITION = x\nMAX_MESSAGE_SIZE = 5\nNOTICE_STAGE = if\n").warnings == ()


@pytest.mark.parametrize(
    ("key", "meant"),
    [("PARALELISM", "PARALLELISM"), ("MAX_RUN_TIME", "MAX_RUNTIME"), ("MAX_MESAGES", "MAX_MESSAGES")],
)
def test_a_key_that_is_almost_a_common_one_is_a_warning(key: str, meant: str) -> None:
    assert load_text(f"{GOOD}{key} = 4\n").warnings == (
        f"pepsi.conf:21: [stage-discard] {key} = 4: not a key that every stage has; did you mean {meant}?",
    )


def test_the_overlay_is_layered_on_stages() -> None:
    overlay = [("stage-relay", "PARALLELISM", " 2 "), ("stage-relay", "HOST", "a.example")]
    config = load_text(GOOD, overlay=overlay)
    assert config.specs["relay"].parallelism == 2
    assert config.specs["relay"].max_runtime == 1200.0
    assert config.stages["relay"].raw.entries["HOST"].value == "a.example"


def test_a_stage_can_stand_wholly_in_the_overlay() -> None:
    overlay = [("stage-if", "ELSE_STAGE", "new"), ("stage-new", "PROGRAM", "x"), ("stage-new", "NEXT_STAGE", "discard")]
    config = load_text(GOOD, overlay=overlay)
    assert config.specs["new"] == StageSpec(name="new", program="x", next_stage="discard")
    assert config.warnings == ()


def test_an_error_in_the_overlay_says_that_it_is_there() -> None:
    overlay = [
        ("stage-relay", "PARALLELISM", "0"),
        ("stage-relay", "queue_limit", "1"),
        ("stage-if", "THEN_STAGE", "nowhere"),
        ("stage-new", "PARALLELISM", "1"),
    ]
    assert [line.split("; ")[0] for line in sorted(errors(GOOD, overlay=overlay))] == [
        "pepsi.config_override: [stage-if] THEN_STAGE = nowhere: no such stage",
        "pepsi.config_override: [stage-new] PROGRAM: this key must be set",
        "pepsi.config_override: [stage-relay] PARALLELISM = 0: expected 1 to 1000",
        "pepsi.config_override: [stage-relay] queue_limit = 1: keys are written in upper case",
    ]


def test_the_overlay_cannot_touch_what_is_read_at_the_start_only() -> None:
    config = load_text(GOOD, overlay=[("pepsi", "ALLOW_FUSION", "no"), ("stage-", "PROGRAM", "x")])
    assert config.pepsi.allow_fusion
    assert config.warnings == (
        "pepsi.config_override: [pepsi] ALLOW_FUSION = no: ignored: only sections of stages can be overridden",
        "pepsi.config_override: [stage-] PROGRAM = x: ignored: only sections of stages can be overridden",
    )


def test_what_was_asked_for_is_read_though_it_does_not_exist(tmp_path: Path) -> None:
    (tmp_path / "pepsi.conf").touch()
    environ = {"PEPSI_CONF": "/from/environ", "HOME": str(tmp_path)}
    assert locate("/from/argument", environ, directory=tmp_path) == Path("/from/argument")
    assert locate(None, environ, directory=tmp_path) == Path("/from/environ")


def test_the_nearest_file_is_found_first(tmp_path: Path) -> None:
    here, home, system = tmp_path / "here", tmp_path / "home", tmp_path / "etc/pepsi.conf"
    own = home / ".config/pepsi/pepsi.conf"
    for file in (here / "pepsi.conf", own, system):
        file.parent.mkdir(parents=True)
        file.touch()
    environ = {"HOME": str(home), "PEPSI_CONF": ""}
    found = []
    for file in (here / "pepsi.conf", own, system):
        found.append(locate(None, environ, directory=here, system_file=system))
        file.unlink()
    assert found == [here / "pepsi.conf", own, system]
    with pytest.raises(ConfigError) as caught:
        locate(None, environ, directory=here, system_file=system)
    assert str(caught.value) == (
        f"there is no configuration file at any of {here}/pepsi.conf, {own}, {system}; name one with -c or $PEPSI_CONF"
    )


def test_a_place_that_cannot_even_be_looked_at_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "system.conf").touch()
    impossible = tmp_path / ("x" * 300)
    assert locate(None, {}, directory=impossible, system_file=tmp_path / "system.conf") == tmp_path / "system.conf"
