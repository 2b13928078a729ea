"""The part of the configuration that lives in the database."""

from pepsi.db.statement import Statement, named


def overlay() -> Statement:
    """Ask for it: rows of section, key and value, as ``pepsi.config.load`` layers them on the file."""
    return named("config_overlay")
