"""The client against a host on a real socket: each recipient gets its own answer, whatever the host does."""

import socket
from collections.abc import Callable
from typing import Any

import pytest

from pepsi.relay.answers import Verdict
from pepsi.relay.client import AT_ONCE, KEPT_FOR, Client
from pepsi.relay.host import Timeouts
from pepsi.relay.letter import DsnWishes, Letter, in_crlf_form
from tests.unit.relay.sink import CLOSE, Answer, Dialogue, Line, Sink

DELIVERED, RETRY, REFUSED = Verdict.DELIVERED, Verdict.RETRY, Verdict.REFUSED

Sinks = Callable[..., Sink]
Clients = Callable[..., Client]


def letter(*recipients: str, data: bytes = b"Subject: x\r\n\r\ntext\r\n", **keywords: Any) -> Letter:
    return Letter(sender="a@example.org", recipients=recipients or ("b@example.org",), data=data, **keywords)


def replies(**by_verb: bytes) -> Answer:
    """Answer each verb as told; END is the reply to the message."""

    def answer(line: Line, dialogue: Dialogue) -> bytes | None:
        return by_verb.get("END" if line == "." else line.verb)

    return answer


def verdicts(client: Client, sent: Letter) -> list[Verdict]:
    return verdicts_in(client, sent, 30.0)


def verdicts_in(client: Client, sent: Letter, seconds: float) -> list[Verdict]:
    answers = client.send(sent, seconds)
    assert answers.keys() == set(sent.recipients)
    return [answers[recipient].verdict for recipient in sent.recipients]


PIPELINING = pytest.mark.parametrize("extensions", [("PIPELINING", "8BITMIME"), ("8BITMIME",)])


@PIPELINING
def test_a_letter_is_delivered_to_all(sinks: Sinks, clients: Clients, extensions: tuple[str, ...]):
    sink = sinks(extensions=extensions)
    assert verdicts(clients(sink), letter("b@example.org", "c@example.org")) == [DELIVERED] * 2
    [heard] = sink.heard
    assert heard.sender == "<a@example.org>"
    assert heard.recipients == ["<b@example.org>", "<c@example.org>"]
    assert heard.data == b"Subject: x\r\n\r\ntext\r\n"


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b".",
        b"..",
        b".\n",
        b"\n.\n",
        b"a\n.b\n..c\n",
        b"a\r\n.\r\nMAIL FROM:<evil@example.org>\r\n",
        b"\r\n.\r\n",
        b"no line end",
        b"Subject: header only",
        b"a\r.\rb",
        b"a\n.\r\nb",
        b"a\r\n.\nb",
        b"a\r\r\n.\r\r\nb",
        b"x" * 100_000 + b"\r\n",
        b"\xff\xfe\r\n.\r\n",
        b".a\r\n" * 50_000,
    ],
)
def test_no_message_ends_early_and_all_of_it_arrives(sinks: Sinks, clients: Clients, message: bytes):
    sink = sinks()
    data = in_crlf_form(message)
    assert verdicts(clients(sink), letter(data=data, eight_bit=not data.isascii())) == [DELIVERED]
    assert [heard.data for heard in sink.heard] == [data]
    assert not any("evil" in line for line in sink.lines)


@PIPELINING
def test_each_recipient_gets_its_own_answer(sinks: Sinks, clients: Clients, extensions: tuple[str, ...]):
    def answer(line: Line, dialogue: Dialogue) -> bytes | None:
        return b"550 5.1.1 who?\r\n" if "c@" in line else b"451 4.3.0 later\r\n" if "d@" in line else None

    sink = sinks(extensions=extensions, answer=answer)
    assert verdicts(clients(sink), letter("b@x", "c@x", "d@x", "e@x")) == [DELIVERED, REFUSED, RETRY, DELIVERED]
    assert [heard.recipients for heard in sink.heard] == [["<b@x>", "<e@x>"]]


@PIPELINING
@pytest.mark.parametrize(
    ("reply", "verdict"),
    [(b"451 4.3.0 later\r\n", RETRY), (b"554 5.7.1 spam\r\n", REFUSED), (b"250 ok\r\n", DELIVERED)],
)
def test_the_reply_to_the_message_counts_for_those_who_were_let_in(
    sinks: Sinks, clients: Clients, extensions: tuple[str, ...], reply: bytes, verdict: Verdict
):
    def answer(line: Line, dialogue: Dialogue) -> bytes | None:
        return reply if line == "." else b"550 5.1.1 who?\r\n" if "c@" in line else None

    client = clients(sinks(extensions=extensions, answer=answer))
    assert verdicts(client, letter("b@x", "c@x")) == [verdict, REFUSED]
    assert client.send(letter("c@x"), 30.0)["c@x"].status == "5.1.1"


