"""The conversation: what follows what, and what the message and its envelope are in the end."""

from base64 import b64encode
from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pepsi.config.ingress_options import parse_networks
from pepsi.ingress import replies
from pepsi.ingress.acceptance import OVERSHOOT, Terms
from pepsi.ingress.addresses import Address
from pepsi.ingress.auth import Credentials
from pepsi.ingress.budget import Budget
from pepsi.ingress.conversation import CHATTER_LIMIT, PASSWORD_TRIES, Conversation, House
from pepsi.ingress.dataphase import DataPhase
from pepsi.ingress.peer import Peer
from pepsi.ingress.replies import Reply
from pepsi.model.envelope import Arrival

STRANGER = Peer(address=ip_address("192.0.2.1"))
FRIEND = Peer(address=ip_address("127.0.0.1"))
LOCAL = Peer(login="alice")
PLAIN = b"AUTH PLAIN " + b64encode(b"\0bob\0pw")


def talk(peer: Peer = FRIEND, *, room: int = 10**6, tls: bool = False, max_errors: int = 50) -> Conversation:
    house = House(
        hostname="mx.here.example",
        postmaster=Address("postmaster", "here.example"),
        terms=Terms(
            local_domains=frozenset({"local.example"}),
            relay_networks=parse_networks("127.0.0.0/8 ::1"),
            max_message_size=10_000,
            max_recipients=100,
            max_hops=100,
            max_errors=max_errors,
        ),
        budget=Budget(room),
        offers_tls=True,
        offers_auth=True,
    )
    return Conversation(house, peer, tls=tls)


def say(conversation: Conversation, *lines: bytes) -> list[int]:
    """Say *lines*; return the codes of the answers."""
    codes = []
    for line in lines:
        answer = conversation.answer(line)
        assert isinstance(answer, Reply)
        codes.append(answer.code)
    return codes


def collected(conversation: Conversation, data: bytes = b"Subject: x\r\n\r\ny\r\n") -> Arrival | Reply:
    assert conversation.answer(b"DATA") is replies.GO_AHEAD
    phase = DataPhase(10_000)
    assert phase.feed(data + b".\r\n") == b""
    return conversation.collected(phase, "id1", 1.8e9)


def arrived(conversation: Conversation, data: bytes = b"Subject: x\r\n\r\ny\r\n") -> Arrival:
    arrival = collected(conversation, data)
    assert isinstance(arrival, Arrival)
    return arrival


def test_a_message_gets_its_envelope_and_a_field_on_top_and_is_else_untouched():
    conversation = talk()
    assert say(conversation, b"EHLO c.example", b"MAIL FROM:<a@b>", b"RCPT TO:<c@d>", b"RCPT TO:<e@f>") == [250] * 4
    arrival = arrived(conversation, b"\x00"[:0] + b"no header\r\n.\xff\r\n")
    field, _, rest = arrival.message.partition(b" +0000\r\n")
    assert field.startswith(b"Received: from c.example ([127.0.0.1])\r\n\tby mx.here.example with ESMTP id id1;\r\n")
    assert rest == b"no header\r\n\xff\r\n"
    assert (arrival.mail_from, arrival.recipients) == ("a@b", ("c@d", "e@f"))
    assert (arrival.peer, arrival.auth_login, arrival.state) == ("127.0.0.1", None, {})


def test_the_parameters_of_the_envelope_travel_in_the_state():
    conversation = talk()
    say(
        conversation,
        b"EHLO c",
        b"MAIL FROM:<> SIZE=5 BODY=8BITMIME SMTPUTF8 RET=FULL ENVID=e1",
        b"RCPT TO:<c@d> NOTIFY=NEVER",
        "RCPT TO:<ö@f> ORCPT=utf-8;ö@f".encode(),
        b"RCPT TO:<g@h>",
    )
    arrival = arrived(conversation)
    assert arrival.mail_from == ""
    assert arrival.state == {
        "smtp": {
            "body": "8BITMIME",
            "smtputf8": True,
            "ret": "FULL",
            "envid": "e1",
            "notify": {"c@d": "NEVER"},
            "orcpt": {"ö@f": "utf-8;ö@f"},
        }
    }
    assert b"with UTF8SMTP id" in arrival.message


def test_a_local_client_is_who_the_kernel_says_and_its_mail_a_submission():
    conversation = talk(LOCAL)
    assert say(conversation, b"EHLO c", b"MAIL FROM:<a@b>", b"RCPT TO:<c@there.example>") == [250] * 3
    arrival = arrived(conversation)
    assert (arrival.peer, arrival.auth_login, arrival.state) == (None, "alice", {"local_origin": True})
    assert b"from c (local user alice)" in arrival.message


