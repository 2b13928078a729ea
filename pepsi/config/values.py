"""The values of ``pepsi.conf``: text to value, and back.

Every ``parse_`` function takes text without white space around it and raises ValueError, whose text begins with
"expected" and says how the value is written. ``parse_x(render_x(value)) == value`` for every value in range.
"""

import re
import shlex
from pathlib import Path

NAME_LIMIT = 50
"""Characters of a stage's name: ``pepsi-stage-`` and the name must fit into the 63 bytes of an application_name."""

_DURATION = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,20})?)\s*(ms|s|min|h|d|)")
_SECONDS = {"d": 86_400, "h": 3600, "min": 60, "s": 1, "": 1}
_SIZE = re.compile(r"([0-9]{1,18})\s*(B|kB|MB|GB|KiB|MiB|GiB|)")
_BYTES = {"GiB": 2**30, "MiB": 2**20, "KiB": 2**10, "GB": 10**9, "MB": 10**6, "kB": 1000, "B": 1, "": 1}
_INTEGER = re.compile(r"-?[0-9]{1,18}")
_NUMBER = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{1,20})?")
_NAME = re.compile(rf"[a-z0-9][a-z0-9._-]{{0,{NAME_LIMIT - 1}}}")
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_HOST = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_ADDRESS = re.compile(rf"[^\s@<>\x00-\x1f\x7f]{{1,64}}@{_LABEL}(?:\.{_LABEL})*")
_ENDPOINT = re.compile(r"[a-z][a-z0-9]*:\S+")
_DSN = re.compile(r"embedded|postgres(?:ql)?://\S*|[a-z_]+\s*=.*", re.DOTALL)


def parse_text(text: str) -> str:
    """Return *text* itself. Empty text is refused: to leave a key unset, leave it out."""
    if not text:
        raise ValueError("expected some text")
    return text


def parse_boolean(text: str) -> bool:
    """Return whether *text* is ``yes`` and not ``no``."""
    if text not in ("yes", "no"):
        raise ValueError("expected yes or no")
    return text == "yes"


def parse_integer(text: str) -> int:
    """Return the whole number that *text* is in decimal digits."""
    if not _INTEGER.fullmatch(text):
        raise ValueError("expected a whole number")
    return int(text)


def parse_number(text: str) -> float:
    """Return the number that *text* is, with a decimal point or without."""
    if not _NUMBER.fullmatch(text):
        raise ValueError("expected a number such as 10 or 2.5")
    return float(text)


def parse_duration(text: str) -> float:
    """Return seconds: ``300``, ``250 ms``, ``5 s``, ``2 min``, ``120 h``, ``1 d``."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError("expected a duration such as 300, 250 ms, 5 s, 2 min, 120 h or 1 d")
    number, unit = float(match[1]), match[2]
    # Divided, for 0.001 has no exact float: multiplying by it would make of 250 ms something beside 0.25.
    return number / 1000 if unit == "ms" else number * _SECONDS[unit]


def parse_size(text: str) -> int:
    """Return bytes: ``512``, ``10 kB``, ``64 MiB``, ``1 GiB``."""
    match = _SIZE.fullmatch(text)
    if match is None:
        raise ValueError("expected a size such as 512, 10 kB, 64 MiB or 1 GiB")
    return int(match[1]) * _BYTES[match[2]]


def parse_words(text: str) -> tuple[str, ...]:
    """Return the words of *text*, which white space separates."""
    return tuple(text.split())


def parse_path(text: str) -> Path:
    """Return *text* as a path. What a relative one starts from is for the caller to say."""
    return Path(parse_text(text))


def is_stage(text: str) -> bool:
    """Return whether *text* can be the name of a stage."""
    return _NAME.fullmatch(text) is not None


def parse_stage(text: str) -> str:
    """Return *text*, the name of a stage."""
    if not is_stage(text):
        raise ValueError(
            f"expected the name of a stage: at most {NAME_LIMIT} lower-case letters, digits, dots, dashes, underscores"
        )
    return text


def parse_host(text: str) -> str:
    """Return *text*, a host name."""
    if len(text) > 253 or not _HOST.fullmatch(text):
        raise ValueError("expected a host name such as mail.example.org")
    return text


def parse_address(text: str) -> str:
    """Return *text*, a mail address without angle brackets."""
    if len(text) > 254 or not _ADDRESS.fullmatch(text):
        raise ValueError("expected a mail address such as postmaster@example.org")
    return text


def parse_endpoint(text: str) -> str:
    """Return *text*, a Twisted endpoint string. Only its form is looked at; whoever opens it checks the rest."""
    if not _ENDPOINT.fullmatch(text):
        raise ValueError("expected an endpoint such as tcp:25 or tcp:9100:interface=127.0.0.1")
    return text


def parse_endpoints(text: str) -> tuple[str, ...]:
    """Return the endpoint strings of *text*, which white space separates. There must be one."""
    return tuple(parse_endpoint(word) for word in text.split() or [""])


def parse_command(text: str) -> str:
    """Return *text*, which splits into words as a shell would split it."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ValueError(f"expected a command line: {str(error).lower()}") from None
    if not words or not words[0]:
        raise ValueError("expected a program, with its arguments if it has any")
    return text


def parse_dsn(text: str) -> str:
    """Return *text*, a libpq connection string or URL, or ``embedded``."""
    if not _DSN.fullmatch(text):
        raise ValueError(
            "expected embedded, a URL such as postgresql://host/base or pairs such as host=/run dbname=pepsi"
        )
    return text


def render_text(value: object) -> str:
    """Return *value* as it is written: for everything whose ``str`` is just that."""
    return str(value)


def render_boolean(value: bool) -> str:
    """Return ``yes`` or ``no``."""
    return "yes" if value else "no"


def render_number(value: float) -> str:
    """Return *value* without an exponent, and without a fraction where it has none."""
    return f"{value:.0f}" if value == int(value) else f"{value:.20f}".rstrip("0")


def render_duration(value: float) -> str:
    """Return *value* seconds in the largest unit that needs no fraction."""
    if value == int(value):
        unit = next(unit for unit, seconds in _SECONDS.items() if value % seconds == 0 and (value or seconds == 1))
        return f"{value / _SECONDS[unit]:.0f} {unit}"
    milliseconds = round(value * 1000)
    return f"{milliseconds} ms" if milliseconds / 1000 == value else f"{render_number(value)} s"


def render_size(value: int) -> str:
    """Return *value* bytes in the largest unit that needs no fraction, powers of two first."""
    unit = next(unit for unit, count in _BYTES.items() if value % count == 0 and (value or count == 1))
    return f"{value // _BYTES[unit]} {unit}"


def render_words(value: tuple[str, ...]) -> str:
    """Return the words of *value* with a space between them."""
    return " ".join(value)
