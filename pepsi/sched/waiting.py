"""What waits at one stage: the ids of all senders in order, and those of each sender."""

from bisect import bisect_right, insort
from collections import deque
from collections.abc import Iterator

NEAR = 64
"""So far from the beginning an id is looked for first: most that come out of order were claimed and given back."""
SLACK = 1024
"""Ids that may be kept although they have gone, before all that have gone are swept out."""


class Waiting:
    """Ids and senders of the pending rows of a stage. Cheap at both ends, however long it is."""

    __slots__ = ("_gone", "_keys", "_lines", "_order", "emptied")

    def __init__(self) -> None:
        self._order: deque[int] = deque()
        self._gone: set[int] = set()
        """Ids in ``_order`` that wait no more: to take one out of the middle is dear, to pass over it is not."""
        self._lines: dict[str, deque[int]] = {}
        self._keys: list[str] = []
        self.emptied: set[str] = set()
        """Senders that had nothing left at some time. For whoever looks, and clears it."""

    def __len__(self) -> int:
        return len(self._order) - len(self._gone)

    @property
    def kept(self) -> int:
        """How many ids are kept, those that have gone among them."""
        return len(self._order)

    def __contains__(self, sender: str) -> bool:
        return sender in self._lines

    def __iter__(self) -> Iterator[str]:
        """Every sender that waits, in no order."""
        return iter(self._lines)

    def add(self, number: int, sender: str) -> None:
        """Let the row wait."""
        line = self._lines.get(sender)
        if line is None:
            self._lines[sender] = deque((number,))
            insort(self._keys, sender)
        else:
            _insert(line, number)
        if number in self._gone:
            self._gone.remove(number)
        else:
            _insert(self._order, number)

    def remove(self, number: int, sender: str) -> None:
        """The row waits no more. Raises KeyError or ValueError if it did not."""
        line = self._lines[sender]
        if line[0] == number:
            line.popleft()
        else:
            line.remove(number)
        if not line:
            del self._lines[sender]
            del self._keys[bisect_right(self._keys, sender) - 1]
            self.emptied.add(sender)
        order, gone = self._order, self._gone
        gone.add(number)
        while order and order[0] in gone:
            gone.remove(order.popleft())
        if len(gone) > SLACK + len(self):
            self._order = deque(each for each in order if each not in gone)
            gone.clear()

    def oldest(self) -> Iterator[int]:
        """Yield ids, the oldest first, whoever sent them. Nothing may be added or removed meanwhile."""
        gone = self._gone
        return (number for number in self._order if number not in gone)

    def line(self, sender: str) -> Iterator[int]:
        """Yield the ids of *sender*, the oldest first. Nothing may be added or removed meanwhile."""
        return iter(self._lines.get(sender, ()))

    def past(self, key: str) -> Iterator[str]:
        """Yield the senders that wait, in the order of their bytes: those past *key*, then those up to it."""
        keys = self._keys
        middle = bisect_right(keys, key)
        for index in range(middle, len(keys)):
            yield keys[index]
        for index in range(middle):
            yield keys[index]


def _insert(line: deque[int], number: int) -> None:
    """Put *number* where it belongs in the ascending *line*."""
    if not line or number > line[-1]:
        line.append(number)
        return
    for index in range(min(NEAR, len(line))):
        if line[index] > number:
            line.insert(index, number)
            return
    index = len(line) - 1
    while line[index - 1] > number:
        index -= 1
    line.insert(index, number)
