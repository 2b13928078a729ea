"""The tests of a condition as they are written: what each asks, and between what it makes sense."""

from collections.abc import Mapping
from dataclasses import dataclass

from pepsi.stages.condition.terms import Literal, Term, Type
from pepsi.stages.condition.verdicts import (
    Test,
    at_least,
    at_most,
    contains,
    greater,
    less,
    matches,
    same,
    within,
)

COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
WORDS = ("in", "contains", "matches")

_TESTS: Mapping[str, Test] = {
    "==": same,
    "!=": lambda left, right: not same(left, right),
    "<": less,
    "<=": at_most,
    ">": greater,
    ">=": at_least,
    "in": within,
    "contains": contains,
    "matches": matches,
}


@dataclass(frozen=True, slots=True)
class Operator:
    """A test as it stands in a condition. *column* is where."""

    name: str
    negated: bool
    column: int

    @property
    def test(self) -> Test:
        """The test itself."""
        test = _TESTS[self.name]
        return (lambda left, right: not test(left, right)) if self.negated else test

    def complaint(self, left_type: Type, left: Term, right: Term) -> str | None:
        """Return why a value of *left_type* can never pass, None if it can."""
        if left_type is Type.LIST and self.name != "contains":
            mended = f"any {left.name} {self.name} ..."
            return f"'{self.name}' is for one value, and {left.name} is a list; write '{mended}', or 'all'"
        match self.name:
            case "<" | "<=" | ">" | ">=":
                if not left_type.fits(Type.NUMBER):
                    return f"'{self.name}' compares numbers, and {left.name} is {left_type.value}"
                return None if right.type.fits(Type.NUMBER) else f"expected a number after '{self.name}'"
            case "in":
                return None if right.type.fits(Type.LIST) else 'expected a list after \'in\', such as ["a", "b"]'
            case "matches":
                if not left_type.fits(Type.TEXT):
                    return f"'matches' looks at texts, and {left.name} is {left_type.value}"
                if isinstance(right, Literal) and _all_texts(right):
                    return None
                return "expected a pattern in quotes after 'matches', or a list of them"
            case "contains":
                if not left_type.fits(Type.TEXT, Type.LIST):
                    return f"'contains' looks into texts and lists, and {left.name} is {left_type.value}"
                if left_type is Type.TEXT and not right.type.fits(Type.TEXT):
                    return "expected a text after 'contains'"
                return "expected a text or a number after 'contains'" if right.type is Type.LIST else None
            case _:
                if right.type is Type.LIST:
                    return f"expected one value after '{self.name}', not a list"
                if not right.type.fits(left_type) and left_type is not Type.ANY:
                    return (
                        f"'{self.name}' can never tell: {left.name} is {left_type.value}, the other {right.type.value}"
                    )
                return None


def _all_texts(literal: Literal) -> bool:
    value = literal.literal
    return isinstance(value, str) or (isinstance(value, tuple) and all(isinstance(item, str) for item in value))
