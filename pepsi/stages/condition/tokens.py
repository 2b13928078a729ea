"""The words of a condition: from its text to tokens, each with the column it began at."""

import enum
from dataclasses import dataclass

LENGTH_LIMIT = 8192
"""Characters of the longest condition."""
DIGITS_LIMIT = 18
"""Digits on either side of a decimal point."""

_SIGNS = ("==", "!=", "<=", ">=", "<", ">", "(", ")", "[", "]", ",", ".")
_DIGITS = frozenset("0123456789")
_WORD_START = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_")
_WORD = _WORD_START.union(_DIGITS, "-")
_SHOWN = 20


class ConditionError(ValueError):
    """A condition that cannot be read. *column* counts from 1."""

    def __init__(self, column: int, problem: str) -> None:
        super().__init__(f"column {column}: {problem}")
        self.column = column


class Kind(enum.Enum):
    """What a token is."""

    WORD = "a word"
    TEXT = "a text in quotes"
    NUMBER = "a number"
    SIGN = "a sign"
    END = "the end"


@dataclass(frozen=True, slots=True)
class Token:
    """One token. *text* is what it stands for: without the quotes, for a text."""

    kind: Kind
    text: str
    column: int

    def __str__(self) -> str:
        if self.kind is Kind.END:
            return "the end"
        shown = self.text if len(self.text) <= _SHOWN else self.text[:_SHOWN] + "..."
        return f'the text "{shown}"' if self.kind is Kind.TEXT else f"'{shown}'"


def tokens(text: str) -> list[Token]:
    """Cut *text* into tokens; the last is always END. Raises ConditionError."""
    if len(text) > LENGTH_LIMIT:
        raise ConditionError(LENGTH_LIMIT + 1, f"a condition has at most {LENGTH_LIMIT} characters")
    found: list[Token] = []
    at = 0
    while at < len(text):
        if text[at] in " \t\r\n":
            at += 1
            continue
        token, at = _token(text, at)
        found.append(token)
    found.append(Token(Kind.END, "", len(text) + 1))
    return found


def _token(text: str, at: int) -> tuple[Token, int]:
    first = text[at]
    if first in "\"'":
        return _quoted(text, at)
    if first in _DIGITS or (first == "-" and text[at + 1 : at + 2] in _DIGITS):
        end = _number_end(text, at + (first == "-"))
        return Token(Kind.NUMBER, text[at:end], at + 1), end
    if first in _WORD_START:
        end = _run(text, at, _WORD)
        return Token(Kind.WORD, text[at:end], at + 1), end
    for sign in _SIGNS:
        if text.startswith(sign, at):
            return Token(Kind.SIGN, sign, at + 1), at + len(sign)
    raise ConditionError(at + 1, f"{first!r} means nothing here; write texts in double quotes")


def _run(text: str, at: int, allowed: frozenset[str]) -> int:
    while at < len(text) and text[at] in allowed:
        at += 1
    return at


def _number_end(text: str, at: int) -> int:
    end = _run(text, at, _DIGITS)
    longest = end - at
    if text[end : end + 1] == "." and text[end + 1 : end + 2] in _DIGITS:
        point, end = end, _run(text, end + 1, _DIGITS)
        longest = max(longest, end - point - 1)
    if longest > DIGITS_LIMIT:
        raise ConditionError(at + 1, f"a number has at most {DIGITS_LIMIT} digits before and after the point")
    return end


def _quoted(text: str, start: int) -> tuple[Token, int]:
    quote, at = text[start], start + 1
    kept: list[str] = []
    while at < len(text):
        char = text[at]
        if char == quote:
            return Token(Kind.TEXT, "".join(kept), start + 1), at + 1
        if char == "\\":
            at += 1
            char = text[at : at + 1]
            if char not in ("\\", '"', "'"):
                raise ConditionError(at, "in a text a backslash stands only before a quote or another backslash")
        kept.append(char)
        at += 1
    raise ConditionError(start + 1, f"this text is not closed; end it with {quote}")
