"""Which errors of the driver are no wonder in a chaos run: the server is away, or others were in the way."""

from pepsi.db.faults import Fault, fault_of

_NO_WONDER = frozenset({Fault.LOST, Fault.LIMIT, Fault.CANCELLED, Fault.RETRY})


def is_outage(error: Exception) -> bool:
    """Whether *error* is no mistake of the harness."""
    return fault_of(error) in _NO_WONDER
