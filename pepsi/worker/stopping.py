"""How a worker learns that it is to end: by SIGTERM, and when its dispatcher dies."""

import os
import select
import signal
import sys
import time
from types import FrameType

_PR_SET_PDEATHSIG = 1


class Stopping:
    """Whether this process was asked to end. The message in hand is finished in any case.

    ``descriptor`` becomes readable with the request, so that a poll which began just before it still wakes.
    """

    def __init__(self) -> None:
        self.requested = False
        self.descriptor, self._wake = os.pipe()

    def listen(self) -> None:
        """Take the signals: SIGTERM is the request.

        SIGINT is nothing to a worker: typed at a terminal, it reaches the dispatcher too, which then ends its workers
        in an order of its own.
        """
        os.set_blocking(self._wake, False)
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGTERM, self._request)
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def wait(self, seconds: float) -> None:
        """Wait *seconds*, or until the request comes."""
        if self.requested:
            # The descriptor stays readable.
            time.sleep(seconds)
            return
        look = select.poll()
        look.register(self.descriptor, select.POLLIN)
        look.poll(seconds * 1000)

    def _request(self, number: int, frame: FrameType | None) -> None:
        self.requested = True


def die_with_parent(parent: int) -> bool:
    """Have the kernel send SIGTERM when *parent* dies, where it can. Returns whether *parent* is still there.

    *parent* is what ``os.getppid`` returned as early as could be: a parent that died since then sends no signal.
    """
    if sys.platform == "linux":
        # Imported here: no other kernel needs it.
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    return os.getppid() == parent