@PIPELINING
@pytest.mark.parametrize("verb", ["MAIL", "RCPT", "DATA"])
@pytest.mark.parametrize(("reply", "verdict"), [(b"450 4.7.1 grey\r\n", RETRY), (b"550 5.7.1 no\r\n", REFUSED)])
def test_a_refused_command_decides_for_all_and_the_session_goes_on(
    sinks: Sinks, clients: Clients, extensions: tuple[str, ...], verb: str, reply: bytes, verdict: Verdict
):
    sink = sinks(extensions=extensions, answer=replies(**{verb: reply}))
    client = clients(sink)
    assert verdicts(client, letter("b@x", "c@x")) == [verdict] * 2
    sink.answer = replies()
    assert verdicts(client, letter("b@x", "c@x")) == [DELIVERED] * 2
    assert len(sink.dialogues) == 1


@PIPELINING
@pytest.mark.parametrize("verb", ["MAIL", "RCPT", "DATA", "END"])
@pytest.mark.parametrize("reply", [CLOSE, b"421 4.3.2 shutting down\r\n", b"nonsense\r\n", b"334 what?\r\n"])
def test_a_host_that_breaks_off_means_another_try(
    sinks: Sinks, clients: Clients, extensions: tuple[str, ...], verb: str, reply: bytes
):
    sink = sinks(extensions=extensions, answer=replies(**{verb: reply}))
    client = clients(sink)
    assert verdicts(client, letter("b@x", "c@x")) == [RETRY] * 2
    assert sink.heard == []
    sink.answer = replies()
    assert verdicts(client, letter("b@x")) == [DELIVERED]


def test_recipients_that_were_refused_stay_refused_when_the_host_breaks_off_later(sinks: Sinks, clients: Clients):
    def answer(line: Line, dialogue: Dialogue) -> bytes | None:
        return b"550 5.1.1 who?\r\n" if "c@" in line else b"421 4.7.0 enough\r\n" if "d@" in line else None

    assert verdicts(clients(sinks(answer=answer)), letter("b@x", "c@x", "d@x", "e@x")) == [RETRY, REFUSED, RETRY, RETRY]


def test_what_became_of_a_message_that_was_sent_and_not_answered_is_said_to_be_unknown(sinks: Sinks, clients: Clients):
    answer = clients(sinks(answer=replies(END=CLOSE))).send(letter(), 30.0)["b@example.org"]
    assert (answer.verdict, answer.status) == (RETRY, "4.4.2")
    assert "may have been accepted" in answer.reason


def test_too_many_recipients_are_sent_to_in_further_transactions_at_once(sinks: Sinks, clients: Clients):
    sink = sinks(recipients_limit=3)
    recipients = [f"r{number}@x" for number in range(10)]
    assert verdicts(clients(sink), letter(*recipients)) == [DELIVERED] * 10
    assert [len(heard.recipients) for heard in sink.heard] == [3, 3, 3, 1]
    assert sorted(name for heard in sink.heard for name in heard.recipients) == sorted(
        f"<{name}>" for name in recipients
    )
    assert len(sink.dialogues) == 1


def test_a_host_with_room_for_nobody_is_asked_once(sinks: Sinks, clients: Clients):
    sink = sinks(recipients_limit=0)
    assert verdicts(clients(sink), letter("b@x", "c@x")) == [RETRY] * 2
    assert [line.verb for line in sink.lines].count("MAIL") == 1


def test_a_full_mailbox_is_not_asked_again_at_once(sinks: Sinks, clients: Clients):
    def answer(line: Line, dialogue: Dialogue) -> bytes | None:
        return b"452 4.2.2 mailbox full\r\n" if "c@" in line else None

    sink = sinks(answer=answer)
    assert verdicts(clients(sink), letter("b@x", "c@x")) == [DELIVERED, RETRY]
    assert len([line for line in sink.lines if "c@" in line]) == 1


def test_a_transaction_has_no_more_recipients_than_every_host_must_take(sinks: Sinks, clients: Clients):
    sink = sinks()
    recipients = [f"r{number}@x" for number in range(2 * AT_ONCE + 1)]
    assert verdicts(clients(sink), letter(*recipients)) == [DELIVERED] * len(recipients)
    assert [len(heard.recipients) for heard in sink.heard] == [AT_ONCE, AT_ONCE, 1]


def test_nobody_gets_an_empty_message_when_no_recipient_was_let_in(sinks: Sinks, clients: Clients):
    sink = sinks(answer=replies(RCPT=b"550 5.1.1 who?\r\n", DATA=b"354 go on\r\n", END=b"250 taken\r\n"))
    client = clients(sink)
    assert verdicts(client, letter()) == [REFUSED]
    assert sink.heard == []
    sink.answer = replies()
    assert verdicts(client, letter()) == [DELIVERED]
    assert len(sink.dialogues) == 2


