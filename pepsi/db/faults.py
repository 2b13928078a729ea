"""What an error of the driver means for whoever sent the statement."""

import enum

import psycopg2


class Fault(enum.Enum):
    """The kinds of trouble that are handled differently."""

    LOST = "lost"  # the connection is gone or cannot be made: connect again
    LIMIT = "limit"  # the server has no connection left for us
    RETRY = "retry"  # the statement had no effect and may simply be run again
    READ_ONLY = "read-only"  # a standby, or a server set so: close, and connect anew later
    DATA = "data"  # a value that was to be written is at fault
    CANCELLED = "cancelled"  # a time-out, or somebody cancelled it
    OTHER = "other"  # a right, a disk, a statement: whatever else, and not for what was to be written


_BY_CODE = {
    "53300": Fault.LIMIT,  # too_many_connections
    "40001": Fault.RETRY,  # serialization_failure
    "40P01": Fault.RETRY,  # deadlock_detected
    "55P03": Fault.RETRY,  # lock_not_available
    "25006": Fault.READ_ONLY,  # read_only_sql_transaction
    "57014": Fault.CANCELLED,  # query_canceled
}
_LOST_CLASSES = ("08", "57P0")
"""connection_exception, and the shutdowns: admin, crash, cannot connect now, database dropped, idle session."""

_DATA_CLASSES = ("22", "23")
"""data_exception, integrity_constraint_violation."""

# A refusal to connect reaches us as bare text: libpq keeps no SQLSTATE of it.
_LIMIT_TEXTS = ("too many clients", "remaining connection slots", "too many connections")


def fault_of(error: BaseException) -> Fault:
    """Return what *error* means. Anything that is no error of the driver is OTHER."""
    if isinstance(error, psycopg2.InterfaceError):
        return Fault.LOST
    if not isinstance(error, psycopg2.Error):
        return Fault.OTHER
    code = error.pgcode
    if code is not None:
        if code.startswith(_LOST_CLASSES):
            return Fault.LOST
        return _BY_CODE.get(code, Fault.DATA if code.startswith(_DATA_CLASSES) else Fault.OTHER)
    # A connection that breaks shows up as an OperationalError, and at times as a plain DatabaseError.
    if isinstance(error, psycopg2.OperationalError) or type(error) is psycopg2.DatabaseError:
        return Fault.LIMIT if any(text in str(error) for text in _LIMIT_TEXTS) else Fault.LOST
    return Fault.OTHER
