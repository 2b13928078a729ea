"""What a stage made up, before it goes into a column: refused, or cleaned of what PostgreSQL does not take.

All raise StageError.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any

from pepsi.errors import StageError
from pepsi.model.text import one_line, storable

NESTING_LIMIT = 64
"""How deep lists and mappings may stand in each other in a state."""

_LARGEST = 10**4000
"""Python neither writes nor reads whole numbers that are much longer."""


def stage(name: str) -> str:
    """Return the name of a stage."""
    return _text(name, "the name of a stage")


def sender(address: str | None) -> str | None:
    """Return an envelope sender, or None, which leaves it as it is. The empty text is the null sender."""
    return _text(address, "a sender") if address else address


def recipients(addresses: Iterable[str] | None) -> list[str] | None:
    """Return envelope recipients, or None, which leaves them as they are. No row is without."""
    if addresses is None:
        return None
    if isinstance(addresses, str):
        raise StageError(f"expected a tuple of recipients, got the text {_shown(addresses)}")
    found = [_text(address, "a recipient") for address in addresses]
    if not found:
        raise StageError("expected at least one recipient, got none; finish a message that has none left")
    return found


def state(patch: Mapping[str, Any]) -> dict[str, Any]:
    """Return a patch of the state as jsonb takes it: no NUL, no lone surrogate, no number that is none.

    It is what will be read, too: jsonb knows no negative zero and no exponent, and has its own order of keys.
    """
    if not isinstance(patch, Mapping):
        raise StageError(f"expected a mapping for the state, got {_shown(patch)}")
    return {storable(str(key)): _json(item, 1) for key, item in patch.items()}


def order(key: str) -> tuple[int, bytes]:
    """Return what jsonb orders the keys of an object by."""
    data = key.encode()
    return len(data), data


def _json(value: object, depth: int) -> Any:
    if depth > NESTING_LIMIT:
        raise StageError(f"the state is nested more than {NESTING_LIMIT} deep")
    match value:
        case None | bool():
            return value
        case int() if abs(value) < _LARGEST:
            return int(value)
        case float() if math.isfinite(value):
            return _number(value)
        case str():
            return storable(value)
        case Mapping():
            items = {storable(str(key)): _json(item, depth + 1) for key, item in value.items()}
            return {key: items[key] for key in sorted(items, key=order)}
        case list() | tuple():
            return [_json(item, depth + 1) for item in value]
        case _:
            raise StageError(f"the state holds {_shown(value)}, which JSON has not")


def _number(value: float) -> float | int:
    text = repr(float(value))
    if "e+" in text:
        mantissa, _, exponent = text.partition("e+")
        whole, _, fraction = mantissa.partition(".")
        return int(whole + fraction.ljust(int(exponent), "0"))
    return float(value) or 0.0


def _text(value: object, what: str) -> str:
    if not isinstance(value, str) or not value:
        raise StageError(f"expected some text for {what}, got {_shown(value)}")
    return storable(value)


def _shown(value: object) -> str:
    return one_line(repr(value), 100)
