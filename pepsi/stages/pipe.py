"""The stage ``pipe``: gives messages to a command."""

import os
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass

from pepsi.config.options import LONGEST, SHORTEST
from pepsi.config.values import render_size
from pepsi.model.envelope import split_message
from pepsi.model.row import DELIVERIES
from pepsi.relay.addresses import is_sendable, mailboxes
from pepsi.relay.answers import Answer, Verdict, refused
from pepsi.relay.letter import in_crlf_form
from pepsi.stages.api import (
    Advance,
    Changes,
    Message,
    Need,
    Options,
    Outcome,
    Stage,
    choice,
    duration,
    size,
)
from pepsi.stages.child import Clock, Ended, Keeper, environment, run
from pepsi.stages.command_line import CommandLine, command_line
from pepsi.stages.results import conclude, spread, time_for_message
from pepsi.stages.sysexits import USUAL_REFUSALS, answer_of, exit_statuses

AT_ONCE = 100
"""Recipients that a command is given at once: more could be more than the system lets an argument list hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PipeOptions(Options):
    """The keys of the stage ``pipe``."""

    command: CommandLine = command_line(  # noqa: RUF009
        required=True,
        doc="What to run. With {recipient} in it, it is run for each recipient anew; otherwise once for all of them.",
    )
    output: str = choice(
        "discard",
        choices=("discard", "replace"),
        doc="What becomes of the command's standard output: with replace it is the message from then on.",
    )
    line_ends: str = choice("crlf", choices=("crlf", "lf"), doc="How the lines end that the command reads.")
    timeout: float = duration(
        "2 min", low=SHORTEST, high=LONGEST, doc="How long the command may run before it is killed."
    )
    refusal_codes: tuple[int, ...] = exit_statuses(
        USUAL_REFUSALS,
        doc="Exit statuses of the command that refuse the message for good. All others but 0 mean another try.",
    )
    max_output: int = size("64 MiB", low=1, high=2**30, doc="How long the message may become where OUTPUT = replace.")

    def __post_init__(self) -> None:
        if self.output == "replace" and self.next_stage is None:
            raise ValueError("expected a NEXT_STAGE for the message that the command makes, where OUTPUT = replace")
        if self.output == "replace" and self.command.names_recipients:
            raise ValueError(
                "expected no recipient in COMMAND where OUTPUT = replace: all of them get the same message"
            )


class Pipe(Stage[PipeOptions]):
    """Runs COMMAND with the message on its standard input.

    Its exit status decides, as sysexits.h has it: 0 is success, REFUSAL_CODES refuse the message, all else means
    another try; so does a command that is killed by a signal, takes longer than TIMEOUT or cannot be started. Nothing
    that it started is left running. What it wrote is kept for the operator if it fails.
    """

    name = "pipe"
    needs = Need.BODY
    Options = PipeOptions
    acts_outside = True

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._keeper = Keeper()

    def open(self, options: PipeOptions) -> None:
        """See whether the command is there. Raises OSError if not."""
        program = options.command.program
        if shutil.which(program, path=environment(os.environ)["PATH"]) is None:
            raise FileNotFoundError(f"COMMAND = {options.command}: {program} is not there, or is no program")

    def process(self, message: Message, options: PipeOptions) -> Outcome:
        """Run the command, for each recipient if it is for one."""
        given = (message.header_block or b"") + (message.body or b"")
        if options.line_ends == "lf":
            given = given.replace(b"\r\n", b"\n")
        until = self._clock() + time_for_message(options)
        if options.output == "replace":
            return self._replace(message, options, given, until)
        recipients = mailboxes(message.recipients)
        answers = _unfit(options.command, message.mail_from, recipients)
        todo = [recipient for recipient in recipients if recipient not in answers]
        at_once = 1 if options.command.is_for_one else AT_ONCE
        for start in range(0, len(todo), at_once):
            those = todo[start : start + at_once]
            ended = self._run(options, options.command.words(message.mail_from, those), given, until)
            answers |= dict.fromkeys(those, _answer(options, ended))
        return conclude(message, options, spread(answers, message.recipients))

    def close(self) -> None:
        """End what keeps watch over commands."""
        self._keeper.close()

    def _replace(self, message: Message, options: PipeOptions, given: bytes, until: float) -> Outcome:
        answers = _unfit(options.command, message.mail_from, message.recipients)
        if not answers:
            ended = self._run(options, options.command.words(message.mail_from, ()), given, until)
            answer = _answer(options, ended)
            if answer.verdict is Verdict.DELIVERED and isinstance(ended, Ended):
                if ended.output:
                    return _replaced(options, ended.output)
                answer = Answer(
                    verdict=Verdict.RETRY, status="4.3.0", detail=f"{options.command.program} wrote nothing"
                )
            answers = dict.fromkeys(message.recipients, answer)
        return conclude(message, options, answers)

    def _run(self, options: PipeOptions, words: list[str], given: bytes, until: float) -> Ended | OSError:
        """Run *words*; return how it ended, or why it could not begin."""
        seconds = min(options.timeout, until - self._clock())
        if seconds <= 0:
            return TimeoutError("no time was left for it")
        try:
            return run(
                words,
                given,
                keeper=self._keeper,
                environ=environment(os.environ),
                seconds=seconds,
                room=options.max_output if options.output == "replace" else None,
                clock=self._clock,
            )
        except OSError as error:
            return error


def _unfit(command: CommandLine, sender: str, recipients: Sequence[str]) -> dict[str, Answer]:
    """Return the refusals of addresses that cannot be arguments: they hold what no address holds."""
    if command.names_sender and sender and not is_sendable(sender):
        return dict.fromkeys(recipients, refused("5.1.7", "the sender's address cannot be given to a command"))
    if not command.names_recipients:
        return {}
    bad = refused("5.1.3", "the address cannot be given to a command")
    return {recipient: bad for recipient in recipients if not is_sendable(recipient)}


def _answer(options: PipeOptions, ended: Ended | OSError) -> Answer:
    program = options.command.program
    if isinstance(ended, OSError):
        trouble = f"{program} cannot be started: {ended.strerror or ended}"
    elif ended.timed_out:
        trouble = f"{program} took too long: {ended.said}"
    elif ended.too_much:
        trouble = f"{program} wrote more than MAX_OUTPUT = {render_size(options.max_output)}"
    else:
        return answer_of(program, ended.status, ended.said, options.refusal_codes)
    return Answer(verdict=Verdict.RETRY, status="4.3.0", detail=trouble)


def _replaced(options: PipeOptions, output: bytes) -> Outcome:
    assert options.next_stage is not None  # __post_init__ saw to it
    header_block, body = split_message(in_crlf_form(output))
    changes = Changes(header_block=header_block, body=body, state={DELIVERIES: None})
    return Advance(stage=options.next_stage, changes=changes)
