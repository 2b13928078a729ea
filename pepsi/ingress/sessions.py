"""The sessions that are open: how many there may be, and how they end together."""

from collections import Counter
from typing import Protocol

from twisted.internet.defer import Deferred

from pepsi.ingress import replies
from pepsi.ingress.peer import Peer
from pepsi.ingress.replies import Reply


class Session(Protocol):
    """What the door needs to know of an open session."""

    def dismiss(self) -> None:
        """Say goodbye now, or as soon as the message under way is done with."""

    def abort(self) -> None:
        """End now, without another word."""


class Sessions:
    """All open sessions of one door."""

    def __init__(self, limit: int, limit_per_peer: int) -> None:
        self._limit = limit
        self._limit_per_peer = limit_per_peer
        self._open: dict[Session, str] = {}
        self._by_peer: Counter[str] = Counter()
        self._stopping = False
        self._emptied: list[Deferred[None]] = []

    def __len__(self) -> int:
        return len(self._open)

    def admit(self, session: Session, peer: Peer) -> Reply | None:
        """Count *session* as open, or return why it cannot be."""
        key = peer.key
        if self._stopping:
            return replies.STOPPING
        if len(self._open) >= self._limit:
            return replies.TOO_MANY_SESSIONS
        if self._by_peer[key] >= self._limit_per_peer:
            return replies.TOO_MANY_FROM_PEER
        self._open[session] = key
        self._by_peer[key] += 1
        return None

    def ended(self, session: Session) -> None:
        """Take note that *session* is over. Harmless if it was never admitted."""
        key = self._open.pop(session, None)
        if key is None:
            return
        self._by_peer[key] -= 1
        if not self._by_peer[key]:
            del self._by_peer[key]
        if not self._open:
            emptied, self._emptied = self._emptied, []
            for waiting in emptied:
                waiting.callback(None)

    def stop(self) -> None:
        """Admit nobody any more, and dismiss all."""
        self._stopping = True
        for session in list(self._open):
            session.dismiss()

    def abort(self) -> None:
        """End all sessions that are left."""
        for session in list(self._open):
            session.abort()

    def emptied(self) -> Deferred[None]:
        """Return a Deferred that fires when no session is left."""
        emptied: Deferred[None] = Deferred()
        if self._open:
            self._emptied.append(emptied)
        else:
            emptied.callback(None)
        return emptied
