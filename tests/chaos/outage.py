"""Which errors of the driver are the server's being away, as it often is in a chaos run."""

from pepsi.db.faults import Fault, fault_of

_AWAY = frozenset({Fault.LOST, Fault.LIMIT, Fault.CANCELLED})


def is_outage(error: Exception) -> bool:
    """Whether *error* is no mistake of the harness."""
    return fault_of(error) in _AWAY
