"""TLS and log-in: nothing goes over a connection that is less than the operator asked for."""

import base64
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from pepsi.errors import ConfigError
from pepsi.relay.answers import Answer, Verdict
from pepsi.relay.channel import Wrap
from pepsi.relay.client import Client
from pepsi.relay.host import Login, TlsPolicy
from pepsi.relay.letter import Letter
from pepsi.relay.tls import wrapping
from tests.unit.relay.authority import Authority
from tests.unit.relay.sink import Dialogue, Line, Sink

Sinks = Callable[..., Sink]
Clients = Callable[..., Client]

LETTER = Letter(sender="a@x", recipients=("b@x",), data=b"x\r\n")
NAME = "localhost"
"""Resolves to the sink, and is what the good certificates are for."""

POLICIES = (TlsPolicy.MAY, TlsPolicy.ENCRYPT, TlsPolicy.VERIFY)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ca"))


def wrap(policy: TlsPolicy, authority: Authority | None = None, name: str = NAME) -> Wrap:
    return wrapping(name, verify=policy is TlsPolicy.VERIFY, ca_file=authority.ca_file if authority else None)


def send(client: Client) -> Answer:
    return client.send(LETTER, 30.0)["b@x"]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("implicit", [False, True])
def test_a_host_with_a_good_certificate_gets_the_message_encrypted(
    sinks: Sinks, clients: Clients, authority: Authority, policy: TlsPolicy, implicit: bool
):
    sink = sinks(tls=authority.context(NAME), implicit=implicit)
    client = clients(sink, name=NAME, policy=policy, wrap=wrap(policy, authority), implicit=implicit)
    for _ in range(2):
        assert send(client).verdict is Verdict.DELIVERED
    [dialogue] = sink.dialogues
    assert dialogue.encrypted
    verbs = [line.verb for line in dialogue.lines]
    assert verbs.index("MAIL") > (verbs.index("STARTTLS") if not implicit else 0)


def test_without_a_policy_tls_is_not_used_even_if_offered(sinks: Sinks, clients: Clients, authority: Authority):
    sink = sinks(tls=authority.context(NAME))
    assert send(clients(sink, name=NAME)).verdict is Verdict.DELIVERED
    assert not sink.dialogues[0].encrypted


@pytest.mark.parametrize("fault", ["name", "authority", "expired"])
@pytest.mark.parametrize("policy", POLICIES)
def test_a_certificate_that_does_not_hold_counts_only_where_it_is_verified(
    sinks: Sinks, clients: Clients, authority: Authority, policy: TlsPolicy, fault: str
):
    sink = sinks(tls=authority.context("other.example" if fault == "name" else NAME, expired=fault == "expired"))
    trust = wrap(policy, None if fault == "authority" else authority)
    answer = send(clients(sink, name=NAME, policy=policy, wrap=trust))
    if policy is TlsPolicy.VERIFY:
        assert (answer.verdict, answer.status) == (Verdict.RETRY, "4.7.5")
        assert "certificate" in answer.reason
        assert "MAIL" not in [line.verb for line in sink.lines]
    else:
        assert answer.verdict is Verdict.DELIVERED
        assert sink.dialogues[0].encrypted


@pytest.mark.parametrize("policy", [TlsPolicy.ENCRYPT, TlsPolicy.VERIFY])
@pytest.mark.parametrize("fault", ["not offered", "refused", "no handshake"])
def test_no_message_goes_out_without_the_tls_that_was_asked_for(
    sinks: Sinks, clients: Clients, authority: Authority, policy: TlsPolicy, fault: str
):
    answer = send(clients(broken(sinks, authority, fault), name=NAME, policy=policy, wrap=wrap(policy, authority)))
    assert (answer.verdict, answer.status) == (Verdict.RETRY, "4.7.5")


@pytest.mark.parametrize("fault", ["not offered", "refused", "no handshake"])
def test_where_tls_is_only_welcome_a_host_that_cannot_do_it_gets_the_message_all_the_same(
    sinks: Sinks, clients: Clients, authority: Authority, fault: str
):
    sink = broken(sinks, authority, fault)
    answer = send(clients(sink, name=NAME, policy=TlsPolicy.MAY, wrap=wrap(TlsPolicy.MAY)))
    assert answer.verdict is Verdict.DELIVERED
    assert len(sink.dialogues) == (2 if fault == "no handshake" else 1)


def broken(sinks: Sinks, authority: Authority, fault: str) -> Sink:
    """Return a host whose TLS does not work."""

    class NoHandshake(Sink):
        def _encrypted(self, connected: socket.socket, dialogue: Dialogue) -> socket.socket:
            connected.sendall(b"no, rather not\r\n")
            raise EOFError

    def refusing(line: Line, dialogue: Dialogue) -> bytes | None:
        return b"454 4.7.0 not just now\r\n" if line.verb == "STARTTLS" else None

    match fault:
        case "not offered":
            return sinks()
        case "refused":
            return sinks(tls=authority.context(NAME), answer=refusing)
    return sinks(NoHandshake, tls=authority.context(NAME))


