"""The root of every error that Pepsi raises on purpose. Each knows the exit status it ends a program with."""

EX_OK = 0
EX_ERROR = 1
EX_USAGE = 2
EX_UNAVAILABLE = 69
EX_TEMPFAIL = 75
EX_CONFIG = 78


class PepsiError(Exception):
    """Something went wrong that a sentence can explain. ``str()`` of it is that sentence."""

    exit_status = EX_ERROR


class ConfigError(PepsiError):
    """A configuration that cannot be used. The text may hold several lines, one error each."""


class SecretError(ConfigError):
    """A secret that is readable by others, or whose content cannot be used."""


class DatabaseError(PepsiError):
    """PostgreSQL refused something, or is not there."""

    exit_status = EX_UNAVAILABLE


class SchemaError(DatabaseError):
    """The database holds no Pepsi schema, or that of another release."""

    exit_status = EX_CONFIG


class WireError(PepsiError):
    """The other end of a worker's pipe broke the protocol."""


class StageError(PepsiError):
    """A stage cannot be found, built or run."""


class RelayError(PepsiError):
    """Outbound SMTP could not be carried on."""


class IngressError(PepsiError):
    """The SMTP door cannot be opened or kept open."""


class SimulationError(PepsiError):
    """What is to be simulated cannot be."""
