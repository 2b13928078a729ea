"""What the impatient see meanwhile: lines on standard error."""

import sys


def tell(text: str) -> None:
    """Write one line."""
    print(text, file=sys.stderr, flush=True)