def test_a_host_that_knows_only_helo_gets_helo(sinks: Sinks, clients: Clients):
    sink = sinks(answer=replies(EHLO=b"500 what?\r\n"))
    assert verdicts(clients(sink), letter()) == [DELIVERED]
    assert [line.verb for line in sink.lines][:3] == ["EHLO", "HELO", "MAIL"]


def test_a_host_that_refuses_us_altogether_says_nothing_about_the_message(sinks: Sinks, clients: Clients):
    answer = clients(sinks(greeting=b"554 5.7.1 go away\r\n")).send(letter(), 30.0)["b@example.org"]
    assert (answer.verdict, answer.status, answer.reply) == (RETRY, "4.7.1", "554 5.7.1 go away")


def test_what_the_sender_asked_about_notices_is_passed_on(sinks: Sinks, clients: Clients):
    sink = sinks(extensions=("DSN", "SIZE"))
    wishes = DsnWishes(ret="HDRS", envid="e1", notify={"b@x": "NEVER"}, orcpt={"b@x": "rfc822;q@x"})
    assert verdicts(clients(sink), letter("b@x", "c@x", dsn=wishes)) == [DELIVERED] * 2
    assert [line for line in sink.lines if line.verb in ("MAIL", "RCPT")] == [
        "MAIL FROM:<a@example.org> SIZE=20 RET=HDRS ENVID=e1",
        "RCPT TO:<b@x> NOTIFY=NEVER ORCPT=rfc822;q@x",
        "RCPT TO:<c@x>",
    ]


def test_a_message_larger_than_the_host_takes_is_not_even_offered(sinks: Sinks, clients: Clients):
    sink = sinks(extensions=("SIZE 10",))
    answer = clients(sink).send(letter(), 30.0)["b@example.org"]
    assert (answer.verdict, answer.status) == (REFUSED, "5.3.4")
    assert "MAIL" not in [line.verb for line in sink.lines]


def test_an_international_address_is_refused_alone_by_a_host_without_smtputf8(sinks: Sinks, clients: Clients):
    sink = sinks()
    sent = letter("b@x", "\u00f6@x")
    assert verdicts(clients(sink), sent) == [DELIVERED, REFUSED]
    assert all(line.isascii() for line in sink.lines)


def test_an_international_address_reaches_a_host_with_smtputf8_in_utf8(sinks: Sinks, clients: Clients):
    sink = sinks(extensions=("SMTPUTF8", "8BITMIME"))
    assert verdicts(clients(sink), letter("\u00f6@x")) == [DELIVERED]
    assert sink.heard[0].recipients == ["<\u00f6@x>"]
    assert sink.heard[0].sender.endswith(" SMTPUTF8")


def test_an_address_that_would_be_a_command_is_never_sent(sinks: Sinks, clients: Clients):
    sink = sinks()
    sent = letter("b@x", "c@x>\r\nRCPT TO:<evil@x", "d@x")
    assert verdicts(clients(sink), sent) == [DELIVERED, REFUSED, DELIVERED]
    assert not any("evil" in line for line in sink.lines)


# --- the kept connection


def test_a_connection_is_kept_for_the_next_letters(sinks: Sinks, clients: Clients):
    sink = sinks()
    client = clients(sink)
    for _ in range(3):
        assert verdicts(client, letter()) == [DELIVERED]
    assert len(sink.dialogues) == 1
    client.close()
    assert len(sink.heard) == 3


def test_the_next_letter_begins_with_a_clean_slate(sinks: Sinks, clients: Clients):
    sink = sinks(answer=replies(RCPT=b"450 later\r\n"))
    client = clients(sink)
    assert verdicts(client, letter()) == [RETRY]
    sink.answer = replies()
    assert verdicts(client, letter()) == [DELIVERED]
    assert [line.verb for line in sink.lines][-5:] == ["DATA", "RSET", "MAIL", "RCPT", "DATA"]


def test_a_connection_is_replaced_after_so_many_messages(sinks: Sinks, clients: Clients):
    sink = sinks()
    client = clients(sink)
    for _ in range(KEPT_FOR + 1):
        assert verdicts(client, letter()) == [DELIVERED]
    assert len(sink.dialogues) == 2
    assert sink.dialogues[0].lines[-1] == "QUIT"


def test_a_connection_that_was_idle_too_long_is_not_used_again(sinks: Sinks, clients: Clients):
    sink = sinks()
    client = clients(sink, idle=-1.0)
    assert verdicts(client, letter()) == [DELIVERED]
    assert verdicts(client, letter()) == [DELIVERED]
    assert len(sink.dialogues) == 2


