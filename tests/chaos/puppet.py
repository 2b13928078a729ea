"""The foreign worker: ``python -m tests.chaos.puppet DIRECTORY [-c FILE] worker``. It finishes what it is given."""

import contextlib
import os
import signal
import sys
import time
from pathlib import Path

import psycopg2
from psycopg2.extensions import connection as Connection

from tests.chaos import plan
from tests.chaos.outage import is_outage
from tests.chaos.plan import Deed, Plan
from tests.chaos.record import Outcome, Recorder

DSN = "CHAOS_DSN"
"""The variable that has the libpq string."""


class Puppet:
    """Does what the Subject of each message says."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._recorder = Recorder(directory, os.environ["PEPSI_STAGE"], int(os.environ["PEPSI_EPOCH"]))
        self._connection: Connection | None = None

    def open(self) -> Connection:
        """Connect if there is no connection. Raises psycopg2.Error."""
        if self._connection is None:
            connection = psycopg2.connect(os.environ[DSN], connect_timeout=3)
            connection.autocommit = True
            self._connection = connection
        return self._connection

    def handle(self, number: int) -> str:
        """Return the answer for the message *number*."""
        begun = False
        try:
            cursor = self.open().cursor()
            cursor.execute(
                "SELECT claim, subject, state FROM pepsi.workqueue_load(%s, %s)", (number, os.environ["PEPSI_EPOCH"])
            )
            row = cursor.fetchone()
            if row is None:
                return "0"
            claim, subject, state = row
            planned = plan.read(subject)
            self._recorder.begin(number, planned.key)
            begun = True
            answer = self._put_off(planned, number, claim, again=bool(state.get("chaos_again")))
            if answer is not None:
                return answer
            time.sleep(planned.seconds)
            self._recorder.act(number)
            cursor.execute("SELECT pepsi.workqueue_finish(%s, %s)", (number, claim))
            hit = cursor.fetchone() == (True,)
        except psycopg2.Error as error:
            if not is_outage(error):
                raise
            if begun:
                self._recorder.end(number, Outcome.LOST)
            self._let_go()
            return f"74 {' '.join(str(error).split())[:200]}"
        self._recorder.end(number, Outcome.DONE if hit else Outcome.GONE)
        return "0"

    def _put_off(self, planned: Plan, number: int, claim: int, *, again: bool) -> str | None:
        """Do what the message does here instead of passing, and return the answer; None if it passes."""
        match planned.deed_at(plan.SEND):
            case Deed.REFUSE:
                self._recorder.end(number, Outcome.FAILED)
                return "65 refused by design"
            case Deed.CRASH:
                self._recorder.end(number, Outcome.CRASHES)
                os.kill(os.getpid(), signal.SIGKILL)
            case Deed.PARK if not again:
                cursor = self.open().cursor()
                cursor.execute(
                    "SELECT pepsi.workqueue_pause(%s, %s, NULL, 'parked by design', '{\"chaos_again\": true}')",
                    (number, claim),
                )
                self._recorder.end(number, Outcome.WAITS)
                return "0"
            case Deed.IO if self._first(number):
                self._recorder.end(number, Outcome.WAITS)
                return "74 by design"
            case Deed.BUSY if self._first(number):
                self._recorder.end(number, Outcome.WAITS)
                return "75 by design"
        return None

    def _first(self, number: int) -> bool:
        """Whether this is the first time that *number* is here; nothing on the row could tell."""
        try:
            (self._directory / f"seen-{number}").touch(exist_ok=False)
        except FileExistsError:
            return False
        return True

    def _let_go(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(psycopg2.Error):
                self._connection.close()
            self._connection = None


def main() -> int:
    """Work until the input ends."""
    puppet = Puppet(Path(sys.argv[1]))
    try:
        puppet.open()
    except psycopg2.Error as error:
        print(f"no database: {' '.join(str(error).split())}", file=sys.stderr)
        return 1
    with contextlib.suppress(BrokenPipeError):
        os.write(1, b"ready\n")
        for line in iter(sys.stdin.buffer.readline, b""):
            os.write(1, puppet.handle(int(line)).encode() + b"\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
