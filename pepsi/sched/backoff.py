"""How long to wait before another try: twice as long after each failure, and never all at the same moment."""

from collections.abc import Callable

SHARE = 0.2
"""The largest part of a delay that chance adds to it."""

_MOST_DOUBLINGS = 64
"""2 ** 64 seconds are beyond any cap, and a float can still hold them."""


def delay(failures: int, first: float, cap: float) -> float:
    """Return the seconds to wait after the *failures*-th failure in a row: *first*, doubled each time, up to *cap*."""
    return min(first * 2.0 ** min(max(failures, 1) - 1, _MOST_DOUBLINGS), cap)


def jittered(seconds: float, chance: Callable[[], float]) -> float:
    """Return *seconds* and up to a fifth more, by *chance*, which returns 0 up to 1.

    What failed together, because one thing was broken for all, must not come back together.
    """
    return seconds * (1 + SHARE * chance())
