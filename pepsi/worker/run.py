"""Runs a stage on a message, and sees to it that something becomes of the message whatever the stage does."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pepsi.config.options import StageOptions
from pepsi.db import messages
from pepsi.db.messages import Write
from pepsi.db.patch import Patch
from pepsi.errors import StageError
from pepsi.model.message import Message
from pepsi.model.outcome import Fail, Outcome, Pause
from pepsi.model.settings import Wanted
from pepsi.model.status import Status
from pepsi.stages.api import Refuse, Stage
from pepsi.worker.failures import Blame, blame, decide, returned
from pepsi.worker.layers import Layers, wanted
from pepsi.worker.note import note, note_traceback


@dataclass(frozen=True, slots=True)
class Ran:
    """What is to be written of a message, and the status to answer once that is done.

    Of a pass through several stages *first* makes what the first of them decided, to be written in its place should the
    database refuse the whole.
    """

    write: Write
    status: Status
    first: "Callable[[], Ran] | None" = None


class Runner:
    """A stage with its options, and what is set by address upon them. *chance* returns 0 up to 1."""

    def __init__(self, stage: Stage[Any], layers: Layers[Any], chance: Callable[[], float]) -> None:
        self._stage = stage
        self.layers = layers
        self._chance = chance

    @property
    def wanted(self) -> Wanted:
        """Which settings are to be loaded with its messages."""
        return wanted({self.layers.name: self.layers.keys})

    def run(self, message: Message) -> Ran:
        """Run the stage on *message*, whose recipients share their settings. Raises as ``ready`` does."""
        return self.ready(message, self.process(message))

    def process(self, message: Message) -> Outcome | Exception:
        """Return what the stage decides about *message*, or what it raised in its place."""
        try:
            return self._stage.process(message, self._options(message))
        except Exception as error:  # noqa: BLE001 - whatever a stage raises, the table of failures knows it
            return error

    def ready(self, message: Message, decided: Outcome | Exception, carried: Patch | None = None) -> Ran:
        """Return what becomes of *message*. *carried* is what earlier stages changed in the same pass.

        Raises only what means that this process cannot go on: MemoryError and SystemError.
        """
        if isinstance(decided, Exception):
            return self.failed(message, decided, carried)
        decision = returned(decided)
        try:
            return Ran(messages.write(message, decision.outcome, carried), decision.status)
        except StageError as error:
            return self.unfit(message, error, carried)

    def unfit(self, message: Message, error: StageError, carried: Patch | None = None) -> Ran:
        """Return what becomes of *message*, for which the stage decided what cannot be written, as *error* says.

        It is tried again, unless the stage has acted already: then it would act again and again.
        """
        if not self._stage.acts_outside:
            return self.failed(message, error, carried)
        return self.failed(message, Refuse(f"a bug of the stage, which may have acted already: {error}"), carried)

    def failed(self, message: Message, error: Exception, carried: Patch | None = None) -> Ran:
        """Return what becomes of *message* because of *error*. Raises *error* if it must end the process."""
        match blame(error):
            case Blame.PROCESS:
                raise error
            case Blame.HOST:
                note_traceback(error)
            case Blame.MESSAGE | Blame.NOBODY:
                pass
        decision = decide(error, message, self._usable(message), self._chance)
        try:
            ran = Ran(messages.write(message, decision.outcome, carried), decision.status)
        except StageError as unfit:
            # What the stage wanted kept along with the error cannot be stored: the message is kept without it.
            return self.unfit(message, unfit, carried)
        note(f"warning: message {message.workqueue_id}: {_told(decision.outcome)}: {decision.reason}")
        return ran

    def _options(self, message: Message) -> StageOptions:
        """Return the options for *message*. Raises Refuse if what is set makes them unusable."""
        found = self.layers.resolve(message)
        if not isinstance(found, StageOptions):
            raise StageError("the message was not split before it was run")
        return found

    def _usable(self, message: Message) -> StageOptions:
        """Return the options for *message*, those of the section if there are no others that can be used."""
        try:
            return self._options(message)
        except StageError:
            return self.layers.options  # type: ignore[no-any-return]


def _told(outcome: Outcome) -> str:
    match outcome:
        case Pause(delay=delay) if delay is not None:
            return f"to be tried again in {delay:.0f} s"
        case Fail():
            return "kept as failed"
        case _:
            return "tried for too long and given up"
