"""Reading command lines: from bytes to a value, or to the reply that says what is wrong. Pure; never raises.

(RFC 5321, section 4.1; parameters of RFC 1870, 3461, 4954, 6152 and 6531.)
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pepsi.ingress import replies
from pepsi.ingress.addresses import Address, read_path, read_postmaster
from pepsi.ingress.replies import Reply

_FROM = re.compile(r"FROM: *", re.IGNORECASE)
_TO = re.compile(r"TO: *", re.IGNORECASE)
_PARAMETER = re.compile(r"([A-Za-z0-9][A-Za-z0-9-]*)(?:=([^\x00-\x20=\x7f]+))?")
_XTEXT = r"(?:[!-*,-<>-~]|\+[0-9A-F]{2})"
_ENVID = re.compile(rf"{_XTEXT}{{1,100}}")
_ORCPT = re.compile(rf"[A-Za-z0-9-]{{1,32}};(?:{_XTEXT}|[\x80-\U0010ffff]){{1,440}}")
_NOTIFY = re.compile(r"NEVER|(?:SUCCESS|FAILURE|DELAY)(?:,(?:SUCCESS|FAILURE|DELAY)){0,2}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mail:
    """MAIL. *sender* is None for the null path, *size* what the client announced, in bytes.

    *parameters* are those that travel with the message: body, smtputf8, ret and envid, as ``state`` names them.
    """

    sender: Address | None
    size: int = 0
    parameters: Mapping[str, str | bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipient:
    """RCPT. *notify* and *orcpt* are empty where the client did not say."""

    address: Address
    notify: str = ""
    orcpt: str = ""


def split_line(line: bytes) -> tuple[bytes, bytes]:
    """Return the verb of *line* in upper case, and its argument without the spaces around it."""
    verb, _, argument = line.partition(b" ")
    return verb.upper(), argument.strip(b" ")


def read_mail(argument: bytes) -> Mail | Reply:
    """Read the argument of MAIL."""
    text = _decoded(argument)
    if text is None:
        return replies.BAD_SENDER
    keyword = _FROM.match(text)
    if keyword is None or not text.startswith("<", keyword.end()):
        return replies.MAIL_SYNTAX
    rest = text[keyword.end() :]
    sender: Address | None = None
    if rest.startswith("<>"):
        rest = rest[2:]
    else:
        path = read_path(rest)
        if path is None:
            return replies.BAD_SENDER
        sender, rest = path
    values = _parameters(rest, _MAIL_PARAMETERS)
    if isinstance(values, Reply):
        return values
    if sender is not None and not sender.is_ascii and "smtputf8" not in values:
        return replies.SENDER_NEEDS_UTF8
    size = values.pop("size", "0")
    values.pop("auth", None)
    parameters = {name: True if name == "smtputf8" else value for name, value in values.items()}
    return Mail(sender=sender, size=int(size), parameters=parameters)


def read_recipient(argument: bytes, postmaster: Address, *, utf8: bool) -> Recipient | Reply:
    """Read the argument of RCPT. *postmaster* is meant by the name alone; *utf8*: SMTPUTF8 was given."""
    text = _decoded(argument)
    if text is None:
        return replies.BAD_RECIPIENT
    keyword = _TO.match(text)
    if keyword is None or not text.startswith("<", keyword.end()):
        return replies.RCPT_SYNTAX
    rest = text[keyword.end() :]
    path = read_path(rest)
    after_postmaster = read_postmaster(rest)
    if path is not None:
        address, rest = path
    elif after_postmaster is not None:
        address, rest = postmaster, after_postmaster
    else:
        return replies.BAD_RECIPIENT
    if not address.is_ascii and not utf8:
        return replies.RECIPIENT_NEEDS_UTF8
    values = _parameters(rest, _RECIPIENT_PARAMETERS)
    if isinstance(values, Reply):
        return values
    if not utf8 and not values.get("orcpt", "").isascii():
        return replies.BAD_PARAMETER
    return Recipient(address=address, **values)


def _decoded(argument: bytes) -> str | None:
    try:
        return argument.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _parameters(text: str, known: Mapping[str, Callable[[str], bool]]) -> dict[str, str] | Reply:
    """Return the parameters of *text* by name in lower case, values as *known* wants them."""
    if text and not text.startswith(" "):
        return replies.BAD_PARAMETER
    values: dict[str, str] = {}
    for word in text.split(" "):
        if not word:
            continue
        found = _PARAMETER.fullmatch(word)
        if found is None:
            return replies.BAD_PARAMETER
        name, value = found[1].lower(), found[2] or ""
        if name not in known:
            return replies.UNKNOWN_PARAMETER
        value = value if name in _AS_IT_IS else value.upper()
        if name in values or not known[name](value):
            return replies.BAD_PARAMETER
        values[name] = value
    return values


def _matches(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda value: pattern.fullmatch(value) is not None


_AS_IT_IS = ("envid", "orcpt", "auth")
_MAIL_PARAMETERS: Mapping[str, Callable[[str], bool]] = {
    "size": _matches(re.compile(r"[0-9]{1,20}")),
    "body": _matches(re.compile(r"7BIT|8BITMIME")),
    "smtputf8": lambda value: value == "",
    "ret": _matches(re.compile(r"FULL|HDRS")),
    "envid": _matches(_ENVID),
    # Who first submitted the message, by the word of a client that we have no reason to believe: read and dropped.
    "auth": _matches(re.compile(rf"{_XTEXT}{{1,500}}")),
}
_RECIPIENT_PARAMETERS: Mapping[str, Callable[[str], bool]] = {
    "notify": _matches(_NOTIFY),
    "orcpt": _matches(_ORCPT),
}
