"""Running a command that may do anything: it gets its input, its time and its room, and leaves nothing running."""

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pepsi.model.text import decoded, one_line

GRACE = 2.0
"""Seconds between asking a command to end and ending it."""
TAIL = 1024
"""Bytes kept of what a command wrote last, where that is only for the operator."""

_BLOCK = 64 * 1024
_FULL_PIPE = 1024 * 1024
"""Bytes that a pipe holds at most, unless root has made it larger."""
_SHORTEST_TICK, _LONGEST_TICK = 0.001, 0.05
"""Seconds between two looks at whether a command has ended: there is no portable way to be told with its output."""
_HANDED_DOWN = ("PATH", "HOME", "LANG", "TZ")

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a command ended: *status* is negative for a signal. *said* is what it wrote last, in one line."""

    status: int
    timed_out: bool
    too_much: bool
    output: bytes
    said: str


def environment(ours: Mapping[str, str]) -> dict[str, str]:
    """Return what of our own environment a command sees: nothing that tells it of the database or of secrets."""
    return {"PATH": os.defpath, "LANG": "C.UTF-8"} | {name: ours[name] for name in _HANDED_DOWN if name in ours}


class Keeper:
    """Ends a command for us if we die before it does.

    A command has a process group of its own, so that all of it can be killed and nothing else is. But whoever kills our
    group does not reach it then. So a shell, in a group of its own too, waits for the end of a pipe that only we hold,
    and kills the group that it was told of last.
    """

    _SCRIPT = 'while read -r line; do group=$line; done; [ -z "$group" ] || kill -s KILL -- "-$group"'

    def __init__(self) -> None:
        self._shell: subprocess.Popen[bytes] | None = None

    def watch(self, group: int) -> None:
        """See to it that *group* does not outlive us."""
        try:
            self._tell(b"%d\n" % group)
        except BrokenPipeError:  # somebody killed the shell
            self.close()
            self._tell(b"%d\n" % group)

    def forget(self) -> None:
        """Let the group be: it has ended, and its number can be another's soon."""
        if self._shell is not None:
            with contextlib.suppress(BrokenPipeError):
                self._tell(b"\n")

    def close(self) -> None:
        """End the shell."""
        shell, self._shell = self._shell, None
        if shell is not None:
            shell.communicate()

    def _tell(self, line: bytes) -> None:
        if self._shell is None:
            self._shell = subprocess.Popen(
                ["/bin/sh", "-c", self._SCRIPT],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                cwd="/",
                env={},
                start_new_session=True,
            )
        stdin = self._shell.stdin
        assert stdin is not None  # it was asked for
        stdin.write(line)


def run(
    words: Sequence[str],
    given: bytes,
    *,
    keeper: Keeper,
    environ: Mapping[str, str],
    seconds: float,
    room: int | None,
    clock: Clock = time.monotonic,
) -> Ended:
    """Run *words* with *given* on standard input, and return how it ended. Raises OSError if it does not start.

    After *seconds* it is asked to end, and a little later killed. Whatever it started and left running is killed when
    it ends. Up to *room* bytes of its standard output are kept, and a command that writes more is ended; with None the
    output is as good as that on standard error.
    """
    deadline = clock() + seconds
    command = subprocess.Popen(
        [word.encode() for word in words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        cwd="/",
        env=environ,
        start_new_session=True,
    )
    with _Exchange(command, given, room) as exchange:
        try:
            keeper.watch(command.pid)
            timed_out = _carry_on(command, exchange, deadline, clock)
        finally:
            # Until it has been waited for, its number cannot be the group of anybody else.
            _signal(command, signal.SIGKILL)
            keeper.forget()
            command.wait()
        exchange.hear_the_rest()
        return Ended(
            status=command.returncode,
            timed_out=timed_out,
            too_much=exchange.too_much,
            output=bytes(exchange.output),
            said=exchange.said,
        )


def _carry_on(command: "subprocess.Popen[bytes]", exchange: "_Exchange", deadline: float, clock: Clock) -> bool:
    """Wait for the end of *command*; return whether it had to be asked to end."""
    asked, tick = False, _SHORTEST_TICK
    # The end of its output is not the end of a command, nor is the end of a command that of its output.
    while not exchange.too_much and not _has_ended(command):
        left = deadline - clock()
        if left > 0:
            moved = exchange.turn(min(tick, left))
            tick = _SHORTEST_TICK if moved else min(2 * tick, _LONGEST_TICK)
        elif asked:
            break
        else:
            _signal(command, signal.SIGTERM)
            deadline, asked = clock() + GRACE, True
    return asked


def _has_ended(command: "subprocess.Popen[bytes]") -> bool:
    # Not poll(): that waits for it, and then its group's number would be free.
    return os.waitid(os.P_PID, command.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _signal(command: "subprocess.Popen[bytes]", number: signal.Signals) -> None:
    # A program with other privileges than ours cannot be killed by us; nor need it be, if nobody is left in the group.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(command.pid, number)


class _Exchange:
    """The three pipes of a command, none of which may keep us waiting for the others."""

    def __init__(self, command: "subprocess.Popen[bytes]", given: bytes, room: int | None) -> None:
        self.output = bytearray()
        self.too_much = False
        self._room = room
        self._left = memoryview(given)
        self._tails = {"stdout": b"", "stderr": b""}
        self._selector = selectors.DefaultSelector()
        assert command.stdin and command.stdout and command.stderr  # each was asked for
        self._streams = {"stdin": command.stdin, "stdout": command.stdout, "stderr": command.stderr}
        for name, stream in self._streams.items():
            os.set_blocking(stream.fileno(), False)
            events = selectors.EVENT_WRITE if name == "stdin" else selectors.EVENT_READ
            self._selector.register(stream, events, name)

    def __enter__(self) -> "_Exchange":
        return self

    def __exit__(self, *_: object) -> None:
        for key in list(self._selector.get_map().values()):
            self._end(key)
        self._selector.close()

    @property
    def said(self) -> str:
        """What the command wrote last, apart from what is kept as its output."""
        return one_line(decoded(self._tails["stderr"] or self._tails["stdout"]))

    def turn(self, seconds: float) -> bool:
        """Move what can be moved, waiting for at most *seconds*; return whether there was anything."""
        ready = self._selector.select(seconds)
        for key, _ in ready:
            if key.data == "stdin":
                self._feed(key)
            else:
                self._hear(key)
        return bool(ready)

    def hear_the_rest(self) -> None:
        """Read what the command left in the pipes. Somebody may still hold their other ends: there may be no end."""
        for _ in range(_FULL_PIPE // _BLOCK):
            if not self.turn(0):
                break

    def _feed(self, key: selectors.SelectorKey) -> None:
        try:
            self._left = self._left[os.write(key.fd, self._left[:_BLOCK]) :]
        except BrokenPipeError:  # it has read enough
            self._left = self._left[:0]
        if not self._left:
            self._end(key)

    def _hear(self, key: selectors.SelectorKey) -> None:
        data = os.read(key.fd, _BLOCK)
        if not data:
            self._end(key)
        elif key.data == "stderr" or self._room is None:
            self._tails[key.data] = (self._tails[key.data] + data)[-TAIL:]
        elif len(self.output) + len(data) > self._room:
            self.too_much = True
        else:
            self.output += data

    def _end(self, key: selectors.SelectorKey) -> None:
        self._selector.unregister(key.fileobj)
        self._streams[key.data].close()
