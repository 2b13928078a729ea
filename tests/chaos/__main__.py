"""``python -m tests.chaos``, which is what ``make chaos`` runs."""

import argparse
import json
import random
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.chaos.run import Orders, chaos

EXAMPLES = """\
examples:
  make chaos                                     a minute of it, with a seed by chance
  make chaos ARGS="--seed 7 --seconds 3600"      an hour, with the faults of seed 7
  make chaos ARGS="--json --keep /tmp/kept"      a report for programs; keep logs and record for a look

exit status: 0 nothing was found; 1 something was; 2 usage"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run, print the report, and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.chaos",
        description="Puts mail through a system to which faults are done at random, and judges what became of it.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seed", type=int, help="which faults and messages chance deals (default: another each time)")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long there are faults (default: 60)")
    parser.add_argument("--rate", type=float, default=40.0, help="about how many messages a second (default: 40)")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--keep", type=Path, metavar="DIRECTORY", help="copy logs, record and faults there")
    given = parser.parse_args(argv)
    seed = given.seed if given.seed is not None else random.SystemRandom().randrange(10**6)
    begun = time.monotonic()

    def say(text: str) -> None:
        print(f"{time.monotonic() - begun:7.1f}  {text}", file=sys.stderr, flush=True)

    say(f"seed {seed}")
    # An end by a signal is to clear up as one by Ctrl-C does.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    report = chaos(Orders(seed, given.seconds, given.rate, given.keep), say)
    print(json.dumps(report.as_json(), indent=1) if given.json else report.as_text())
    return 0 if report.passed else 1


if __name__ == "__main__":
    sys.exit(main())
