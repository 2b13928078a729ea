"""Reads the text of a configuration file into raw sections that know their lines.

The standard library's reader forgets the lines of keys, folds their case, and stops at the first thing it cannot read.
"""

import codecs
import re
from pathlib import Path

from pepsi.config.section import Entry, Problem, RawSection

KEY = re.compile(r"[A-Z][A-Z0-9_]*")
SECTION = re.compile(r"[a-z0-9][a-z0-9._-]*")

_HEADING = re.compile(r"\[([^][]*)\]")
_ASSIGNMENT = re.compile(r"([A-Za-z][A-Za-z0-9_-]*)\s*=\s*(.*)")
_ASSIGNMENT_LIKE = re.compile(r"[A-Z][A-Z0-9_]*\s*=(?!=)|\[[a-z0-9._-]+\]$")
_COMMENT = re.compile(r"(?:^|[ \t])#.*")
_ESCAPED = re.compile(r"(^|[ \t])\\#")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


def read(data: bytes, file: str, directory: Path) -> tuple[dict[str, RawSection], list[Problem]]:
    """Return the sections of *data* by name, and all that cannot be read in it.

    *file* is how messages call it; relative paths in it start from *directory*.
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return {}, [Problem(file=file, line=1, expected="this is UTF-16", hint="save the file as UTF-8")]
    reader = _Reader(file, directory)
    for number, line in enumerate(data.removeprefix(codecs.BOM_UTF8).split(b"\n"), 1):
        reader.line(number, line.removesuffix(b"\r"))
    return reader.sections, reader.problems


class _Reader:
    """Takes a file line by line. What follows a line that cannot be read is still looked at, for all its own errors."""

    def __init__(self, file: str, directory: Path) -> None:
        self.sections: dict[str, RawSection] = {}
        self.problems: list[Problem] = []
        self._file = file
        self._directory = directory
        self._number = 0
        self._headed = False
        self._section: str | None = None
        self._entries: dict[str, Entry] = {}
        self._key: str | None = None
        self._skipping = False  # the present key, or heading, was not understood: so its continuation is not either

    def line(self, number: int, data: bytes) -> None:
        """Take the line *data*, without its end."""
        self._number = number
        text = self._decoded(data)
        content = _ESCAPED.sub(r"\1#", _COMMENT.sub("", text, count=1)).strip()
        if not content:
            return
        if text[0] in " \t":
            self._continue(content)
        elif content.startswith("["):
            self._open(content)
        else:
            self._assign(content)

    def _decoded(self, data: bytes) -> str:
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            self._problem(f"the byte 0x{data[error.start]:02x} is not UTF-8", hint="save the file as UTF-8")
            text = data.decode("utf-8", "replace")
        control = _CONTROL.search(text)
        if control is not None:
            name = "NUL" if control[0] == "\0" else f"the control character 0x{ord(control[0]):02x}"
            self._problem(f"{name} cannot stand in a configuration file")
        return _CONTROL.sub("", text)

    def _open(self, content: str) -> None:
        heading = _HEADING.fullmatch(content)
        name = heading[1].strip() if heading else ""
        self._headed, self._section, self._entries, self._key, self._skipping = True, None, {}, None, True
        if not SECTION.fullmatch(name):
            lower = name.lower()
            hint = f"write [{lower}]" if SECTION.fullmatch(lower) else None
            self._problem("expected a heading such as [pepsi] or [stage-if]", line=content, hint=hint)
        elif name in self.sections:
            self._section = name
            self._problem(f"this section stands at line {self.sections[name].line} already", hint="join the two")
        else:
            self._section = name
            self.sections[name] = RawSection(name, self._number, self._entries, self._file, self._directory)

    def _assign(self, content: str) -> None:
        assignment = _ASSIGNMENT.fullmatch(content)
        self._key, self._skipping = None, True
        if assignment is None:
            hint = "comments begin with #" if content.startswith((";", "//")) else None
            self._problem("expected KEY = value", line=content, hint=hint)
            return
        key, value = assignment.groups()
        upper = key.upper().replace("-", "_")
        if key != upper:
            self._problem("keys are written in upper case", key=key, line=value, hint=f"write {upper}")
        elif not self._headed:
            self._problem("this key stands before the first [section]", key=key, line=value)
        elif key in self._entries:
            first = self._entries[key].line
            self._problem(f"this key stands at line {first} already", key=key, line=value, hint="remove one of them")
        else:
            self._key, self._skipping = key, False
            self._entries[key] = Entry(value, self._file, self._number)

    def _continue(self, content: str) -> None:
        if _ASSIGNMENT_LIKE.match(content):
            expected = "an indented line goes on with the value above it, and this looks like a line of its own"
            self._problem(expected, line=content, hint="begin it at the margin")
        elif self._key is not None:
            first = self._entries[self._key]
            self._entries[self._key] = Entry(f"{first.value} {content}".lstrip(), first.file, first.line)
        elif not self._skipping:
            self._problem("an indented line goes on with the value above it, and there is none", line=content)

    def _problem(
        self, expected: str, *, key: str | None = None, line: str | None = None, hint: str | None = None
    ) -> None:
        self.problems.append(
            Problem(
                file=self._file,
                line=self._number,
                section=self._section,
                key=key,
                value=line,
                expected=expected,
                hint=hint,
            )
        )
