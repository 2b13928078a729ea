"""A condition that was read, as a tree. Each node says whether it holds for a message, and never raises."""

from dataclasses import dataclass
from typing import Protocol

from pepsi.model.message import Message
from pepsi.stages.condition.terms import Term
from pepsi.stages.condition.verdicts import Test, holds, items


class Node(Protocol):
    """A part of a condition."""

    def holds(self, message: Message) -> bool:
        """Whether it is so for *message*."""
        ...


@dataclass(frozen=True, slots=True)
class Either:
    """At least one of *parts* holds."""

    parts: tuple[Node, ...]

    def holds(self, message: Message) -> bool:
        """Try them from left to right, up to the first that holds."""
        return any(part.holds(message) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Both:
    """All of *parts* hold."""

    parts: tuple[Node, ...]

    def holds(self, message: Message) -> bool:
        """Try them from left to right, up to the first that does not hold."""
        return all(part.holds(message) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Negation:
    """*part* does not hold."""

    part: Node

    def holds(self, message: Message) -> bool:
        """Say the opposite."""
        return not self.part.holds(message)


@dataclass(frozen=True, slots=True)
class Something:
    """*term* is something."""

    term: Term

    def holds(self, message: Message) -> bool:
        """Look at the value alone."""
        return holds(self.term.value(message))


@dataclass(frozen=True, slots=True)
class Comparison:
    """*left* and *right* pass *test*."""

    left: Term
    test: Test
    right: Term

    def holds(self, message: Message) -> bool:
        """Compare the two values."""
        return self.test(self.left.value(message), self.right.value(message))


@dataclass(frozen=True, slots=True)
class OfItems:
    """Some item of the list *left* passes *test* with *right*; every one, if *every*."""

    every: bool
    left: Term
    test: Test
    right: Term

    def holds(self, message: Message) -> bool:
        """Compare item by item. Of an empty list neither is said."""
        right = self.right.value(message)
        verdicts = [self.test(item, right) for item in items(self.left.value(message))]
        return any(verdicts) and (all(verdicts) or not self.every)
