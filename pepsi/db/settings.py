"""The statements of an operator who looks at what is set for single correspondents, and changes it.

Addresses are as ``pepsi.model.settings.settings_address`` returns them. A change counts for the next message: settings
are loaded with each.
"""

from collections.abc import Sequence

from pepsi.db.statement import Statement, named

Place = tuple[str, str, str]
"""Stage, address and key of a setting."""


def page(*, after: Place, limit: int, stage: str | None = None, address: str | None = None) -> Statement:
    """Ask for up to *limit* settings behind *after* that match the others, in the order of their places.

    Rows of address, stage, key and value.
    """
    after_stage, after_address, after_key = after
    return named(
        "settings_page",
        after_stage=after_stage,
        after_address=after_address,
        after_key=after_key,
        stage=stage,
        address=address,
        limit=limit,
    )


def at(stage: str, addresses: Sequence[str]) -> Statement:
    """Ask for what is set at *stage* for any of *addresses*: rows of address, key and value."""
    return named("settings_at", stage=stage, addresses=list(addresses))


def put(address: str, stage: str, key: str, value: str) -> Statement:
    """Set a value; returns the former one, or null."""
    return named("settings_set", address=address, stage=stage, key=key, value=value)


def remove(address: str, stage: str, key: str) -> Statement:
    """Forget a setting; returns its value, no row if there was none."""
    return named("settings_unset", address=address, stage=stage, key=key)
