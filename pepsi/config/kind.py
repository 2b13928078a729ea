"""The kinds of values that a key can have: how each is called, written, read and shown."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from pepsi.config import values

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind(Generic[T]):
    """One kind. *syntax* is a sentence for the manual. *measured* kinds can have bounds.

    *parse* raises ValueError, whose text begins with "expected".
    """

    name: str
    syntax: str
    parse: Callable[[str], T]
    render: Callable[[T], str] = values.render_text
    measured: bool = False


AnyKind = Kind[Any]

TEXT = Kind(name="text", syntax="Any text that is not empty.", parse=values.parse_text)
INTEGER = Kind(name="integer", syntax="A whole number.", parse=values.parse_integer, measured=True)
NUMBER = Kind(
    name="number",
    syntax="A number, with a decimal point if need be.",
    parse=values.parse_number,
    render=values.render_number,
    measured=True,
)
DURATION = Kind(
    name="duration",
    syntax="A number and a unit: ms, s, min, h or d, as in 250 ms or 2 min. Without a unit it is in seconds.",
    parse=values.parse_duration,
    render=values.render_duration,
    measured=True,
)
SIZE = Kind(
    name="size",
    syntax="A whole number and a unit: B, kB, MB, GB, KiB, MiB or GiB, as in 64 MiB. Without a unit it is in bytes.",
    parse=values.parse_size,
    render=values.render_size,
    measured=True,
)
BOOLEAN = Kind(name="boolean", syntax="yes or no.", parse=values.parse_boolean, render=values.render_boolean)
WORDS: Kind[tuple[str, ...]] = Kind(
    name="words",
    syntax="Words with white space between them; none at all is allowed.",
    parse=values.parse_words,
    render=values.render_words,
)
PATH: Kind[Path] = Kind(
    name="path",
    syntax="The name of a file or directory. A relative one starts from the directory of the configuration file.",
    parse=values.parse_path,
)
SECRET = Kind(
    name="secret",
    syntax="Where a secret is kept, never the secret itself. With a slash in it: the name of a file, which others must "
    "not be able to read; a relative one starts from the directory of the configuration file. Without a slash: the "
    "name of a systemd credential, a file in $CREDENTIALS_DIRECTORY.",
    parse=values.parse_text,
)
STAGE = Kind(
    name="stage",
    syntax="The name of a stage: what follows stage- in the heading of its section.",
    parse=values.parse_stage,
)
HOST = Kind(name="host", syntax="A host name, as in mail.example.org.", parse=values.parse_host)
ADDRESS = Kind(name="address", syntax="A mail address without angle brackets.", parse=values.parse_address)
ENDPOINT = Kind(
    name="endpoint",
    syntax="A Twisted endpoint string, as in tcp:9100:interface=127.0.0.1; a colon inside an argument is written \\:.",
    parse=values.parse_endpoint,
)
ENDPOINTS: Kind[tuple[str, ...]] = Kind(
    name="endpoints",
    syntax="Twisted endpoint strings with white space between them, as in tcp:25 tcp6:25:interface=\\:\\:.",
    parse=values.parse_endpoints,
    render=values.render_words,
)
COMMAND = Kind(
    name="command",
    syntax="A program and its arguments, split into words as a shell splits them; no shell runs.",
    parse=values.parse_command,
)
DSN = Kind(
    name="DSN",
    syntax="A libpq connection string, as in host=/run/postgresql dbname=pepsi, or a URL, as in "
    "postgresql://host/pepsi, or the word embedded.",
    parse=values.parse_dsn,
)


SHARED: tuple[AnyKind, ...] = (
    TEXT,
    INTEGER,
    NUMBER,
    DURATION,
    SIZE,
    BOOLEAN,
    WORDS,
    PATH,
    SECRET,
    STAGE,
    HOST,
    ADDRESS,
    ENDPOINT,
    ENDPOINTS,
    COMMAND,
    DSN,
)
"""The kinds that any section can use."""


def choice_kind(choices: tuple[T, ...]) -> Kind[T]:
    """Return the kind whose values are *choices*, each written as its ``str``."""
    by_text = {str(choice): choice for choice in choices}
    words = ", ".join(by_text)

    def parse(text: str) -> T:
        if text not in by_text:
            raise ValueError(f"expected one of {words}")
        return by_text[text]

    return Kind(name="choice", syntax=f"One of {words}.", parse=parse)
