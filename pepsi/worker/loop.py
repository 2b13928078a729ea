"""The worker's one loop: ids in, messages loaded, run and written, answers out. Strictly in order."""

from collections.abc import Sequence

from pepsi.db import messages
from pepsi.model import claim
from pepsi.model.message import Message
from pepsi.model.status import OK, Status
from pepsi.wire import status
from pepsi.worker.channel import Channel, End
from pepsi.worker.commit import commit
from pepsi.worker.failures import code_of
from pepsi.worker.fusion import Line
from pepsi.worker.link import Link, TroubleError
from pepsi.worker.note import note
from pepsi.worker.owed import Patience
from pepsi.worker.run import Ran, Runner
from pepsi.worker.split import ready
from pepsi.worker.stopping import Stopping


class Worker:
    """A stage at work for the dispatcher of *epoch*, on the messages of the section *stage*."""

    def __init__(self, stage: str, epoch: int, link: Link, runner: Runner | Line, patience: Patience) -> None:
        self._stage = stage
        self._epoch = epoch
        self._link = link
        self._runner = runner
        self._patience = patience

    def handle(self, ids: Sequence[int]) -> list[Status]:
        """Load, run and write *ids*, and return what to answer, in their order.

        What a stage does is done on a connection that has just loaded the message: while there is none, no stage that
        acts on the world outside is begun.
        """
        self._patience.begin()
        wanted = self._runner.wanted
        try:
            found = messages.loaded(self._link.run(messages.load(ids, wanted)), wanted)
        except TroubleError as error:
            note(f"warning: message {', '.join(map(str, ids))} cannot be loaded: {error}")
            return [Status(code=code_of(error.fault), reason=str(error))] * len(ids)
        # Not in the order of the rows; and no message runs twice at once, even if its id was handed over twice.
        ours = [found[number] for number in dict.fromkeys(ids) if number in found and self._is_ours(found[number])]
        ran: list[Ran] = []
        answers: dict[int, Status] = {}
        for message in ours:
            match ready(self._link, self._runner, message):
                case Message() as part:
                    ran.append(self._runner.run(part))
                case Ran() as decided:
                    ran.append(decided)
                case Status() as answer:
                    answers[message.workqueue_id] = answer
        answers |= commit(self._link, self._runner, ran, self._patience)
        return [answers.get(number) or self._dropped(number, found.get(number)) for number in ids]

    def _is_ours(self, message: Message) -> bool:
        return message.stage == self._stage and claim.epoch_of(message.claim) == self._epoch

    def _dropped(self, number: int, message: Message | None) -> Status:
        if message is None:
            why = "it is not running"
        elif message.stage != self._stage:
            why = f"it runs at the stage {message.stage}"
        else:
            why = f"it was claimed in epoch {claim.epoch_of(message.claim)}, and this worker is of {self._epoch}"
        note(f"warning: message {number} is left alone: {why}")
        return Status(code=OK)


def serve(channel: Channel, worker: Worker, link: Link, stopping: Stopping, batch: int) -> End | None:
    """Work until there is nothing more to be done, and return why; None if it was asked to stop.

    Up to *batch* ids are taken at once, as many as have come: a lone one is not kept waiting for others.

    Raises BrokenPipeError if nobody is there to answer to, WireError for what is no id, and whatever means that this
    process cannot go on.
    """
    channel.say(status.READY if batch == 1 else status.READY_BATCH)
    while not stopping.requested:
        ids = channel.next(batch)
        if isinstance(ids, End):
            return ids
        if not ids:
            _idle(channel, link, stopping)
            continue
        channel.say(b"\n".join(status.render(answer) for answer in worker.handle(ids)))
    return None


def _idle(channel: Channel, link: Link, stopping: Stopping) -> None:
    connection = link.descriptor
    others = [stopping.descriptor] if connection is None else [stopping.descriptor, connection]
    due = link.due
    heard = channel.wait(others, due)
    if connection in heard or (due is not None and not heard):
        link.tend()