def test_the_same_mailbox_is_one_recipient():
    conversation = talk()
    lines = [b"EHLO c", b"MAIL FROM:<a@b>", b"RCPT TO:<c@D>", b"RCPT TO:<c@d>", b"RCPT TO:<C@d>", b'RCPT TO:<"c"@d>']
    assert say(conversation, *lines) == [250] * 6
    assert arrived(conversation).recipients == ("c@D", "C@d")


@pytest.mark.parametrize(
    ("lines", "codes"),
    [
        ([b"MAIL FROM:<a@b>"], [503]),
        ([b"RCPT TO:<a@b>", b"DATA"], [503, 503]),
        ([b"EHLO c", b"RCPT TO:<a@b>"], [250, 503]),
        ([b"EHLO c", b"MAIL FROM:<a@b>", b"DATA"], [250, 250, 503]),
        ([b"EHLO c", b"MAIL FROM:<a@b>", b"RCPT TO:<bad>", b"DATA"], [250, 250, 501, 554]),
        ([b"EHLO c", b"MAIL FROM:<a@b>", b"MAIL FROM:<a@b>"], [250, 250, 503]),
        ([b"EHLO c", b"MAIL FROM:<a@b>", b"RSET", b"RCPT TO:<a@b>"], [250, 250, 250, 503]),
        ([b"EHLO c", b"MAIL FROM:<a@b>", b"EHLO c", b"RCPT TO:<a@b>"], [250, 250, 250, 503]),
        ([b"EHLO c", b"MAIL FROM:<a@b>", b"RCPT TO:<a@b>", b"DATA now"], [250, 250, 250, 501]),
        ([b"EHLO", b"HELO"], [501, 501]),
        ([b"HELO c", b"MAIL FROM:<a@b>"], [250, 250]),
        ([b"VRFY a", b"VRFY", b"NOOP x", b"HELP", b"RSET x"], [252, 501, 250, 214, 501]),
        ([b"ETRN x", b"EXPN x", b"BDAT 5 LAST", b"TURN", b"SEND"], [502] * 5),
        ([b"", b" ", b"\xff", b"FOO", b"EHLO\0 c"], [500] * 5),
        ([b"MAIL FROM:<a@b>\nRCPT TO:<c@d>", b"NOOP\r"], [500, 500]),
        ([b"GET / HTTP/1.1"], [421]),
    ],
)
def test_the_order_of_commands_is_minded(lines: list[bytes], codes: list[int]):
    assert say(talk(), *lines) == codes


def test_ehlo_lists_what_is_there_for_this_client():
    def keywords(conversation: Conversation) -> set[str]:
        answer = conversation.answer(b"EHLO c")
        assert isinstance(answer, Reply)
        return {line[4:] for line in answer.wire.decode().splitlines()}

    always = {"mx.here.example", "PIPELINING", "SIZE 10000", "8BITMIME", "SMTPUTF8", "DSN", "ENHANCEDSTATUSCODES"}
    conversation = talk()
    assert keywords(conversation) == always | {"STARTTLS"}
    conversation.secured()
    assert keywords(conversation) == always | {"AUTH PLAIN LOGIN"}
    conversation.checked("bob", right=True)
    assert keywords(conversation) == always
    assert keywords(talk(LOCAL)) == always | {"STARTTLS", "AUTH PLAIN LOGIN"}


def test_strangers_send_to_local_domains_only_until_they_have_logged_in():
    conversation = talk(STRANGER, tls=True)
    lines = [b"EHLO c", b"MAIL FROM:<a@b>", b"RCPT TO:<a@local.example>", b"RCPT TO:<a@there.example>"]
    assert say(conversation, *lines) == [250, 250, 250, 554]
    say(conversation, b"RSET")
    assert conversation.answer(PLAIN) == Credentials("bob", "pw")
    assert conversation.checked("bob", right=True).code == 235
    assert say(conversation, b"MAIL FROM:<a@b>", b"RCPT TO:<a@there.example>") == [250, 250]
    arrival = arrived(conversation)
    assert (arrival.peer, arrival.auth_login, arrival.state) == ("192.0.2.1", "bob", {"local_origin": True})
    assert b"with ESMTPSA id" in arrival.message


def test_the_postmaster_hears_strangers():
    conversation = talk(STRANGER)
    assert say(conversation, b"EHLO c", b"MAIL FROM:<>", b"RCPT TO:<Postmaster>") == [250] * 3
    assert arrived(conversation).recipients == ("postmaster@here.example",)


