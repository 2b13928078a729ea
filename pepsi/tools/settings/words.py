"""What stands on the command line of pepsi-settings: addresses, keys, values."""

import argparse
import re

from pepsi.config.inifile import KEY
from pepsi.model.settings import ADDRESS_LIMIT, EVERYBODY, VALUE_LIMIT, settings_address
from pepsi.tools.desk.command import utf8

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"(?:@[^@\s"]+)?')
_BARE = re.compile(r'[^\s@"\\]*@[^\s@"\\]+|[^\s@"\\]+')
_KEY_LIMIT = 100


def correspondent(text: str) -> str:
    """Return *text* as settings are kept by it: an address, @domain, or * for everybody.

    Raises argparse.ArgumentTypeError.
    """
    if _CONTROL.search(utf8(text)) or not (_BARE.fullmatch(text) or _QUOTED.fullmatch(text)):
        raise argparse.ArgumentTypeError(
            f"expected user@example.org, @example.org for a domain or {EVERYBODY} for everybody, not {text!r}"
        )
    if len(text.encode()) > ADDRESS_LIMIT:
        raise argparse.ArgumentTypeError(f"an address has at most {ADDRESS_LIMIT} bytes here")
    return settings_address(text)


def key_name(text: str) -> str:
    """Return *text* if a key can be called so. Raises argparse.ArgumentTypeError."""
    if not KEY.fullmatch(text) or len(text) > _KEY_LIMIT:
        raise argparse.ArgumentTypeError(f"keys are written in upper case, with digits and underscores: {text!r}")
    return text


def new_value(text: str) -> str:
    """Return *text* as it would stand in the file. Raises argparse.ArgumentTypeError."""
    if _CONTROL.search(utf8(text)):
        raise argparse.ArgumentTypeError("a value is one line, without control characters")
    if len(text.encode()) > VALUE_LIMIT:
        raise argparse.ArgumentTypeError(f"a value has at most {VALUE_LIMIT} bytes")
    return text.strip()
