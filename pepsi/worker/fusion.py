"""Several stages in one pass: a message that goes on to a stage which this process can run is run there at once.

The row is loaded once and written once. Nothing else differs: each stage sees what it would have loaded, and what is
written is what would have been written bit by bit. Whenever that is not certain, the message goes on as ever.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pepsi.db.patch import Onward, copied, moved
from pepsi.errors import StageError
from pepsi.model.message import Message, State
from pepsi.model.row import INTERRUPTED, MOST_INTERRUPTED, STRIKES, SUSPECT
from pepsi.model.settings import Wanted
from pepsi.model.status import Fused
from pepsi.worker.layers import Layers, wanted
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
        """Which settings are to be loaded with its messages: those for each stage that was found to follow, too."""
        return wanted([self._runner.layers, *self._successors.layers])

    def run(self, message: Message) -> Ran:
        """Run *message* through the stage and all that may follow in this pass. Raises as ``Runner.run`` does."""
        if _under_suspicion(message.state):
            return self._runner.run(message)
        # Before the stage sees it, for it may do to it what it likes.
        state = copied(message.state)
        ran = first = self._runner.run(message)
        report: list[Fused] = []
        while ran.onward is not None and len(report) < DEPTH:
            successor = self._successors.find(ran.onward.stage)
            at = None if successor is None else _arrived(message, state, ran.onward, successor)
            if successor is None or at is None:
                break
            begun = self._clock()
            name = ran.onward.stage
            ran = successor.runner.run(at, ran.onward.patch)
            report.append(Fused(name, (self._clock() - begun) // 1000))
        return replace(ran, status=replace(ran.status, report=tuple(report)), first=first) if report else ran

    def unfit(self, message: Message, error: StageError) -> Ran:
        """As ``Runner.unfit``, for what the stage itself decided."""
        return self._runner.unfit(message, error)

    def failed(self, message: Message, error: Exception) -> Ran:
        """As ``Runner.failed``, for what came before the first stage."""
        return self._runner.failed(message, error)


def _arrived(message: Message, state: State, onward: Onward, successor: Successor) -> Message | None:
    """Return *message* as *successor* is to see it, None if it must load it in a pass of its own."""
    at = moved(message, state, onward, successor.need)
    if at is None:
        return None
    # A row is split before a stage runs, and the new ones are copies of what is written: so all that has been changed
    # must be. A new content is written once, and what it may be split into has that in common.
    options = successor.options(at)
    if options is None or (onward.patch.rewrites and len(at.recipients) > 1):
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
