"""How a stage learns what time it has."""

from pepsi.config.load import load_text
from pepsi.stages.relay_to_smarthost import RelayToSmarthost
from pepsi.stages.results import time_for_message
from pepsi.worker.section import options_of

CONFIGURATION = """
[pepsi]
HOSTNAME = us.example
[pepsi-postgres]
DSN = embedded
[pepsi-ingress]
LISTEN = tcp:0
ENTRY_STAGE = out
[pepsi-dispatch]
MAX_RUNTIME = 10 s
[stage-out]
PROGRAM = pepsi-stage-relay-to-smarthost
HOST = mail.example.org
"""


def test_a_stage_ends_before_the_dispatcher_would_kill_its_worker():
    options = options_of(RelayToSmarthost, load_text(CONFIGURATION), "out")
    assert time_for_message(options) == 9.0


def test_a_section_can_give_its_stage_more_time():
    options = options_of(RelayToSmarthost, load_text(CONFIGURATION + "MAX_RUNTIME = 20 min\n"), "out")
    assert time_for_message(options) == 1080.0


def test_the_server_is_told_the_name_of_this_host():
    options = options_of(RelayToSmarthost, load_text(CONFIGURATION), "out")
    assert isinstance(options, RelayToSmarthost.Options)
    assert options.hostname == "us.example"
