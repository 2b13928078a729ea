"""Runs a stage on a message, and sees to it that something becomes of the message whatever the stage does."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pepsi.config.options import StageOptions
from pepsi.db import messages
from pepsi.db.messages import Write
from pepsi.errors import StageError
from pepsi.model.message import Message
from pepsi.model.outcome import Fail, Outcome, Pause
from pepsi.model.status import Status
from pepsi.stages.api import Refuse, Stage
from pepsi.worker.failures import Blame, Decision, blame, decide, returned
from pepsi.worker.note import note, note_traceback


@dataclass(frozen=True, slots=True)
class Ran:
    """What is to be written of a message, and the status to answer once that is done."""

    write: Write
    status: Status


class Runner:
    """A stage with its options. *chance* returns 0 up to 1."""

    def __init__(self, stage: Stage[Any], options: StageOptions, chance: Callable[[], float]) -> None:
        self._stage = stage
        self._options = options
        self._chance = chance

    def run(self, message: Message) -> Ran:
        """Run the stage on *message*.

        Raises only what means that this process cannot go on: MemoryError, SystemError, and what is no Exception.
        """
        try:
            outcome = self._stage.process(message, self._options)
        except Exception as error:  # noqa: BLE001 - whatever a stage raises, the table of failures knows it
            return self.failed(message, error)
        try:
            return _ready(message, returned(outcome))
        except StageError as error:
            return self.unfit(message, error)

    def unfit(self, message: Message, error: StageError) -> Ran:
        """Return what becomes of *message*, for which the stage decided what cannot be written, as *error* says.

        It is tried again, unless the stage has acted already: then it would act again and again.
        """
        if not self._stage.acts_outside:
            return self.failed(message, error)
        return self.failed(message, Refuse(f"a bug of the stage, which may have acted already: {error}"))

    def failed(self, message: Message, error: Exception) -> Ran:
        """Return what becomes of *message* because of *error*. Raises *error* if it must end the process."""
        match blame(error):
            case Blame.PROCESS:
                raise error
            case Blame.HOST:
                note_traceback(error)
            case Blame.MESSAGE | Blame.NOBODY:
                pass
        decision = decide(error, message, self._options, self._chance)
        try:
            ran = _ready(message, decision)
        except StageError as unfit:
            # What the stage wanted kept along with the error cannot be stored: the message is kept without it.
            return self.unfit(message, unfit)
        note(f"warning: message {message.workqueue_id}: {_told(decision.outcome)}: {decision.reason}")
        return ran


def _ready(message: Message, decision: Decision) -> Ran:
    return Ran(messages.write(message, decision.outcome), decision.status)


def _told(outcome: Outcome) -> str:
    match outcome:
        case Pause(delay=delay) if delay is not None:
            return f"to be tried again in {delay:.0f} s"
        case Fail():
            return "kept as failed"
        case _:
            return "tried for too long and given up"
