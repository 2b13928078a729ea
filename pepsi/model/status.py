"""What a worker answers for one message id."""

from dataclasses import dataclass

OK = 0
IO_ERROR = 74
"""The worker lost its database connection: nobody is to blame."""
TEMP_FAIL = 75
"""The database would not take another connection: nobody is to blame, but fewer workers would help."""
BAD_CONFIG = 78
"""An exit status, not an answer: the schema or the configuration is not what the worker was made for."""


@dataclass(frozen=True, slots=True)
class Fused:
    """One stage that was run in the same pass, and the time it took in microseconds."""

    stage: str
    microseconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """A worker's answer for the oldest id it holds. *warning* says what of the line had to be dropped."""

    code: int
    report: tuple[Fused, ...] = ()
    reason: str = ""
    warning: str = ""
