"""The arithmetic of the benchmarks, and the order of their runs. Pure."""

import math
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def percentile(values: Sequence[float], percent: float) -> float:
    """Return the smallest of *values* that so many percent of them do not exceed: one that did occur.

    Raises ValueError when there are no values, or the percentage is not above 0 and up to 100.
    """
    if not values:
        raise ValueError("expected at least one value")
    if not 0 < percent <= 100:
        raise ValueError(f"expected a percentage above 0 and up to 100, not {percent}")
    return sorted(values)[max(1, math.ceil(len(values) * percent / 100)) - 1]


def jain(shares: Sequence[float]) -> float:
    """Return Jain's index of fairness: 1 when all have the same, 1/n when one has all. Nothing at all is fair."""
    squares = sum(share * share for share in shares)
    return sum(shares) ** 2 / (len(shares) * squares) if squares else 1.0


def interleaved(subjects: Sequence[T], rounds: int) -> list[T]:
    """Return the order in which *subjects* are measured, each *rounds* times.

    They take turns, and every other round goes backwards: a machine that slows down during the run slows all of them.
    """
    order: list[T] = []
    for number in range(rounds):
        order += subjects if number % 2 == 0 else subjects[::-1]
    return order