def test_what_is_slipped_in_before_tls_begins_is_not_taken_for_the_hosts_words(
    sinks: Sinks, clients: Clients, authority: Authority
):
    def answer(line: Line, dialogue: Dialogue) -> bytes | None:
        injected = b"250-evil\r\n250 AUTH PLAIN\r\n"
        return b"220 2.0.0 go on\r\n" + injected if line.verb == "STARTTLS" else None

    sink = sinks(tls=authority.context(NAME), answer=answer)
    reply = send(clients(sink, name=NAME, policy=TlsPolicy.VERIFY, wrap=wrap(TlsPolicy.VERIFY, authority)))
    assert reply.verdict is Verdict.RETRY
    assert "before TLS began" in reply.reason


def test_what_the_host_offered_before_tls_is_forgotten(sinks: Sinks, clients: Clients, authority: Authority):
    def answer(line: Line, dialogue: Dialogue) -> bytes | None:
        if line.verb == "EHLO" and not dialogue.encrypted:
            return b"250-sink\r\n250-SIZE 1\r\n250 STARTTLS\r\n"
        return None

    sink = sinks(tls=authority.context(NAME), answer=answer)
    client = clients(sink, name=NAME, policy=TlsPolicy.ENCRYPT, wrap=wrap(TlsPolicy.ENCRYPT))
    assert send(client).verdict is Verdict.DELIVERED


def test_a_file_without_certificates_is_an_error_of_the_configuration(tmp_path: Path):
    file = tmp_path / "ca.pem"
    file.write_text("nothing\n")
    with pytest.raises(ConfigError, match=r"CA_FILE = .*ca\.pem"):
        wrapping(NAME, verify=True, ca_file=file)


# --- log-in

LOGIN = Login("user", "pass word\u00e9")


class Guarded(Sink):
    """Takes mail only after a log-in."""

    def usual(self, line: Line, dialogue: Dialogue) -> bytes:
        state = vars(dialogue)
        if line.verb == "AUTH" and line.upper().startswith("AUTH PLAIN"):
            state["login"] = base64.b64decode(line.split(" ")[2]).decode().split("\0")[1:]
        elif line.verb == "AUTH":
            state["login"] = []
            return b"334 VXNlcm5hbWU6\r\n"
        elif state.get("login") is not None and len(state["login"]) < 2:
            state["login"].append(base64.b64decode(line).decode())
            if len(state["login"]) < 2:
                return b"334 UGFzc3dvcmQ6\r\n"
        elif line.verb == "MAIL" and not state.get("login"):
            return b"530 5.7.0 who are you?\r\n"
        else:
            return super().usual(line, dialogue)
        return b"235 2.7.0 welcome\r\n" if state["login"] == [LOGIN.user, LOGIN.password] else b"535 5.7.8 no\r\n"


@pytest.mark.parametrize("mechanisms", ["AUTH PLAIN LOGIN", "AUTH LOGIN", "AUTH=LOGIN"])
def test_a_host_that_asks_for_it_gets_name_and_password(
    sinks: Sinks, clients: Clients, authority: Authority, mechanisms: str
):
    sink = sinks(Guarded, extensions=(mechanisms,), tls=authority.context(NAME))
    trust = wrap(TlsPolicy.VERIFY, authority)
    client = clients(sink, name=NAME, policy=TlsPolicy.VERIFY, wrap=trust, login=LOGIN)
    assert send(client).verdict is Verdict.DELIVERED
    verbs = [line.verb for line in sink.lines]
    assert verbs.index("AUTH") > verbs.index("STARTTLS")


def test_this_machine_may_hear_the_password_in_clear(sinks: Sinks, clients: Clients):
    sink = sinks(Guarded, extensions=("AUTH PLAIN",))
    assert send(clients(sink, login=LOGIN)).verdict is Verdict.DELIVERED


@pytest.mark.parametrize("allowed", [False, True])
def test_another_machine_hears_the_password_in_clear_only_if_that_is_allowed(
    sinks: Sinks, clients: Clients, elsewhere: str, allowed: bool
):
    sink = sinks(Guarded, extensions=("AUTH PLAIN",), address=elsewhere)
    answer = send(clients(sink, name=elsewhere, login=LOGIN, login_in_clear=allowed))
    assert answer.verdict is (Verdict.DELIVERED if allowed else Verdict.RETRY)
    assert allowed or "AUTH" not in [line.verb for line in sink.lines]


@pytest.fixture
def elsewhere() -> str:
    """Return an address of this machine that is no loopback address."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing, only asks for the way
        except OSError:
            pytest.skip("this machine has no network")
        return str(probe.getsockname()[0])


def test_a_wrong_password_is_our_fault_and_not_the_messages(sinks: Sinks, clients: Clients):
    sink = sinks(Guarded, extensions=("AUTH PLAIN",))
    answer = send(clients(sink, login=Login("user", "wrong")))
    assert (answer.verdict, answer.status, answer.reply) == (Verdict.RETRY, "4.7.8", "535 5.7.8 no")
    assert "wrong" not in answer.reason


def test_a_missing_log_in_is_our_fault_and_not_the_messages(sinks: Sinks, clients: Clients):
    answer = send(clients(sinks(Guarded)))
    assert (answer.verdict, answer.status) == (Verdict.RETRY, "4.7.0")


def test_a_host_without_a_mechanism_that_we_know_is_tried_again_later(sinks: Sinks, clients: Clients):
    answer = send(clients(sinks(extensions=("AUTH CRAM-MD5",)), login=LOGIN))
    assert answer.verdict is Verdict.RETRY
    assert "AUTH" in answer.reason


def test_the_password_is_not_in_what_a_log_would_show():
    assert "pass word" not in repr(LOGIN)
