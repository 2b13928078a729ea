"""The claim token: names one claim of one row, so that a late write can never hit the next claim (I3).

A token is one ``bigint``: the dispatcher's epoch above, a counter of that epoch's claims below. One claim statement
stamps all its rows with the same token; row id and token together name the claim.
"""

COUNTER_BITS = 40
"""Room for 34 years of a thousand claims a second, and for eight million starts of the dispatcher above it."""


def pack(epoch: int, counter: int) -> int:
    """Return the token of the *counter*-th claim of *epoch*."""
    return epoch << COUNTER_BITS | counter


def epoch_of(token: int) -> int:
    """Return the epoch of the dispatcher that made *token*."""
    return token >> COUNTER_BITS
