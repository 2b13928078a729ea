"""Faults of the network: what goes through the proxy is cut, slowed down, swallowed, refused."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.chaos.faults import ALL, Kind
from tests.chaos.ledger import Ledger
from tests.support_proxy import Proxy

PATTERNS = (ALL, "pepsi-stage-*", "pepsi-stage-work", "pepsi-stage-send", "pepsi-dispatch*", "pepsi-dispatch: lock*")
LONG_SILENCE = 0.04
"""How many silences are so long that a dispatcher must give its workers up."""


@dataclass(slots=True)
class OnNetwork:
    """Hits what goes through *proxy*, one fault at a time: what heals one heals all.

    *hurry* leaves out what takes long.
    Each method returns whether there was something to hit.
    """

    ledger: Ledger
    proxy: Proxy
    hurry: bool
    _busy: bool = False

    def cut(self) -> bool:
        pattern = self.ledger.chance.choice(PATTERNS)
        self.ledger.note(Kind.CUT, sessions=pattern)
        return self.proxy.cut(pattern) > 0

    def silence(self) -> bool:
        pattern = self.ledger.chance.choice(PATTERNS)
        long = not self.hurry and self.ledger.chance.random() < LONG_SILENCE
        return self._begin(
            Kind.BLACKHOLE,
            pattern,
            100.0 if long else self.ledger.moment(15),
            lambda: self.proxy.blackhole(pattern, lasting=self.ledger.chance.random() < 0.5),
        )

    def slow(self) -> bool:
        pattern = self.ledger.chance.choice(PATTERNS)
        seconds = self.ledger.chance.uniform(0.02, 0.3)
        return self._begin(
            Kind.DELAY, pattern, self.ledger.moment(8), lambda: self.proxy.delay(seconds, pattern, lasting=True)
        )

    def refuse(self) -> bool:
        def refuse() -> int:
            self.ledger.note(Kind.CUT, sessions=ALL)
            self.proxy.refuse()
            return self.proxy.cut(ALL)

        # What stands is cut; to those that it keeps from connecting nothing can happen.
        return self._begin(Kind.REFUSE, "", self.ledger.moment(8), refuse)

    def _begin(self, kind: Kind, pattern: str, seconds: float, begin: Callable[[], int]) -> bool:
        if self._busy:
            return False
        self._busy = True
        over = self.ledger.note(kind, sessions=pattern, lasts=True)
        begin()
        cut = kind is Kind.BLACKHOLE and self.ledger.chance.random() < 0.5

        def heal() -> None:
            self._busy = False
            if cut:
                self.ledger.note(Kind.CUT, sessions=pattern)
                self.proxy.cut(pattern)
            self.proxy.heal()
            over()

        self.ledger.later(seconds, heal)
        return True
