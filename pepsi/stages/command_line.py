"""A command with places for the envelope's addresses, which can become arguments but nothing else. Pure."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from pepsi.config.kind import Kind
from pepsi.config.option import Option
from pepsi.config.values import parse_command
from pepsi.relay.addresses import quoted, split_address

_PLACE = re.compile(r"\{([a-z_]+)\}")
_SENDER, _RECIPIENT, _RECIPIENTS = "sender", "recipient", "recipients"
_NAMES = (_SENDER, _RECIPIENT, _RECIPIENTS)


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A command as it was written. ``str()`` of it is its text."""

    text: str

    def __str__(self) -> str:
        return self.text

    @property
    def program(self) -> str:
        """The first word."""
        return shlex.split(self.text)[0]

    @property
    def names_sender(self) -> bool:
        """Whether the sender's address is an argument."""
        return _SENDER in self._places

    @property
    def names_recipients(self) -> bool:
        """Whether any recipient's address is an argument."""
        return self.is_for_one or _RECIPIENTS in self._places

    @property
    def is_for_one(self) -> bool:
        """Whether the command must be run for each recipient anew."""
        return _RECIPIENT in self._places

    def words(self, sender: str, recipients: Sequence[str]) -> list[str]:
        """Return the words to run for *recipients*: a single one where the command is for one.

        No address becomes an option: where it begins a word and itself begins with a hyphen, it is written with its
        local part in quotes, which is the same mailbox (RFC 5321, section 4.1.2).
        """
        filled: list[str] = []
        for word in shlex.split(self.text):
            if word == f"{{{_RECIPIENTS}}}":
                filled += [_no_option(recipient) for recipient in recipients]
            else:
                values = {_SENDER: sender, _RECIPIENT: recipients[0] if recipients else ""}
                if _PLACE.match(word):
                    values = {name: _no_option(value) for name, value in values.items()}
                filled.append(_PLACE.sub(lambda found, values=values: values[found[1]], word))  # type: ignore[misc]
        return filled

    @property
    def _places(self) -> list[str]:
        return _PLACE.findall(self.text)


def _no_option(address: str) -> str:
    if not address.startswith("-"):
        return address
    local, _ = split_address(address)
    return quoted(local) + address.removeprefix(local)


def _parse(text: str) -> CommandLine:
    command = CommandLine(parse_command(text))
    words = shlex.split(text)
    for name in _PLACE.findall(text):
        if name not in _NAMES:
            known = ", ".join(f"{{{known}}}" for known in _NAMES)
            raise ValueError(f"expected only {known} in braces, not {{{name}}}; anything else with braces: in a script")
    if _PLACE.search(words[0]):
        raise ValueError("expected a program that no address can choose")
    if any(f"{{{_RECIPIENTS}}}" in word and word != f"{{{_RECIPIENTS}}}" for word in words):
        raise ValueError("expected {recipients} to be a word of its own: it becomes one word for each recipient")
    if command.is_for_one and f"{{{_RECIPIENTS}}}" in words:
        raise ValueError("expected {recipient} or {recipients}, not both")
    return command


command_line: Option[CommandLine] = Option(
    Kind(
        name="command line",
        syntax="A program and its arguments, split into words as a shell splits them; no shell runs. In an argument "
        "{sender} and {recipient} stand for addresses of the envelope; the word {recipients} becomes a word for each.",
        parse=_parse,
    )
)
"""Declares a key whose value is such a command."""
