"""How a stage learns what time it has."""

import pytest

from pepsi.config.load import load_text
from pepsi.errors import ConfigError
from pepsi.stages.relay_to_smarthost import RelayToSmarthost
from pepsi.stages.results import time_for_message
from pepsi.worker.section import options_alone, options_of, problems_of

CONFIGURATION = """
[pepsi]
HOSTNAME = us.example
[pepsi-postgres]
DSN = embedded
[pepsi-ingress]
LISTEN = tcp:0
ENTRY_STAGE = out
[pepsi-dispatch]
MAX_RUNTIME = 10 min
[stage-out]
PROGRAM = pepsi-stage-relay-to-smarthost
HOST = mail.example.org
"""


def test_a_stage_ends_before_the_dispatcher_would_kill_its_worker():
    options = options_of(RelayToSmarthost, load_text(CONFIGURATION), "out")
    assert time_for_message(options) == 540.0


def test_a_section_can_give_its_stage_more_time():
    options = options_of(RelayToSmarthost, load_text(CONFIGURATION + "MAX_RUNTIME = 20 min\n"), "out")
    assert time_for_message(options) == 1080.0


def test_the_server_is_told_the_name_of_this_host():
    options = options_of(RelayToSmarthost, load_text(CONFIGURATION), "out")
    assert isinstance(options, RelayToSmarthost.Options)
    assert options.hostname == "us.example"


@pytest.mark.parametrize(
    ("keys", "pair"),
    [
        ("FINAL_TIMEOUT = 10 min", "COMMAND_TIMEOUT and FINAL_TIMEOUT"),
        ("COMMAND_TIMEOUT = 8 min", "COMMAND_TIMEOUT and FINAL_TIMEOUT"),
        ("DATA_TIMEOUT = 8 min", "DATA_TIMEOUT and FINAL_TIMEOUT"),
        ("CONNECT_TIMEOUT = 8 min", "CONNECT_TIMEOUT and FINAL_TIMEOUT"),
        ("MAX_RUNTIME = 60 s", "COMMAND_TIMEOUT and FINAL_TIMEOUT"),
    ],
)
def test_time_outs_that_the_time_for_a_message_cannot_hold_are_an_error_that_names_them(keys: str, pair: str):
    with pytest.raises(ConfigError, match=f"expected {pair} to be no more together than nine tenths of MAX_RUNTIME"):
        options_of(RelayToSmarthost, load_text(CONFIGURATION + keys + "\n"), "out")


def test_the_mend_that_the_error_names_mends_it():
    keys = "FINAL_TIMEOUT = 10 min\nCOMMAND_TIMEOUT = 5 min\n"
    with pytest.raises(ConfigError, match="set MAX_RUNTIME = 1000 s"):
        options_of(RelayToSmarthost, load_text(CONFIGURATION + keys), "out")
    options_of(RelayToSmarthost, load_text(CONFIGURATION + keys + "MAX_RUNTIME = 1000 s\n"), "out")


def test_the_defaults_fit_together():
    options_of(RelayToSmarthost, load_text(CONFIGURATION.replace("MAX_RUNTIME = 10 min", "")), "out")
    options_alone(RelayToSmarthost, {"HOST": "mail.example.org"})


def test_a_section_alone_is_not_blamed_for_a_limit_that_stands_elsewhere():
    config = load_text(CONFIGURATION + "FINAL_TIMEOUT = 7 min\n")
    assert problems_of(config.stages["out"].raw) == []
    options_of(RelayToSmarthost, config, "out")
