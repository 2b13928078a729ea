"""Reading command lines: every line gets a value or a reply, and hostile ones never more than that."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pepsi.ingress import replies
from pepsi.ingress.addresses import Address, read_path
from pepsi.ingress.commands import Mail, Recipient, read_mail, read_recipient, split_line
from pepsi.ingress.replies import Reply
from pepsi.model.text import storable

POSTMASTER = Address("postmaster", "mx.example.org")

WORDS = 'FROM: TO: < > @ " \\ = , : [ ] . + ; - ö SIZE ORCPT NOTIFY RET ENVID BODY AUTH SMTPUTF8'.encode().split()
PIECES = st.lists(st.one_of(st.sampled_from([*WORDS, b" ", b"\xff"]), st.binary(max_size=4)), max_size=20).map(b"".join)


def rcpt(argument: bytes, *, utf8: bool = False) -> Recipient | Reply:
    return read_recipient(argument, POSTMASTER, utf8=utf8)


@given(PIECES)
def test_no_line_breaks_the_parser(data: bytes):
    split_line(data)
    for argument in (data, b"FROM:<" + data, b"TO:<" + data, b"FROM:<a@b> " + data, b"TO:<a@b> " + data):
        assert isinstance(read_mail(argument), Mail | Reply)
        assert isinstance(rcpt(argument, utf8=True), Recipient | Reply)


@given(PIECES)
def test_an_address_that_was_read_can_be_written_and_read_again(data: bytes):
    found = rcpt(b"TO:<" + data + b">", utf8=True)
    if isinstance(found, Recipient):
        written = str(found.address)
        assert storable(written) == written
        assert not re.search(r"[\x00-\x1f\x7f-\x9f]", written)
        assert read_path(f"<{written}>") == (found.address, "")


@pytest.mark.parametrize(
    ("path", "local", "domain"),
    [
        ("<a@b>", "a", "b"),
        ("<a.b+c@example.org>", "a.b+c", "example.org"),
        ("<@relay.example,@other.example:a@b>", "a", "b"),
        ('<"a b"@x>', '"a b"', "x"),
        ('<"ab"@x>', "ab", "x"),
        (r'<"a\"b"@x>', r'"a\"b"', "x"),
        (r'<"a\\b"@x>', r'"a\\b"', "x"),
        (r'<"a@b"@x>', '"a@b"', "x"),
        (r'<"\a"@x>', "a", "x"),
        ('<""@x>', '""', "x"),
        ("<a@[192.0.2.1]>", "a", "[192.0.2.1]"),
        ("<a@[IPv6:2001:db8::1]>", "a", "[IPv6:2001:db8::1]"),
        ("<.a..b.@x>", ".a..b.", "x"),
        ("<a@_dmarc.x>", "a", "_dmarc.x"),
        ("<jöe@exämple.org>", "jöe", "exämple.org"),
        ("<जन@उदाहरण.भारत>", "जन", "उदाहरण.भारत"),
        ("<A@X>", "A", "X"),
    ],
)
def test_a_path_gives_its_mailbox_in_the_plainest_form(path: str, local: str, domain: str):
    assert read_path(path + " SIZE=1") == (Address(local, domain), " SIZE=1")


@pytest.mark.parametrize(
    "path",
    [
        "a@b",
        "<a>",
        "<a@b",
        "<@b>",
        "<a@>",
        "<a@b.>",
        "<a@.b>",
        "<a@b..c>",
        "<a@-b>",
        "<a@b->",
        "<a b@c>",
        "<a@b c>",
        "<a@b@c>",
        '<"a@b>',
        '<"a\x01"@b>',
        "<a@[192.0.2.256]>",
        "<a@[192.0.2.1>",
        "<a@[IPv6:zz]>",
        "<a@[X:1]>",
        "<a\x00@b>",
        "<a\x1b[2J@b>",
        "<a\u202e@b>",
        "<a\u2028@b>",
        "<a\x85@b>",
        "<a@b\u202e>",
        "<a@b\u3002c>",
        "<a@b\u00a0c>",
        "<" + "a" * 257 + "@b>",
        "<a@" + "b" * 64 + ">",
        "<a@" + ".".join(["b" * 60] * 5) + ">",
    ],
)
def test_what_is_no_address_is_refused(path: str):
    assert read_path(path) is None


def test_nfc_and_nfd_are_two_mailboxes():
    composed, decomposed = (read_path(f"<{name}@x>") for name in ("\u00f6", "o\u0308"))
    assert composed is not None and decomposed is not None and composed != decomposed


@pytest.mark.parametrize(
    ("argument", "reply"),
    [
        (b"", replies.MAIL_SYNTAX),
        (b"<a@b>", replies.MAIL_SYNTAX),
        (b"FROM:a@b", replies.MAIL_SYNTAX),
        (b"TO:<a@b>", replies.MAIL_SYNTAX),
        (b"FROM:<a>", replies.BAD_SENDER),
        (b"FROM:<\xff@b>", replies.BAD_SENDER),
        (b"FROM:<j\xc3\xb6e@b>", replies.SENDER_NEEDS_UTF8),
        (b"FROM:<a@b>SIZE=1", replies.BAD_PARAMETER),
        (b"FROM:<a@b> SIZE=1 SIZE=1", replies.BAD_PARAMETER),
        (b"FROM:<a@b> SIZE=-1", replies.BAD_PARAMETER),
        (b"FROM:<a@b> SIZE=\xd9\xa3", replies.BAD_PARAMETER),
        (b"FROM:<a@b> SIZE=" + b"9" * 21, replies.BAD_PARAMETER),
        (b"FROM:<a@b> SIZE", replies.BAD_PARAMETER),
        (b"FROM:<a@b> BODY=BINARYMIME", replies.BAD_PARAMETER),
        (b"FROM:<a@b> SMTPUTF8=1", replies.BAD_PARAMETER),
        (b"FROM:<a@b> RET=ALL", replies.BAD_PARAMETER),
        (b"FROM:<a@b> ENVID=" + b"x" * 101, replies.BAD_PARAMETER),
        (b"FROM:<a@b> ENVID=a+2", replies.BAD_PARAMETER),
        (b"FROM:<a@b> =", replies.BAD_PARAMETER),
        (b"FROM:<a@b> FOO=BAR", replies.UNKNOWN_PARAMETER),
        (b"FROM:<a@b> REQUIRETLS", replies.UNKNOWN_PARAMETER),
        (b"FROM:<a@b> NOTIFY=NEVER", replies.UNKNOWN_PARAMETER),
    ],
)
def test_a_wrong_mail_gets_the_reply_that_says_what_is_wrong(argument: bytes, reply: Reply):
    assert read_mail(argument) is reply


def test_the_parameters_of_mail_are_read():
    mail = read_mail(b"from: <a@b>  size=12 BODY=8bitmime SMTPUTF8 RET=hdrs ENVID=q+2Bq AUTH=<>")
    assert mail == Mail(
        sender=Address("a", "b"),
        size=12,
        parameters={"body": "8BITMIME", "smtputf8": True, "ret": "HDRS", "envid": "q+2Bq"},
    )
    assert read_mail(b"FROM:<>") == Mail(sender=None)
    utf8 = read_mail("FROM:<jöe@b> SMTPUTF8".encode())
    assert isinstance(utf8, Mail) and utf8.sender == Address("jöe", "b")


@pytest.mark.parametrize(
    ("argument", "reply"),
    [
        (b"", replies.RCPT_SYNTAX),
        (b"TO:a@b", replies.RCPT_SYNTAX),
        (b"FROM:<a@b>", replies.RCPT_SYNTAX),
        (b"TO:<>", replies.BAD_RECIPIENT),
        (b"TO:<a>", replies.BAD_RECIPIENT),
        (b"TO:<\xff\xfe@b>", replies.BAD_RECIPIENT),
        (b"TO:<j\xc3\xb6e@b>", replies.RECIPIENT_NEEDS_UTF8),
        (b"TO:<a@b> SIZE=1", replies.UNKNOWN_PARAMETER),
        (b"TO:<a@b> NOTIFY=NEVER,SUCCESS", replies.BAD_PARAMETER),
        (b"TO:<a@b> NOTIFY=", replies.BAD_PARAMETER),
        (b"TO:<a@b> ORCPT=a@b", replies.BAD_PARAMETER),
        (b"TO:<a@b> ORCPT=utf-8;\xc3\xb6@b", replies.BAD_PARAMETER),
        (b"TO:<a@b> ORCPT=rfc822;" + b"x" * 441, replies.BAD_PARAMETER),
    ],
)
def test_a_wrong_rcpt_gets_the_reply_that_says_what_is_wrong(argument: bytes, reply: Reply):
    assert rcpt(argument) is reply


def test_the_parameters_of_rcpt_are_read():
    assert rcpt(b"TO:<a@b> NOTIFY=success,DELAY ORCPT=rfc822;a+2Bx@b") == Recipient(
        address=Address("a", "b"), notify="SUCCESS,DELAY", orcpt="rfc822;a+2Bx@b"
    )
    unicode = rcpt("TO:<a@b> ORCPT=utf-8;ö@b".encode(), utf8=True)
    assert isinstance(unicode, Recipient) and unicode.orcpt == "utf-8;ö@b"


def test_the_bare_postmaster_is_the_one_of_this_host():
    for argument in (b"TO:<postmaster>", b"TO:<PostMaster> NOTIFY=NEVER"):
        recipient = rcpt(argument)
        assert isinstance(recipient, Recipient) and recipient.address is POSTMASTER


def test_a_line_is_a_verb_and_an_argument():
    assert split_line(b"mail FROM:<a@b>  ") == (b"MAIL", b"FROM:<a@b>")
    assert split_line(b"QUIT") == (b"QUIT", b"")
    assert split_line(b"") == (b"", b"")
