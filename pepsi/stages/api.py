"""All that a stage imports: messages, outcomes, options, errors.

    @dataclass(frozen=True, slots=True, kw_only=True)
    class TagOptions(OnwardOptions):
        tag: str = text("seen", doc="What to write into the state.")

    class Tag(Stage[TagOptions]):
        \"\"\"Marks every message that passes.\"\"\"

        name = "tag"
        Options = TagOptions

        def process(self, message: Message, options: TagOptions) -> Outcome:
            return Advance(stage=options.next_stage, changes=Changes(state={"tag": options.tag}))

A stage decides, the worker commits: nothing that a stage does to the message lasts but what its outcome says.
"""

import abc
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

from pepsi.config.kind import Kind
from pepsi.config.option import (
    Option,
    boolean,
    choice,
    command,
    duration,
    host,
    integer,
    number,
    path,
    secret,
    size,
    stage,
    text,
    words,
)
from pepsi.config.options import StageOptions as Options
from pepsi.errors import ConfigError, SecretError, StageError
from pepsi.model.message import Message, Need, State
from pepsi.model.outcome import UNCHANGED, Advance, Changes, Clone, Fail, Finish, Outcome, Pause, Requeue
from pepsi.model.row import FailureClass, RowStatus
from pepsi.stages.giving_up import expired, give_up

__all__ = [
    "Advance",
    "Changes",
    "Clone",
    "ConfigError",
    "Fail",
    "FailureClass",
    "Finish",
    "Kind",
    "Message",
    "Need",
    "OnwardOptions",
    "Option",
    "Options",
    "Outcome",
    "Pause",
    "Refuse",
    "Requeue",
    "RowStatus",
    "SecretError",
    "Stage",
    "State",
    "TryLater",
    "boolean",
    "choice",
    "command",
    "duration",
    "expired",
    "give_up",
    "host",
    "integer",
    "number",
    "path",
    "secret",
    "size",
    "stage",
    "text",
    "words",
]

O = TypeVar("O", bound=Options)  # noqa: E741


class Refuse(StageError):
    """The fault is the message's and will not go away: it holds what the stage cannot read or does not allow.

    The message is kept as failed, for a person to look at. *reason* is for that person and never reaches the sender.
    """


class TryLater(StageError):
    """The fault is the host's, or nobody's: what the stage needs does not answer just now.

    The message is tried again after *after* seconds; without it after a minute, and then ever more rarely up to once an
    hour. Past MAX_LIFETIME it goes to BOUNCE_STAGE.

    *changes* and *clones* are committed in either case, as those of a Pause are: what was done for some recipients is
    not undone because others must wait. *changes* then has the recipients that wait; the reason is added to its state.
    """

    def __init__(
        self,
        reason: str,
        after: float | None = None,
        *,
        changes: Changes = UNCHANGED,
        clones: tuple[Clone, ...] = (),
    ) -> None:
        super().__init__(reason)
        self.after = after
        self.changes = changes
        self.clones = clones


@dataclass(frozen=True, slots=True, kw_only=True)
class OnwardOptions(Options):
    """The options of a stage that cannot do without NEXT_STAGE."""

    next_stage: str = stage(required=True, doc="Where a message goes that this stage is done with.")


class Stage(abc.ABC, Generic[O]):
    """What a stage is. The class's docstring is what ``-h`` says of it.

    A worker makes one object and calls ``open`` once, ``process`` for one message after the other and ``close`` at the
    end, all from one thread. Each may block; MAX_RUNTIME is all the time that ``process`` has.
    """

    name: ClassVar[str]
    """How the stage is found: ``pepsi-stage NAME``."""
    needs: ClassVar[Need] = Need.METADATA
    """How much of a message is loaded. What is not loaded is not there, so ask for what ``process`` looks at."""
    Options: ClassVar[type[Options]] = Options
    """The keys of the stage's section. A ValueError of its ``__post_init__`` is a rule over several keys."""
    acts_outside: ClassVar[bool] = False
    """Whether ``process`` does what cannot be undone, such as sending. Its outcome then waits for the disk."""
    fusable: ClassVar[bool] = False
    """Whether the worker of the stage before it may run it in the same pass, where FUSION of its section does not say.
    For stages that are quick and look at no content. One that acts outside has a pass of its own whatever is set."""
    needs_fused: ClassVar[Need | None] = None
    """How much of a message it needs when ``fuses`` allowed it, where that is less than ``needs``."""

    def open(self, options: O) -> None:
        """Load what every message needs: keys, templates, maps.

        A ConfigError means that the section cannot be used, an OSError that the machine is not ready for it yet. Either
        ends the worker before it has taken a message.
        """

    @abc.abstractmethod
    def process(self, message: Message, options: O) -> Outcome:
        """Decide about *message*.

        May be called again for a message that it has decided about, when the outcome was lost with the database. Raises
        Refuse or TryLater; whatever else it raises is taken for the host's fault, as TryLater, with a traceback in the
        log.
        """

    def fuses(self, message: Message, options: O) -> bool:
        """Whether *message* may be worked on in the pass of the stage before; else it comes back in one of its own.

        Asked only where the configuration allows it. *message* has what ``needs_fused`` says.
        """
        return True

    def close(self) -> None:
        """Give back what ``open`` took. Not called when the process is killed."""
