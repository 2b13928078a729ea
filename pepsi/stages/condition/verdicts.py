"""What a condition can say of two values. None of these functions raises, whatever it is given.

Texts are compared without regard to case. A value that is not there, or is of a kind that the test knows nothing of,
passes no test, so that the negation of every test holds for it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from pepsi.stages.condition.terms import Value

Test = Callable[[Value, Value], bool]


def same(left: Value, right: Value) -> bool:
    """Whether both are the same text, number or truth."""
    if isinstance(left, str) and isinstance(right, str):
        return left.casefold() == right.casefold()
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    return isinstance(left, int | float) and isinstance(right, int | float) and left == right


def less(left: Value, right: Value) -> bool:
    """Whether both are numbers and *left* is the smaller."""
    return _is_number(left) and _is_number(right) and left < right  # type: ignore[operator]


def greater(left: Value, right: Value) -> bool:
    """Whether both are numbers and *left* is the greater."""
    return less(right, left)


def at_most(left: Value, right: Value) -> bool:
    """Whether both are numbers and *left* is not the greater."""
    return less(left, right) or (_is_number(left) and same(left, right))


def at_least(left: Value, right: Value) -> bool:
    """Whether both are numbers and *left* is not the smaller."""
    return at_most(right, left)


def within(left: Value, right: Value) -> bool:
    """Whether *left* is an item of the list *right*."""
    return any(same(left, item) for item in items(right))


def contains(left: Value, right: Value) -> bool:
    """Whether the text *left* has the text *right* in it, or the list *left* has *right* for an item."""
    if isinstance(left, str):
        return isinstance(right, str) and right.casefold() in left.casefold()
    return within(right, left)


def matches(left: Value, right: Value) -> bool:
    """Whether the text *left* fits the pattern *right*, or one of a list of patterns."""
    if not isinstance(left, str):
        return False
    patterns = (right,) if isinstance(right, str) else items(right)
    text = left.casefold()
    return any(isinstance(pattern, str) and fits(text, pattern.casefold()) for pattern in patterns)


def holds(value: Value) -> bool:
    """Whether *value* is something: true, a number that is not 0, a text or a list that is not empty."""
    return bool(value)


def items(value: Value) -> Iterable[Value]:
    """Return the items of a list; none for anything else."""
    return value if isinstance(value, Sequence) and not isinstance(value, str | Mapping) else ()


def fits(text: str, pattern: str) -> bool:
    """Whether *pattern* covers all of *text*: ``*`` stands for anything, ``?`` for one character.

    Only the last star is ever tried again, which is enough for globs. So the time is bounded by the product of both
    lengths; a regular expression made from the pattern could take exponential time.
    """
    at = star = -1
    at, here, retry = 0, 0, 0
    while here < len(text):
        if at < len(pattern) and pattern[at] == "*":
            star, retry = at, here
            at += 1
        elif at < len(pattern) and pattern[at] in ("?", text[here]):
            at += 1
            here += 1
        elif star >= 0:
            retry += 1
            at, here = star + 1, retry
        else:
            return False
    return all(char == "*" for char in pattern[at:])


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