def test_the_handshake_makes_all_forgotten():
    conversation = talk(STRANGER)
    say(conversation, b"EHLO c", b"MAIL FROM:<a@b>", b"RCPT TO:<a@local.example>")
    assert conversation.answer(b"STARTTLS") is replies.START_TLS
    conversation.secured()
    assert say(conversation, b"RCPT TO:<a@local.example>", b"MAIL FROM:<a@b>", b"STARTTLS") == [503, 503, 503]
    assert conversation.answer(b"STARTTLS now") is replies.NO_ARGUMENT


def test_auth_wants_tls_a_free_line_and_only_one_success():
    assert say(talk(STRANGER), b"EHLO c", PLAIN) == [250, 538]
    conversation = talk(STRANGER, tls=True)
    assert say(conversation, PLAIN, b"HELO c", PLAIN) == [503, 250, 503]
    assert say(conversation, b"EHLO c", b"MAIL FROM:<a@b>", PLAIN, b"RSET") == [250, 250, 503, 250]
    assert conversation.answer(PLAIN) == Credentials("bob", "pw")
    conversation.checked("bob", right=True)
    assert say(conversation, PLAIN) == [503]


def test_a_line_of_an_exchange_is_no_command():
    conversation = talk(STRANGER, tls=True)
    assert say(conversation, b"EHLO c", b"AUTH PLAIN", b"NOOP", b"NOOP") == [250, 334, 501, 250]
    assert say(conversation, b"AUTH LOGIN", b"*", b"NOOP") == [334, 501, 250]
    assert say(conversation, b"AUTH LOGIN", b"a\nb", b"NOOP") == [334, 500, 250]


def test_a_few_wrong_passwords_end_the_session():
    conversation = talk(tls=True)
    codes = [conversation.checked("bob", right=False).code for _ in range(PASSWORD_TRIES)]
    assert codes == [535] * (PASSWORD_TRIES - 1) + [421]


def test_a_long_list_is_told_to_come_again_and_not_cut_off():
    conversation = talk()
    say(conversation, b"EHLO c", b"MAIL FROM:<a@b>")
    tries = 100 * OVERSHOOT
    codes = say(conversation, *(b"RCPT TO:<u%d@d>" % number for number in range(tries)))
    assert codes == [250] * 100 + [452] * (tries - 100)
    assert len(arrived(conversation).recipients) == 100


def test_a_list_without_end_is_cut_off_at_last():
    conversation = talk(max_errors=5)
    say(conversation, b"EHLO c", b"MAIL FROM:<a@b>")
    codes = say(conversation, *(b"RCPT TO:<u%d@d>" % number for number in range(100 * OVERSHOOT + 5)))
    assert codes[-5:] == [452] * 4 + [421]


def test_errors_end_a_session_and_a_message_wipes_them_out():
    conversation = talk(max_errors=3)
    assert say(conversation, b"EHLO c", b"FOO", b"FOO", b"MAIL FROM:<a@b>", b"RCPT TO:<c@d>")[1:3] == [500, 500]
    arrived(conversation)
    assert say(conversation, b"FOO", b"FOO", b"FOO") == [500, 500, 421]


def test_idle_talk_counts_as_error_in_the_end():
    conversation = talk(max_errors=3)
    assert say(conversation, *[b"NOOP"] * (CHATTER_LIMIT + 2)) == [250] * (CHATTER_LIMIT + 2)
    assert say(conversation, b"RSET") == [421]


def test_a_looping_message_is_refused_at_its_end():
    conversation = talk()
    for hops, code in ((99, None), (100, None), (101, 554)):
        say(conversation, b"EHLO c", b"MAIL FROM:<a@b>", b"RCPT TO:<c@d>")
        got = collected(conversation, b"Received: x\r\n" * hops + b"\r\nbody\r\n")
        assert (got.code if isinstance(got, Reply) else None) == code


def test_with_no_memory_left_there_is_no_data():
    conversation = talk(room=0)
    say(conversation, b"EHLO c", b"MAIL FROM:<a@b>", b"RCPT TO:<c@d>")
    assert conversation.answer(b"DATA") is replies.NO_ROOM


@given(st.lists(st.one_of(st.binary(max_size=30), st.sampled_from([b"EHLO x", b"MAIL FROM:<a@b>", b"AUTH LOGIN"]))))
def test_no_line_breaks_the_conversation(lines: list[bytes]):
    conversation = talk(LOCAL)
    for line in lines:
        assert isinstance(conversation.answer(line), Reply | Credentials)
