"""The programs of others that tests talk to."""

from pathlib import Path

import pytest

from tests.peers import MISSING, find_program


def peer(name: str) -> Path:
    """Return the path of the program *name*, or skip the test with the reason why it is not here.

    As root smtp-sink must be given ``-u nobody``, or it refuses to start.
    """
    if found := find_program(name):
        return found
    reasons = MISSING.read_text().splitlines() if MISSING.exists() else []
    why = next((line for line in reasons if line.startswith(f"{name}:")), f"{name}: not fetched yet, run 'make peers'")
    pytest.skip(why)
