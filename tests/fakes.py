"""Stand-ins for what is slow or far away. Each keeps the contract of the real thing."""

from collections.abc import Callable

from twisted.internet.defer import Deferred, fail, succeed

from pepsi.ingress.store import Unavailable
from pepsi.model.envelope import Arrival


class MemoryStore:
    """A ``pepsi.ingress.store.Store`` that keeps messages in a list; ids count from 1.

    While *away* it is unavailable. While *slow* it answers nothing before ``catch_up``.
    """

    def __init__(self) -> None:
        self.arrivals: list[Arrival] = []
        self.away = False
        self.slow = False
        self._late: list[Callable[[], None]] = []
        self._asked: list[Deferred[None]] = []

    def submit(self, arrival: Arrival) -> Deferred[int]:
        """Keep *arrival*."""
        if self.away:
            return fail(Unavailable("the store is away"))
        self.arrivals.append(arrival)
        number = len(self.arrivals)
        if not self.slow:
            return succeed(number)
        answer: Deferred[int] = Deferred()
        self._late.append(lambda: answer.callback(number))
        asked, self._asked = self._asked, []
        for each in asked:
            each.callback(None)
        return answer

    @property
    def waiting(self) -> int:
        """How many messages have no answer yet."""
        return len(self._late)

    def asked(self) -> Deferred[None]:
        """Return a Deferred that fires when a message waits for its answer."""
        asked: Deferred[None] = Deferred()
        if self._late:
            asked.callback(None)
        else:
            self._asked.append(asked)
        return asked

    def catch_up(self) -> None:
        """Answer all that waits, the last first: the order must not matter."""
        late, self._late = self._late, []
        for answer in reversed(late):
            answer()
