"""Several stages in one pass: a message that goes on to a stage which this process can run is run there at once.

The row is loaded once and written once. Nothing else differs: each stage sees what it would have loaded, and what is
written is what would have been written bit by bit. Whenever that is not certain, the message goes on as ever.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from pepsi.db.patch import Patch, copied, joined, moved, patch_of
from pepsi.errors import StageError
from pepsi.model.message import Message, State
from pepsi.model.outcome import Advance
from pepsi.model.row import INTERRUPTED, MOST_INTERRUPTED, STRIKES, SUSPECT
from pepsi.model.settings import Wanted
from pepsi.model.status import Fused
from pepsi.worker.layers import Layers
from pepsi.worker.run import Ran, Runner
from pepsi.worker.successors import Successor, Successors

DEPTH = 32
"""How many stages may follow the first one in a pass: so ends a circle."""


class Line:
    """A stage, and those that follow it. *clock* counts nanoseconds."""

    def __init__(self, runner: Runner, successors: Successors, clock: Callable[[], int]) -> None:
        self._runner = runner
        self._successors = successors
        self._clock = clock

    @property
    def layers(self) -> Layers[Any]:
        """The options of the first stage."""
        return self._runner.layers

    @property
    def wanted(self) -> Wanted:
        """Which settings are to be loaded with its messages: those for all stages that may follow, too."""
        return self._successors.wanted

    def run(self, message: Message) -> Ran:
        """Run *message* through the stage and all that may follow in this pass. Raises as ``Runner.run`` does."""
        if _under_suspicion(message.state):
            return self._runner.run(message)
        # Before the stage sees it, for it may do to it what it likes.
        state = copied(message.state)
        runner, at, carried = self._runner, message, None
        decided = first = runner.process(message)
        report: list[Fused] = []
        while isinstance(decided, Advance) and len(report) < DEPTH:
            successor = self._successors.find(decided.stage)
            patch = None if successor is None else _changed(carried, decided)
            if successor is None or patch is None:
                break
            arrived = _arrived(moved(message, state, decided.stage, patch, successor.need), patch, successor)
            if arrived is None:
                break
            begun = self._clock()
            runner, at, carried = successor.runner, arrived, patch
            decided = runner.process(at)
            report.append(Fused(at.stage, (self._clock() - begun) // 1000))
        ran = runner.ready(at, decided, carried)
        if not report:
            return ran
        return Ran(ran.write, replace(ran.status, report=tuple(report)), partial(self._runner.ready, message, first))

    def unfit(self, message: Message, error: StageError) -> Ran:
        """As ``Runner.unfit``, for what the stage itself decided."""
        return self._runner.unfit(message, error)

    def failed(self, message: Message, error: Exception) -> Ran:
        """As ``Runner.failed``, for what came before the first stage."""
        return self._runner.failed(message, error)


def _changed(carried: Patch | None, decided: Advance) -> Patch | None:
    """Return all that was changed in the pass so far; None if that cannot be written: then the stage has failed."""
    try:
        return joined(carried, patch_of(decided.changes), moves=True)
    except StageError:
        return None


def _arrived(at: Message | None, patch: Patch, successor: Successor) -> Message | None:
    """Return *at*, the message as *successor* is to see it, or None if it must load it in a pass of its own."""
    if at is None:
        return None
    # A row is split before a stage runs, and the new ones are copies of what is written: so all that has been changed
    # must be. A new content is written once, and what it may be split into has that in common.
    options = successor.options(at)
    if options is None or (patch.rewrites and len(at.recipients) > 1):
        return None
    return at if successor.takes(at, options) else None


def _under_suspicion(state: State) -> bool:
    """Whether a worker has died of the message at this stage, or may have: then it is alone at what it is at (I8).

    The state may hold anything.
    """
    interrupted = state.get(INTERRUPTED)
    if state.get(STRIKES) or state.get(SUSPECT):
        return True
    return isinstance(interrupted, int) and interrupted > MOST_INTERRUPTED
