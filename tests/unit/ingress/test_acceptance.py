"""Yes and no at the door."""

from ipaddress import ip_address

import pytest

from pepsi.config.ingress_options import Ingress
from pepsi.ingress import replies
from pepsi.ingress.acceptance import Terms
from pepsi.ingress.addresses import Address
from pepsi.ingress.commands import Mail


def terms() -> Terms:
    options = Ingress(entry_stage="in")
    return Terms(
        local_domains=frozenset({"here.example", "[192.0.2.9]"}),
        relay_networks=options.relay_networks,
        max_message_size=1000,
        max_recipients=2,
        max_hops=3,
        max_errors=5,
    )


@pytest.mark.parametrize(
    ("address", "trusted"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("192.0.2.1", False), ("2001:db8::1", False)],
)
def test_by_default_only_this_host_may_relay(address: str, trusted: bool):
    assert terms().is_trusted(ip_address(address)) is trusted


def test_a_client_without_an_address_is_in_no_network():
    assert not terms().is_trusted(None)


@pytest.mark.parametrize("domain", ["here.example", "HERE.Example", "[192.0.2.9]"])
def test_anybody_may_send_to_a_local_domain(domain: str):
    assert terms().refuse_recipient(Address("a", domain), 0, may_relay=False) is None


@pytest.mark.parametrize("domain", ["there.example", "sub.here.example", "here.example.org", "[192.0.2.8]", ""])
def test_only_who_may_relay_may_send_elsewhere(domain: str):
    assert terms().refuse_recipient(Address("a", domain), 0, may_relay=False) is replies.RELAYING_DENIED
    assert terms().refuse_recipient(Address("a", domain), 0, may_relay=True) is None


def test_a_recipient_past_the_limit_may_come_again():
    address = Address("a", "here.example")
    assert terms().refuse_recipient(address, 1, may_relay=False) is None
    assert terms().refuse_recipient(address, 2, may_relay=False) is replies.TOO_MANY_RECIPIENTS
    assert replies.TOO_MANY_RECIPIENTS.code == 452


def test_a_size_that_can_never_be_taken_is_told_apart_from_one_that_cannot_now():
    assert terms().refuse_sender(Mail(sender=None, size=1001), room=10**9) is replies.TOO_LARGE
    assert terms().refuse_sender(Mail(sender=None, size=1000), room=999) is replies.NO_ROOM
    assert terms().refuse_sender(Mail(sender=None, size=1000), room=1000) is None


def test_a_message_that_was_handed_on_too_often_loops():
    assert terms().refuse_hops(3) is None
    assert terms().refuse_hops(4) is replies.LOOP