@pytest.mark.parametrize("reply", [CLOSE, b"421 4.4.2 idle too long\r\n"])
def test_a_kept_connection_that_died_is_replaced_without_a_failed_try(sinks: Sinks, clients: Clients, reply: bytes):
    def answer(line: Line, dialogue: Dialogue) -> bytes | None:
        return reply if dialogue.number == 1 and line.verb == "MAIL" and sink.heard else None

    sink = sinks(answer=answer)
    client = clients(sink)
    assert verdicts(client, letter()) == [DELIVERED]
    assert verdicts(client, letter()) == [DELIVERED]
    assert len(sink.dialogues) == 2
    assert len(sink.heard) == 2


def test_a_host_that_closed_in_the_meantime_is_connected_to_anew(sinks: Sinks, clients: Clients):
    class Hasty(Sink):
        def converse(self, connected: socket.socket, dialogue: Dialogue) -> None:
            self.answer = lambda line, dialogue: b"250 taken\r\n421 4.3.2 bye\r\n" if line == "." else None
            super().converse(connected, dialogue)

    sink = sinks(Hasty)
    client = clients(sink)
    assert verdicts(client, letter()) == [DELIVERED]
    assert verdicts(client, letter()) == [DELIVERED]
    assert len(sink.dialogues) == 2


def test_what_a_host_says_between_two_letters_is_not_taken_for_an_answer(sinks: Sinks, clients: Clients):
    sink = sinks()
    client = clients(sink)
    assert verdicts(client, letter()) == [DELIVERED]
    sink.say(b"250 2.0.0 by the way\r\n")
    assert verdicts(client, letter("c@x")) == [DELIVERED]
    assert len(sink.dialogues) == 2


def test_a_fresh_connection_that_dies_is_not_tried_again_at_once(sinks: Sinks, clients: Clients):
    sink = sinks(answer=replies(MAIL=CLOSE))
    assert verdicts(clients(sink), letter()) == [RETRY]
    assert len(sink.dialogues) == 1


def test_a_connection_lost_after_mail_was_accepted_is_not_tried_again_at_once(sinks: Sinks, clients: Clients):
    sink = sinks()
    client = clients(sink)
    assert verdicts(client, letter()) == [DELIVERED]
    sink.answer = replies(END=CLOSE)
    assert verdicts(client, letter()) == [RETRY]
    assert len(sink.dialogues) == 1


def test_a_host_that_is_not_there_is_tried_again_later(sinks: Sinks, clients: Clients):
    sink = sinks()
    client = clients(sink)
    sink.close()
    answer = client.send(letter(), 30.0)["b@example.org"]
    assert (answer.verdict, answer.status) == (RETRY, "4.4.1")
    assert "Connection refused" in answer.reason
    assert answer.as_state() == {"status": "4.4.1", "host": "127.0.0.1"}


def test_a_host_without_an_address_is_tried_again_later(sinks: Sinks, clients: Clients):
    answer = clients(sinks(), name="nowhere.invalid").send(letter(), 30.0)["b@example.org"]
    assert (answer.verdict, answer.status) == (RETRY, "4.4.3")


def slow(sinks: Sinks, clients: Clients, **steps: float) -> tuple[Sink, Client]:
    """Return a host that takes so many seconds for each verb, and a client; END is the answer to the message."""
    now = [1000.0]

    def answer(line: Line, dialogue: Dialogue) -> bytes | None:
        now[0] += steps.get("END" if line == "." else line.verb, 0.0)
        return None

    sink = sinks(extensions=(), answer=answer)
    timeouts = Timeouts(connect=60.0, command=60.0, block=60.0, final=100.0)
    return sink, clients(sink, timeouts=timeouts, clock=lambda: now[0])


def test_a_message_is_not_begun_when_the_host_would_not_have_its_time_to_answer_it(
    sinks: Sinks, clients: Clients
) -> None:
    sink, client = slow(sinks, clients, MAIL=30.0, RCPT=30.0)
    answer = client.send(letter(), 150.0)["b@example.org"]
    assert (answer.verdict, "no time was left" in answer.reason) == (RETRY, True)
    assert "DATA" not in sink.lines


def test_the_host_has_its_whole_time_to_answer_a_message_however_long_the_rest_took(
    sinks: Sinks, clients: Clients
) -> None:
    _, client = slow(sinks, clients, MAIL=20.0, RCPT=20.0, END=90.0)
    assert verdicts_in(client, letter(), 150.0) == [DELIVERED]


def test_the_time_for_the_answer_to_one_message_is_not_added_to_that_of_the_next(
    sinks: Sinks, clients: Clients
) -> None:
    sink, client = slow(sinks, clients, MAIL=30.0, END=90.0)
    many = letter(*(f"r{number}@example.org" for number in range(AT_ONCE + 1)))
    assert verdicts_in(client, many, 150.0) == [DELIVERED] * AT_ONCE + [RETRY]
    assert len(sink.heard) == 1
