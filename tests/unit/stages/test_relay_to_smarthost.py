"""The stage that relays, against a server on a real socket."""

import os
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from subprocess import run
from typing import Any

import pytest

from pepsi.config.section import Entry, RawSection, parse_section
from pepsi.errors import ConfigError, SecretError
from pepsi.model.message import Message
from pepsi.model.outcome import Advance, Finish
from pepsi.relay.host import TlsPolicy
from pepsi.stages.api import Outcome, TryLater
from pepsi.stages.relay_to_smarthost import RelayToSmarthost, RelayToSmarthostOptions
from pepsi.worker.section import options_alone
from tests.unit.relay.authority import Authority
from tests.unit.relay.sink import Dialogue, Line, Sink


@pytest.fixture
def server() -> Iterator[Sink]:
    sink = Sink(extensions=("PIPELINING", "8BITMIME", "DSN", "AUTH PLAIN"))
    yield sink
    sink.close()


def options(port: int, **keywords: Any) -> RelayToSmarthostOptions:
    settings = {"program": "x", "host": "localhost", "port": port, "tls": TlsPolicy.NONE, "hostname": "us.example"}
    return RelayToSmarthostOptions(**settings | keywords)


def message(*recipients: str, **keywords: Any) -> Message:
    settings: dict[str, Any] = {
        "workqueue_id": 7,
        "claim": 1,
        "stage": "out",
        "received_at": datetime(2026, 1, 1, tzinfo=UTC),
        "age": 0.0,
        "mail_from": "a@example.net",
        "recipients": recipients or ("b@example.org",),
        "header_block": b"Subject: x\r\n\r\n",
        "body": b".text\r\n",
    }
    return Message(**settings | keywords)


def relay(given: RelayToSmarthostOptions, *messages: Message) -> list[Outcome]:
    stage = RelayToSmarthost()
    stage.open(given)
    try:
        return [stage.process(each, given) for each in messages]
    finally:
        stage.close()


def test_messages_reach_the_server_over_one_connection(server: Sink):
    assert relay(options(server.port), message(), message()) == [Finish()] * 2
    assert [heard.data for heard in server.heard] == [b"Subject: x\r\n\r\n.text\r\n"] * 2
    [dialogue] = server.dialogues
    assert dialogue.lines[0] == "EHLO us.example"
    assert dialogue.lines[-1] == "QUIT"


def test_what_the_sender_asked_about_notices_reaches_the_server(server: Sink):
    smtp = {"ret": "HDRS", "notify": {"b@example.org": "SUCCESS"}}
    relay(options(server.port), message(state={"smtp": smtp}))
    assert "MAIL FROM:<a@example.net> RET=HDRS" in server.lines
    assert "RCPT TO:<b@example.org> NOTIFY=SUCCESS" in server.lines


def test_each_recipient_goes_its_own_way(server: Sink):
    def answer(line: Line, dialogue: Dialogue) -> bytes | None:
        return b"550 5.1.1 who?\r\n" if "c@" in line else b"450 4.2.1 later\r\n" if "d@" in line else None

    server.answer = answer
    given = options(server.port, next_stage="sent", bounce_stage="bounce")
    with pytest.raises(TryLater) as raised:
        relay(given, message("b@x", "c@x", "d@x", "d@X"))
    assert raised.value.changes.recipients == ("d@x", "d@X")
    assert [(clone.stage, clone.recipients) for clone in raised.value.clones] == [
        ("sent", ("b@x",)),
        ("bounce", ("c@x",)),
    ]
    assert raised.value.clones[1].state["deliveries"] == {
        "c@x": {"status": "5.1.1", "reply": "550 5.1.1 who?", "host": "localhost"}
    }


def test_a_message_that_the_server_refuses_as_a_whole_bounces(server: Sink):
    server.answer = lambda line, dialogue: b"554 5.7.1 spam\r\n" if line == "." else None
    [outcome] = relay(options(server.port, bounce_stage="bounce"), message("b@x", "c@x"))
    assert isinstance(outcome, Advance)
    assert (outcome.stage, outcome.changes.recipients) == ("bounce", ("b@x", "c@x"))


