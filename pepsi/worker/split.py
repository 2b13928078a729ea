"""Shares a message out among its recipients where they have set different things for the stage that is about to run."""

from dataclasses import replace

from pepsi.db import messages
from pepsi.errors import StageError
from pepsi.model.message import Message
from pepsi.model.status import OK, Status
from pepsi.stages.api import Refuse
from pepsi.worker.failures import code_of
from pepsi.worker.fusion import Line
from pepsi.worker.link import DownError, Link, RefusedError
from pepsi.worker.note import note
from pepsi.worker.run import Ran, Runner


def ready(link: Link, runner: Runner | Line, message: Message) -> Message | Ran | Status:
    """Return *message* with those of its recipients that it can be run for at once; every other group becomes a row.

    If that cannot be, what is to be written of it, or just what to answer. Nobody is told of the new rows: the
    dispatcher looks again after the answer. When the connection is lost nobody knows whether the message was split, and
    it does not matter: it is loaded again before anything is done with it.
    """
    try:
        found = runner.layers.resolve(message)
        if not isinstance(found, tuple):
            return message
        done = link.run(messages.split(message, found))
    except Refuse as error:
        return runner.failed(message, error)
    except RefusedError as error:
        return runner.failed(message, StageError(f"the database refused to split the message: {error}"))
    except DownError as error:
        note(f"warning: message {message.workqueue_id} cannot be split: {error}")
        return Status(code=code_of(error.fault), reason=str(error))
    if not done:
        note(f"warning: message {message.workqueue_id} is no longer this worker's: nothing is done with it")
        return Status(code=OK)
    return replace(message, recipients=found[0].recipients)
