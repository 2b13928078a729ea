"""Finding stages by name: the shipped ones, and those that other packages install.

A stage's module is imported when it is asked for and not before: a worker runs one stage, and starts quickly only if it
does not load the others.
"""

import importlib
from collections.abc import Mapping
from typing import Any

from pepsi.errors import StageError
from pepsi.stages.api import Stage

GROUP = "pepsi.stages"
"""The entry-point group by which a package offers its stages: ``NAME = module:Class``."""

_SHIPPED: Mapping[str, str] = {
    "deliver-maildir": "pepsi.stages.deliver_maildir:DeliverMaildir",
    "discard": "pepsi.stages.discard:Discard",
    "if": "pepsi.stages.if_:If",
    "pipe": "pepsi.stages.pipe:Pipe",
    "relay-to-smarthost": "pepsi.stages.relay_to_smarthost:RelayToSmarthost",
}


def find(name: str) -> type[Stage[Any]]:
    """Return the stage that is called *name*. Raises StageError, which says what there is."""
    target = _SHIPPED.get(name) or _installed().get(name)
    if target is None:
        raise StageError(f"no stage is called {name!r}; there are {', '.join(names())}")
    return load(target)


def names() -> tuple[str, ...]:
    """Return the names of all stages that can be found, in order."""
    return tuple(sorted({*_SHIPPED, *_installed()}))


def load(target: str) -> type[Stage[Any]]:
    """Return the stage at *target*, ``module:Class``. Raises StageError if there is none."""
    module, _, attribute = target.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise StageError(f"the stage {target} cannot be loaded: {error}") from error
    if not (isinstance(found, type) and issubclass(found, Stage)):
        raise StageError(f"{target} is not a stage: expected a subclass of pepsi.stages.api.Stage")
    return found


def _installed() -> Mapping[str, str]:
    # Imported here: it costs as much as all the rest of a worker's start, and shipped stages do without.
    from importlib.metadata import entry_points

    return {point.name: point.value for point in entry_points(group=GROUP)}