def test_a_server_that_is_away_is_tried_again_and_the_operator_is_told_why(server: Sink):
    server.close()
    with pytest.raises(TryLater, match=r"b@example.org: localhost: cannot connect to localhost port \d+: .*refused"):
        relay(options(server.port), message())


def test_name_and_password_are_used_over_verified_tls(tmp_path: Path):
    authority = Authority(tmp_path)
    password = tmp_path / "password"
    password.write_text("secret\n")
    password.chmod(0o600)
    logins = []

    def answer(line: Line, dialogue: Dialogue) -> bytes | None:
        if line.verb == "AUTH":
            logins.append((line, dialogue.encrypted))
            return b"235 2.7.0 welcome\r\n"
        return None

    sink = Sink(extensions=("AUTH PLAIN",), tls=authority.context("localhost"), answer=answer)
    try:
        given = options(
            sink.port,
            tls=TlsPolicy.VERIFY,
            ca_file=authority.ca_file,
            user="us",
            password_file=str(password),
        )
        assert relay(given, message()) == [Finish()]
    finally:
        sink.close()
    assert logins == [("AUTH PLAIN AHVzAHNlY3JldA==", True)]


def test_a_password_that_others_can_read_is_refused_at_the_start(server: Sink, tmp_path: Path):
    password = tmp_path / "password"
    password.write_text("secret\n")
    password.chmod(0o644)
    with pytest.raises(SecretError, match="everybody"):
        relay(options(server.port, user="us", password_file=str(password)))


def test_a_file_of_authorities_without_any_is_refused_at_the_start(server: Sink, tmp_path: Path):
    (tmp_path / "ca.pem").write_text("nothing")
    with pytest.raises(ConfigError, match="CA_FILE"):
        relay(options(server.port, tls=TlsPolicy.VERIFY, ca_file=tmp_path / "ca.pem"))


def section(**keys: str) -> RawSection:
    settings = {"PROGRAM": "pepsi-stage-relay-to-smarthost", "HOST": "mail.example.org"} | keys
    return RawSection("stage-out", 1, {key: Entry(value, "pepsi.conf", 2) for key, value in settings.items()})


@pytest.mark.parametrize(
    ("keys", "complaint"),
    [
        ({"USER": "us"}, "both of USER and PASSWORD_FILE"),
        ({"PASSWORD_FILE": "/x"}, "both of USER and PASSWORD_FILE"),
        ({"IMPLICIT_TLS": "yes", "TLS": "none"}, "IMPLICIT_TLS"),
        ({"CA_FILE": "/x", "TLS": "encrypt"}, "TLS = verify"),
        ({"TLS": "always"}, "TLS = always"),
        ({"PORT": "0"}, "PORT = 0"),
    ],
)
def test_a_section_that_contradicts_itself_is_an_error(keys: dict[str, str], complaint: str):
    found, problems = parse_section(RelayToSmarthostOptions, section(**keys), computed={"HOSTNAME": "us.example"})
    assert found is None
    assert complaint in str(problems[0])


def test_certificates_are_verified_unless_the_operator_says_otherwise():
    found, problems = parse_section(RelayToSmarthostOptions, section(), computed={"HOSTNAME": "us.example"})
    assert found is not None, problems
    assert (found.tls, found.port, found.password_in_clear) == (TlsPolicy.VERIFY, 587, False)


def test_without_a_configuration_file_the_server_is_told_the_name_of_this_machine():
    found = options_alone(RelayToSmarthost, {"HOST": "mail.example.org"})
    assert isinstance(found, RelayToSmarthostOptions)
    assert found.hostname == os.uname().nodename


def test_a_worker_without_tls_does_not_load_it():
    code = "import sys, pepsi.stages.relay_to_smarthost; print('ssl' in sys.modules)"
    assert run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
