"""Real mail for tests: what is on this machine, and what the person who runs the tests has."""

import os
from pathlib import Path

from pepsi.demo import corpus
from pepsi.demo.corpus import Mail
from tests.peers import find_samples

VARIABLE = "PEPSI_MAIL_CORPUS"
"""Names a folder of .eml files, or an mbox file."""


def real_mail() -> tuple[Mail, ...]:
    """Return every message that can be found, in CRLF form. There may be none."""
    samples = find_samples()
    return (
        *corpus.of_python(),
        *(corpus.in_folder(samples, "sample-*.txt") if samples else ()),
        *_given(),
    )


def _given() -> tuple[Mail, ...]:
    if not os.environ.get(VARIABLE):
        return ()
    place = Path(os.environ[VARIABLE])
    return corpus.in_folder(place) if place.is_dir() else corpus.in_mbox(place)
