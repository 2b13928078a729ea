"""What stands in the checkout, for tests of the tree itself."""

import configparser
import re
from collections.abc import Iterator
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent.parent
OURS = ("pepsi", "twisted", "tests", "benchmarks", "examples", "scripts", "sql")


def files(suffix: str, folders: tuple[str, ...] = OURS) -> Iterator[Path]:
    """Yield every file of ours that ends in *suffix*, once: what a link leads to is yielded where it stands."""
    for folder in folders:
        for path in sorted((CHECKOUT / folder).rglob(f"*{suffix}")):
            if path.resolve() == path and path.is_file():
                yield path


def setup_cfg() -> configparser.ConfigParser:
    """Return what setup.cfg declares."""
    parser = configparser.ConfigParser()
    parser.read(CHECKOUT / "setup.cfg", encoding="utf-8")
    return parser


def console_scripts() -> dict[str, str]:
    """Return the commands that an installation brings, each with the function behind it."""
    lines = setup_cfg().get("options.entry_points", "console_scripts").strip().splitlines()
    return {name.strip(): target.strip() for name, _, target in (line.partition("=") for line in lines)}


def requirements() -> set[str]:
    """Return the names of all packages that Pepsi, its extras and its tests need."""
    parser = setup_cfg()
    texts = [parser.get("options", "install_requires"), *(text for _, text in parser.items("options.extras_require"))]
    found = {match[0] for text in texts for line in text.split("\n") if (match := re.match(r"[A-Za-z0-9._-]+", line))}
    return {name for name in found if name != "pepsi"}
