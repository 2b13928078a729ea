"""The stages that a worker can run in the pass of its own: which they are, and the making of them.

Whatever is amiss with one costs no more than that its messages have a pass of their own, with a worker that says so.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pepsi.config import graph
from pepsi.config.load import STAGE_PREFIX, Config, StageSection
from pepsi.config.options import StageOptions
from pepsi.errors import PepsiError
from pepsi.model.message import Message, Need
from pepsi.model.settings import Wanted
from pepsi.stages.api import Refuse, Stage
from pepsi.stages.registry import find
from pepsi.worker.layers import Layers, layers_of, overridable, wanted
from pepsi.worker.note import note, note_traceback
from pepsi.worker.run import Runner
from pepsi.worker.section import installed_here


@dataclass(frozen=True, slots=True)
class Successor:
    """A stage that can be run in the pass of another. *need* is how much of a message it is shown then."""

    runner: Runner
    need: Need
    stage: Stage[Any]

    def options(self, message: Message) -> StageOptions | None:
        """Return the options for *message*; None if it must have a pass of its own.

        That is so where its recipients have settings for this stage that differ, for then it becomes several rows;
        where they were not loaded; and where they cannot be used.
        """
        try:
            found = self.runner.layers.resolve(message)
        except Refuse:
            return None
        return found if isinstance(found, StageOptions) else None

    def takes(self, message: Message, options: StageOptions) -> bool:
        """Whether the stage itself allows it for *message*. One that cannot tell is asked to work, not to decide."""
        try:
            return self.stage.fuses(message, options)
        except (MemoryError, SystemError):
            raise
        except Exception as error:  # noqa: BLE001 - it comes up again in a pass of its own, if it matters
            note_traceback(error)
            return False


class Successors:
    """Those of a worker of the section *name*. Each is made when a message first comes to it, and once.

    *lookup* finds a stage by the name of its program.
    """

    def __init__(
        self,
        config: Config,
        name: str,
        stage: Stage[Any],
        layers: Layers[Any],
        chance: Callable[[], float],
        lookup: Callable[[str], type[Stage[Any]]] = find,
    ) -> None:
        self._config = config
        self._name = name
        self._stage = stage
        self._layers = layers
        self._chance = chance
        self._lookup = lookup
        self._found: dict[str, Successor | None] = {}
        self._opened: list[Stage[Any]] = []

    @functools.cached_property
    def wanted(self) -> Wanted:
        """Which settings are to be loaded with the messages of the worker, for all stages that they may come to.

        Those are found by the sections, and none is made for this: the first messages would have to go one by one.
        """
        edges = graph.edges({name: section.raw for name, section in self._config.stages.items()})
        keys = {self._name: self._layers.keys}
        coming = [self._name]
        while coming:
            source = coming.pop()
            for edge in edges:
                if edge.source == source and edge.target not in keys:
                    kind = self._known(edge.target)
                    keys[edge.target] = overridable(kind.Options) if kind else frozenset()
                    coming += [edge.target] if kind else []
        return wanted(keys)

    def find(self, name: str) -> Successor | None:
        """Return the stage of the section *name*; None if its messages are to have a pass of their own.

        Whoever asks has it from a stage: it may be anything.
        """
        if not isinstance(name, str) or name not in self._config.stages:
            return None
        if name not in self._found:
            self._found[name] = self._made(self._config.stages[name])
        return self._found[name]

    def close(self) -> None:
        """Close those that were made."""
        while self._opened:
            self._opened.pop().close()

    def _made(self, section: StageSection) -> Successor | None:
        name = section.name
        try:
            kind = self._fusable(section)
            if kind is None:
                return None
            need = _need(kind)
            if name == self._name:
                return Successor(Runner(self._stage, self._layers, self._chance), need, self._stage)
            layers = layers_of(kind, self._config, name)
            stage = kind()
            stage.open(layers.options)
        except (PepsiError, OSError) as error:
            note(f"warning: [{STAGE_PREFIX}{name}] is left to a worker of its own: {str(error).splitlines()[0]}")
            return None
        except (MemoryError, SystemError):
            raise
        except Exception as error:  # noqa: BLE001 - a bug of that stage, and no fault of the message in hand
            note_traceback(error)
            return None
        self._opened.append(stage)
        return Successor(Runner(stage, layers, self._chance), need, stage)

    def _known(self, name: str) -> type[Stage[Any]] | None:
        """As ``_fusable``. What goes wrong comes up when a message goes there."""
        section = self._config.stages.get(name)
        try:
            return None if section is None else self._fusable(section)
        except (MemoryError, SystemError):
            raise
        except Exception:  # noqa: BLE001 - it is somebody's module that is imported
            return None

    def _fusable(self, section: StageSection) -> type[Stage[Any]] | None:
        """Return the class of the stage of *section* if messages can come to it in this pass."""
        if section.spec.fusion is False:
            return None
        kind = self._kind(section)
        if kind is None or not (kind.fusable if section.spec.fusion is None else section.spec.fusion):
            return None
        return None if kind.acts_outside or _need(kind) > self._stage.needs else kind

    def _kind(self, section: StageSection) -> type[Stage[Any]] | None:
        """Return the class of the stage that *section* runs, if it is known in this process."""
        own = self._config.stages.get(self._name)
        if own is not None and section.spec.program == own.spec.program:
            return type(self._stage)
        name = installed_here(section.spec.program)
        return self._lookup(name) if name else None


def _need(kind: type[Stage[Any]]) -> Need:
    """Return how much of a message a stage of *kind* is shown in the pass of another."""
    return kind.needs if kind.needs_fused is None else kind.needs_fused
