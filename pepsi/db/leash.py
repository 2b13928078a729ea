"""A program of its own: becomes another account, asks for a signal when its parent dies, and turns into a command.

``python -I -S leash.py UID GID PARENT SIGNAL COMMAND ...``. It is run by path and imports nothing of Pepsi. The same
done in a fork of the caller could deadlock on a lock that another thread held.
"""

import ctypes
import os
import sys

PR_SET_PDEATHSIG = 1


def main(argv: list[str]) -> None:
    """Become *argv*. Does not return."""
    uid, gid, parent, signal = map(int, argv[1:5])
    # Loaded before the privileges go: the account may not be able to read Python's own files.
    libc = ctypes.CDLL(None, use_errno=True)
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)
    # After the change of account, which would clear it.
    if sys.platform == "linux" and libc.prctl(PR_SET_PDEATHSIG, signal, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "no signal can be had for the parent's death")
    if os.getppid() == parent:
        os.execv(argv[5], argv[5:])


if __name__ == "__main__":
    main(sys.argv)
