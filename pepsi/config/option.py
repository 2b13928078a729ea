"""Declaring the keys of a section: each is a field of a frozen dataclass, made by one of the functions here.

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Door:
        listen: tuple[str, ...] = endpoints("tcp:25", doc="Where to listen.")
        idle_timeout: float = duration("5 min", doc="How long a silent client is kept.", low=1)

The field's name in upper case is the key. The parser, the tools and the manual pages are all made from this.
"""

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar, overload

from pepsi.config import kind as kinds
from pepsi.config.kind import AnyKind, Kind

T = TypeVar("T")
C = TypeVar("C", bound=str)

_METADATA = "pepsi"


@dataclass(frozen=True, slots=True)
class Computed:
    """A default that is known only where the configuration is loaded; *meaning* says what it will be."""

    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """One key of a section.

    *default* is the default as it would be written, or how it is found if it is computed. For a key that can be left
    without a value it is empty, and *unset* goes on with the sentence "If it is not set, ...".
    *low* and *high* are the least and the greatest value allowed, both included. A *concealed* value is not repeated in
    messages, nor in the ``repr`` of its section. *per_address* keys can be overridden for single correspondents.
    """

    key: str
    field: str
    kind: AnyKind
    default: str
    unset: str
    required: bool
    computed: bool
    low: float | None
    high: float | None
    doc: str
    per_address: bool
    concealed: bool

    @property
    def type_name(self) -> str:
        """What kind of value the key takes, in a word."""
        return self.kind.name

    @property
    def bounds(self) -> str:
        """The range of values in words, such as ``1 to 1000`` or ``at least 1 s``; empty if there is none."""
        low, high = ("" if bound is None else self.kind.render(bound) for bound in (self.low, self.high))
        if low and high:
            return f"{low} to {high}"
        return f"at least {low}" if low else f"at most {high}" if high else ""

    def parse(self, text: str) -> Any:
        """Return the value that *text* is. Raises ValueError with what was expected."""
        value = self.kind.parse(text)
        if (self.low is not None and value < self.low) or (self.high is not None and value > self.high):
            raise ValueError(f"expected {self.bounds}")
        return value


class Option(Generic[T]):
    """Declares keys whose values are of one kind. To be called where a dataclass field has its default.

    *default* is a value or the text of one; None, for a key that can be left unset, with *unset* to say what holds
    then; or a Computed. With ``required=True`` there is none, and a section without the key is an error.
    """

    def __init__(self, kind: Kind[T]) -> None:
        self.kind = kind

    @overload
    def __call__(
        self,
        default: None,
        *,
        doc: str,
        unset: str = "",
        low: float | None = None,
        high: float | None = None,
        per_address: bool = False,
        concealed: bool = False,
    ) -> T | None: ...
    @overload
    def __call__(
        self,
        default: T | str | Computed,
        *,
        doc: str,
        low: float | None = None,
        high: float | None = None,
        per_address: bool = False,
        concealed: bool = False,
    ) -> T: ...
    @overload
    def __call__(
        self,
        *,
        required: Literal[True],
        doc: str,
        low: float | None = None,
        high: float | None = None,
        per_address: bool = False,
        concealed: bool = False,
    ) -> T: ...
    def __call__(
        self,
        default: T | str | Computed | None = None,
        *,
        doc: str,
        unset: str = "",
        required: bool = False,
        low: float | None = None,
        high: float | None = None,
        per_address: bool = False,
        concealed: bool = False,
    ) -> Any:
        """Return the dataclass field of the key."""
        if not self.kind.measured and (low is not None or high is not None):
            raise TypeError(f"a {self.kind.name} has no bounds")
        shown = ""
        value: Any = default
        if isinstance(default, Computed):
            shown = default.meaning
        elif isinstance(default, str):
            shown, value = default, self.kind.parse(default)
        elif default is not None:
            shown = self.kind.render(default)
        has_value = not required and not isinstance(default, Computed)
        declared = Declared(
            key="",
            field="",
            kind=self.kind,
            default=shown,
            unset=unset,
            required=required,
            computed=isinstance(default, Computed),
            low=low,
            high=high,
            doc=doc,
            per_address=per_address,
            concealed=concealed,
        )
        return dataclasses.field(
            default=value if has_value else dataclasses.MISSING,
            kw_only=True,
            repr=not concealed,
            metadata={_METADATA: declared},
        )


text = Option(kinds.TEXT)
integer = Option(kinds.INTEGER)
number = Option(kinds.NUMBER)
duration = Option(kinds.DURATION)
size = Option(kinds.SIZE)
boolean = Option(kinds.BOOLEAN)
words = Option(kinds.WORDS)
path = Option(kinds.PATH)
secret = Option(kinds.SECRET)
stage = Option(kinds.STAGE)
host = Option(kinds.HOST)
address = Option(kinds.ADDRESS)
endpoint = Option(kinds.ENDPOINT)
endpoints = Option(kinds.ENDPOINTS)
command = Option(kinds.COMMAND)
dsn = Option(kinds.DSN)


@overload
def choice(
    default: None, *, choices: Iterable[C], doc: str, unset: str = "", per_address: bool = False
) -> C | None: ...
@overload
def choice(default: C | str, *, choices: Iterable[C], doc: str, per_address: bool = False) -> C: ...
@overload
def choice(*, required: Literal[True], choices: Iterable[C], doc: str, per_address: bool = False) -> C: ...
def choice(default: Any = None, *, choices: Iterable[C], **keywords: Any) -> Any:
    """Return the dataclass field of a key that takes one of *choices*: words, or the members of a StrEnum.

    ``tls: Policy = choice("may", choices=Policy, doc="...")``
    """
    return Option(kinds.choice_kind(tuple(choices)))(default, **keywords)


def declared(cls: type) -> tuple[Declared, ...]:
    """Return the keys that *cls* declares, inherited ones first, in the order of their declaration."""
    return tuple(
        dataclasses.replace(field.metadata[_METADATA], key=field.name.upper(), field=field.name)
        for field in dataclasses.fields(cls)
    )
