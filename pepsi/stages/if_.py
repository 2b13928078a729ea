"""The stage ``if``: sends a message one way or the other."""

from dataclasses import dataclass

from pepsi.stages.api import Advance, Message, Options, Outcome, Stage, stage
from pepsi.stages.conditions import Condition, condition


@dataclass(frozen=True, slots=True, kw_only=True)
class IfOptions(Options):
    """The keys of the stage ``if``."""

    condition: Condition = condition(  # noqa: RUF009
        required=True, doc="What decides which way a message goes.", per_address=True
    )
    then_stage: str | None = stage(
        None, unset="it goes to NEXT_STAGE", doc="Where a message goes for which the condition holds."
    )
    else_stage: str | None = stage(None, unset="they go to NEXT_STAGE", doc="Where all others go.")

    def __post_init__(self) -> None:
        if self.next_stage is None and None in (self.then_stage, self.else_stage):
            raise ValueError("expected THEN_STAGE and ELSE_STAGE, or NEXT_STAGE in place of one of them")

    def way(self, holds: bool) -> str:
        """Return the stage for a message of which the condition holds, or does not."""
        chosen = (self.then_stage if holds else self.else_stage) or self.next_stage
        assert chosen is not None  # __post_init__ saw to it
        return chosen


class If(Stage[IfOptions]):
    """Sends a message to THEN_STAGE if CONDITION holds for it, else to ELSE_STAGE."""

    name = "if"
    fusable = True
    Options = IfOptions

    def process(self, message: Message, options: IfOptions) -> Outcome:
        """Advance, and change nothing."""
        return Advance(stage=options.way(options.condition.holds(message)))
