"""How many sessions may be open, and how they end together."""

from ipaddress import ip_address

from pepsi.ingress import replies
from pepsi.ingress.peer import Peer
from pepsi.ingress.sessions import Sessions


class Visit:
    """A session that notes what is asked of it."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def dismiss(self) -> None:
        self.asked.append("dismiss")

    def abort(self) -> None:
        self.asked.append("abort")


def peer(address: str) -> Peer:
    return Peer(address=ip_address(address))


def test_no_more_are_admitted_than_allowed_in_all_and_from_one_client():
    sessions = Sessions(3, 2)
    first, second = Visit(), Visit()
    assert sessions.admit(first, peer("2001:db8::1")) is None
    assert sessions.admit(second, peer("2001:db8::2")) is None
    assert sessions.admit(Visit(), peer("2001:db8::3")) is replies.TOO_MANY_FROM_PEER
    assert sessions.admit(Visit(), peer("192.0.2.1")) is None
    assert sessions.admit(Visit(), peer("192.0.2.2")) is replies.TOO_MANY_SESSIONS
    sessions.ended(first)
    assert sessions.admit(Visit(), peer("2001:db8::3")) is None


def test_one_that_was_turned_away_takes_no_place_when_it_ends():
    sessions = Sessions(1, 1)
    inside, outside = Visit(), Visit()
    sessions.admit(inside, peer("192.0.2.1"))
    sessions.admit(outside, peer("192.0.2.1"))
    sessions.ended(outside)
    assert len(sessions) == 1
    assert sessions.admit(Visit(), peer("192.0.2.1")) is replies.TOO_MANY_SESSIONS


def test_a_stop_dismisses_all_lets_nobody_in_and_tells_when_the_last_has_gone():
    sessions = Sessions(9, 9)
    visits = [Visit(), Visit()]
    for visit in visits:
        sessions.admit(visit, peer("192.0.2.1"))
    sessions.stop()
    gone: list[None] = []
    sessions.emptied().addCallback(gone.append)
    assert [visit.asked for visit in visits] == [["dismiss"], ["dismiss"]]
    assert sessions.admit(Visit(), peer("192.0.2.1")) is replies.STOPPING
    sessions.ended(visits[0])
    assert not gone
    sessions.abort()
    assert visits[1].asked == ["dismiss", "abort"]
    sessions.ended(visits[1])
    assert gone == [None]
    sessions.emptied().addCallback(gone.append)
    assert len(gone) == 2
