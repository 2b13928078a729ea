"""Writes what became of messages: one round trip for all outcomes that can share a statement."""

from collections.abc import Mapping, Sequence

from pepsi.db.messages import statements
from pepsi.errors import StageError
from pepsi.model.status import IO_ERROR, OK, Status
from pepsi.worker.failures import code_of
from pepsi.worker.link import DownError, Link, RefusedError
from pepsi.worker.note import note
from pepsi.worker.run import Ran, Runner


def commit(link: Link, runner: Runner, ran: Sequence[Ran]) -> Mapping[int, Status]:
    """Write *ran*, and return what to answer for each message, by its id.

    An outcome that the database refuses costs only its own message: those that would have shared its statement are
    written without it, and it is dealt with as an error of its stage.
    """
    return _written(link, runner, ran, last=False)


def _written(link: Link, runner: Runner, ran: Sequence[Ran], *, last: bool) -> dict[int, Status]:
    by_id = {one.write.message.workqueue_id: one for one in ran}
    answers: dict[int, Status] = {}
    for statement, messages in statements([one.write for one in ran]):
        group = [by_id[message.workqueue_id] for message in messages]
        try:
            hit = {row[0] for row in link.run(statement)}
        except DownError as error:
            down = Status(code=code_of(error.fault), reason=str(error))
            answers |= {message.workqueue_id: down for message in messages}
        except RefusedError as error:
            if last:
                answers |= {message.workqueue_id: Status(code=IO_ERROR, reason=str(error)) for message in messages}
            else:
                answers |= _without_the_refused(link, runner, group, error)
        else:
            answers |= {message.workqueue_id: _answer(by_id[message.workqueue_id], hit) for message in messages}
    return answers


def _without_the_refused(link: Link, runner: Runner, group: Sequence[Ran], error: RefusedError) -> dict[int, Status]:
    if len(group) == 1:
        refused = StageError(f"the database refused what the stage decided: {error}")
        return _written(link, runner, [runner.failed(group[0].write.message, refused)], last=True)
    answers: dict[int, Status] = {}
    for one in group:
        answers |= _written(link, runner, [one], last=False)
    return answers


def _answer(one: Ran, hit: set[int]) -> Status:
    number = one.write.message.workqueue_id
    if number in hit:
        return one.status
    note(f"warning: message {number} is no longer this worker's: its outcome is dropped")
    return Status(code=OK)
