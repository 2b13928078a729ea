"""Whose turn a message takes in the fair order."""

import pytest

from tests.db.queue import Queue

LOCAL = {"peer": None, "auth_login": None}


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({"peer": "192.0.2.1", "auth_login": "joerg"}, "user:joerg"),
        ({"auth_login": "joerg", "mail_from": "other@example.org"}, "user:joerg"),
        ({"auth_login": ""}, "user:"),
        ({"peer": "192.0.2.1"}, "ip:192.0.2.1"),
        ({"peer": "192.0.2.1/24"}, "ip:192.0.2.1"),
        ({"peer": "192.0.2.1", "mail_from": ""}, "ip:192.0.2.1"),
        ({"peer": "2001:db8:1:2:3:4:5:6"}, "ip:2001:db8:1:2::/64"),
        ({"peer": "2001:db8:1:2:ffff::1"}, "ip:2001:db8:1:2::/64"),
        ({"peer": "2001:db8:1:2::1/128"}, "ip:2001:db8:1:2::/64"),
        ({"peer": "2001:db8:1:2::1/48"}, "ip:2001:db8:1:2::/64"),
        ({"peer": "::ffff:192.0.2.1"}, "ip:192.0.2.1"),
        ({"peer": "::1"}, "ip:::/64"),
        ({"mail_from": "Someone@Example.ORG"}, "from:example.org"),
        ({"mail_from": '"a@b c"@example.org'}, "from:example.org"),
        ({"mail_from": "someone@[192.0.2.1]"}, "from:[192.0.2.1]"),
        ({"mail_from": "someone@[IPv6:2001:DB8::1]"}, "from:[ipv6:2001:db8::1]"),
        ({"mail_from": "postmaster"}, "from:postmaster"),
        ({"mail_from": "jörg@MÜLLER.example"}, "from:mÜller.example"),
        ({"mail_from": "", "recipients": ["a@Example.NET", "b@example.com"]}, "null:example.net"),
        ({"mail_from": "", "recipients": ['"x@y"@z.example']}, "null:z.example"),
    ],
)
def test_the_key_says_who_pays(queue: Queue, given: dict[str, object], key: str) -> None:
    number = queue.add(**{**LOCAL, **given})
    assert queue.row(number)["sender_key"] == key


def test_the_key_follows_the_row(queue: Queue) -> None:
    number = queue.add(mail_from="a@b.example")
    queue.database.rows("UPDATE pepsi.workqueue SET mail_from = 'a@c.example'")
    assert queue.row(number)["sender_key"] == "from:c.example"


def test_an_endless_domain_still_fits_into_the_index(queue: Queue) -> None:
    number = queue.add(mail_from="a@" + "ü.x-" * 5000)
    assert len(queue.row(number)["sender_key"]) == 300


def test_nobody_can_write_the_key(queue: Queue) -> None:
    assert queue.database.value(
        "SELECT attgenerated = 's' FROM pg_attribute "
        "WHERE attrelid = 'pepsi.workqueue'::regclass AND attname = 'sender_key'"
    )
