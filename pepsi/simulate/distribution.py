"""How long things take: a length, or lengths by chance around a mean."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

from pepsi.config.values import parse_duration, parse_number

KINDS = ("const", "exp", "lognormal")
SPREAD = 1.0
"""The spread of a lognormal length if none is given: the slowest in a hundred takes six times the mean."""
WIDEST = 5.0

Chance = Callable[[], float]
"""Returns 0 up to 1."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """Lengths with this *mean* in seconds. *spread* is the standard deviation of the logarithm of a lognormal one."""

    kind: str
    mean: float
    spread: float = SPREAD

    def sampler(self, chance: Chance) -> Callable[[], float]:
        """Return what draws one length after the other."""
        mean = self.mean
        if self.kind == "const" or not mean:
            return lambda: mean
        if self.kind == "exp":
            return lambda: -mean * math.log(1.0 - chance())
        spread, normal = self.spread, NormalDist().inv_cdf
        middle = math.log(mean) - spread * spread / 2
        # Not 0 itself, of which there is no logarithm; 1 is never drawn.
        return lambda: math.exp(middle + spread * normal(chance() or 0.5))


def parse(text: str) -> Distribution:
    """Return the distribution that *text* is: ``20ms``, ``exp:20ms``, ``lognormal:20ms``, ``lognormal:20ms:1.5``.

    Raises ValueError, whose text says what was expected.
    """
    kind, colon, rest = text.partition(":")
    if not colon:
        return Distribution("const", parse_duration(text))
    length, _, spread = rest.partition(":")
    if kind not in KINDS or (spread and kind != "lognormal"):
        raise ValueError("expected a duration such as 20ms, or exp:20ms, lognormal:20ms, lognormal:20ms:1.5")
    width = parse_number(spread) if spread else SPREAD
    if not 0 < width <= WIDEST:
        raise ValueError(f"expected a spread above 0 and up to {WIDEST:g}")
    return Distribution(kind, parse_duration(length), width)
