"""Writes what became of messages: one round trip for all outcomes that can share a statement."""

from collections.abc import Mapping, Sequence

from pepsi.db.messages import statements
from pepsi.errors import StageError
from pepsi.model.status import IO_ERROR, OK, Status
from pepsi.worker.failures import code_of
from pepsi.worker.fusion import Line
from pepsi.worker.link import DownError, Link, RefusedError
from pepsi.worker.note import note
from pepsi.worker.owed import Patience, Written, written
from pepsi.worker.run import Ran, Runner


def commit(link: Link, runner: Runner | Line, ran: Sequence[Ran], patience: Patience) -> Mapping[int, Status]:
    """Write *ran*, and return what to answer for each message, by its id.

    An outcome that the database refuses costs only its own message: those that would have shared its statement are
    written without it, and it is dealt with as an error of its stage. One that the database cannot take just now is
    written again for as long as *patience* lasts.
    """
    return _written(link, runner, ran, patience, last=False)


def _written(
    link: Link, runner: Runner | Line, ran: Sequence[Ran], patience: Patience, *, last: bool
) -> dict[int, Status]:
    by_id = {one.write.message.workqueue_id: one for one in ran}
    answers: dict[int, Status] = {}
    for statement, messages in statements([one.write for one in ran]):
        group = [by_id[message.workqueue_id] for message in messages]
        try:
            done = written(link, statement, patience)
        except DownError as error:
            down = Status(code=code_of(error.fault), reason=str(error))
            answers |= {message.workqueue_id: down for message in messages}
        except RefusedError as error:
            if last:
                answers |= {message.workqueue_id: Status(code=IO_ERROR, reason=str(error)) for message in messages}
            else:
                answers |= _without_the_refused(link, runner, group, patience, error)
        else:
            answers |= {message.workqueue_id: _answer(by_id[message.workqueue_id], done) for message in messages}
    return answers


def _without_the_refused(
    link: Link, runner: Runner | Line, group: Sequence[Ran], patience: Patience, error: RefusedError
) -> dict[int, Status]:
    if len(group) == 1 and (first := group[0].first) is not None:
        # Which of several stages decided what is refused is found out as it would be if each had a pass of its own.
        return _written(link, runner, [first()], patience, last=False)
    if len(group) == 1:
        refused = StageError(f"the database refused what the stage decided: {error}")
        return _written(link, runner, [runner.unfit(group[0].write.message, refused)], patience, last=True)
    answers: dict[int, Status] = {}
    for one in group:
        answers |= _written(link, runner, [one], patience, last=False)
    return answers


def _answer(one: Ran, done: Written) -> Status:
    number = one.write.message.workqueue_id
    if number in done.hit or done.unsure:
        return one.status
    note(f"warning: message {number} is no longer this worker's: its outcome is dropped")
    return Status(code=OK)
