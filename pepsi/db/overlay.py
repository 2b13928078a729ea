"""The part of the configuration that lives in the database."""

from collections.abc import Iterable
from typing import Any

from pepsi.db.statement import Statement, named

Overlay = tuple[tuple[str, str, str], ...]
"""Section, key and value of each, as ``pepsi.config.load`` layers them on the file."""


def overlay() -> Statement:
    """Ask for it: rows for ``overlaid``."""
    return named("config_overlay")


def overlaid(rows: Iterable[tuple[Any, ...]]) -> Overlay:
    """Read what ``overlay`` returned."""
    return tuple((section, key, value) for section, key, value in rows)
