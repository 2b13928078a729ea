"""Who is at the other end."""

import os
import pwd
import socket
from ipaddress import ip_address

from pepsi.ingress.peer import Peer, login_of, plain_address


def test_the_kernel_names_the_login_of_a_local_client():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert login_of(ours) == pwd.getpwuid(os.getuid()).pw_name


def test_an_ipv4_address_is_one_in_whatever_form_it_comes():
    assert plain_address("::ffff:192.0.2.1") == ip_address("192.0.2.1")
    assert plain_address("fe80::1%eth0") == ip_address("fe80::1")
    assert plain_address("2001:db8::1") == ip_address("2001:db8::1")


def test_an_ipv6_site_is_one_client():
    first, second, other = (
        Peer(address=ip_address(a)).key for a in ("2001:db8::1", "2001:db8::ffff:1", "2001:db8:0:1::1")
    )
    assert first == second != other
    assert Peer(address=ip_address("192.0.2.1")).key != Peer(address=ip_address("192.0.2.2")).key
    assert Peer(login="alice").key == "user alice"
