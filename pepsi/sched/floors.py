"""Below which id nothing waits, so that a claim does not walk over what it has taken long ago.

While anybody on the server holds an old snapshot open, each row that was ever claimed leaves a dead entry in the index
of pending rows, and a claim from the beginning walks over all of them. So it begins where the last ones ended. That is
a guess: rows are returned, paused ones come due, a transaction commits late, somebody moves a row by hand. What the
dispatcher does itself it knows by id, and lowers the floor. For all else it looks deeper: a little once a second, from
the very beginning at each heartbeat, after repairs, and when a claim found less than there was room for.
"""

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pepsi.sched.trail import Trail

LAG = 0.1
"""Seconds by which a floor follows what was claimed: a row with a smaller id may be committed a moment later."""
FAR_LAG = 3.0
"""The same for the look that is made every WIDE_INTERVAL, for whoever takes longer to commit."""
WIDE_INTERVAL = 1.0
PUT_OFF = 4.0
"""Seconds at most that such a look waits for a claim that takes rows for their age: there may be none, all day."""
CHEAP = 0.005
"""Seconds that a deep look may take for nothing to be spared by making fewer of them."""
REST = 20.0
"""Times what the last deep look took until the next one."""
LONGEST_REST = 30.0
"""Seconds. However dear it is, what nobody knows of must not wait for ever."""
LEAST_REST = 2.0
"""Times what the last deep look took, however long that was: nothing else is claimed meanwhile, and a look that takes
a minute would otherwise leave mail a third of the time."""
MOST_EXCEPTIONS = 4096
MOST_TRAILS = 1024
WORTH = 16
"""Rows of a sender that were claimed, from which on a floor of its own pays."""


@dataclass(slots=True, eq=False)
class _Stage:
    near: Trail = field(default_factory=lambda: Trail(LAG))
    far: Trail = field(default_factory=lambda: Trail(FAR_LAG))
    newest: int = 0
    """The largest id that was claimed at the stage."""
    exceptions: dict[int, int] = field(default_factory=dict)
    """Ids that may wait below the floor, each with the number of the last claim that cannot have seen it."""
    heap: list[int] = field(default_factory=list)
    """The same ids, and some that were dropped."""
    unsure: int | None = None
    """From this id on anything may wait."""
    elsewhere: float = float("inf")
    """The smallest id that went from another stage to an unknown one."""
    drained: bool = True
    """Whether the last claim left nothing."""
    owed: bool = False
    """Whether a look from the beginning is to be made as soon as it may be."""
    wide_at: float = 0.0
    sent: int = 0
    """The floor of the last claim."""
    trails: dict[str, Trail] = field(default_factory=dict)
    """Of senders, whoever had a row claimed last at the end."""

    def least_exception(self) -> float:
        while self.heap and self.heap[0] not in self.exceptions:
            heapq.heappop(self.heap)
        return self.heap[0] if self.heap else float("inf")

    def drop_exceptions(self) -> None:
        self.exceptions, self.heap = {}, []

    def look_from_the_beginning(self) -> None:
        self.unsure, self.owed, self.elsewhere, self.trails = 0, False, float("inf"), {}


class Floors:
    """The floors of all stages and of some of their senders."""

    def __init__(self) -> None:
        self._stages: dict[str, _Stage] = {}
        self._number = 0
        self._sent_at: float | None = None
        """When the claim under way was sent."""
        self._deep = False
        self._rest_until = float("-inf")
        self._elsewhere = float("inf")

    # Ids that come back

    def returned(self, ids: Iterable[int]) -> None:
        """*ids* may be pending again, at any stage."""
        for number in ids:
            for stage in self._stages.values():
                self._except(stage, number)

    def moved(self, number: int, stage: str | None) -> None:
        """A worker has moved *number* on, most likely to *stage*; None: most likely it is gone."""
        self._elsewhere = min(self._elsewhere, number)
        if stage is not None and stage in self._stages:
            self._except(self._stages[stage], number)

    def doubt(self, *, certain: bool = False) -> None:
        """Rows may have come back that nobody knows by id. If that is *certain*, no look is too dear."""
        for stage in self._stages.values():
            stage.owed = True
        if certain:
            self._rest_until = float("-inf")

    def _except(self, stage: _Stage, number: int) -> None:
        # What lies above all that was claimed needs no exception, but for the claim under way, which may get past it.
        if number > stage.newest and self._sent_at is None:
            return
        if len(stage.exceptions) >= MOST_EXCEPTIONS:
            stage.drop_exceptions()
            stage.owed = True
        if number not in stage.exceptions:
            heapq.heappush(stage.heap, number)
        stage.exceptions[number] = self._number

    # Claims

    def due(self, stage: str, now: float) -> bool:
        """Whether a look from the beginning is to be made at *stage* now."""
        return now >= self._rest_until and stage in self._stages and self._stages[stage].owed

    def next_time(self, now: float) -> float:
        """Return when a look that is owed may be made, if that was not so yet at *now*; infinity if there is none."""
        owed = now < self._rest_until and any(stage.owed for stage in self._stages.values())
        return self._rest_until if owed else float("inf")

    def begin(self, stages: Mapping[str, bool], now: float) -> None:
        """A claim for *stages* is made: their floors are those of this claim from now on.

        The value says whether some of the rows are taken for their age. Only these tell how far a look has come, so
        that without them one of those that come round every second is put off for a while.
        """
        self._number += 1
        self._sent_at, self._deep = now, False
        for known in self._stages.values():
            known.elsewhere = min(known.elsewhere, self._elsewhere)
        self._elsewhere = float("inf")
        rested = now >= self._rest_until
        for name, by_age in stages.items():
            stage = self._stages.setdefault(name, _Stage())
            if rested and (stage.owed or stage.drained):
                stage.look_from_the_beginning()
            elif rested and now >= stage.wide_at + (0.0 if by_age else PUT_OFF):
                stage.wide_at = now + WIDE_INTERVAL
                start = int(min(stage.far.end(now), stage.elsewhere))
                stage.unsure = start if stage.unsure is None else min(start, stage.unsure)
                stage.elsewhere = float("inf")
            self._deep = self._deep or stage.unsure is not None
            stage.sent = int(min(self._highest(stage, now), stage.least_exception()))

    def floor(self, stage: str) -> int:
        """Return the floor of *stage* for the claim that was begun."""
        return self._stages[stage].sent

    def is_deep(self, stage: str) -> bool:
        """Whether the claim that was begun looks at *stage* for what nobody knows of."""
        return self._stages[stage].unsure is not None

    def of_senders(self, name: str, after: str, limit: int, now: float) -> dict[str, int]:
        """Return floors of at most *limit* senders that are higher than the stage's; past the key *after* first."""
        stage = self._stages[name]
        if stage.unsure is not None:
            return {}
        for sender in [sender for sender, trail in stage.trails.items() if trail.newest <= stage.near.newest]:
            del stage.trails[sender]
        senders = [sender for sender, trail in stage.trails.items() if trail.rows >= WORTH]
        if len(senders) > limit:
            senders = heapq.nsmallest(limit, senders, key=lambda sender: (sender <= after, sender))
        most = stage.least_exception()
        floors = {sender: int(min(most, stage.trails[sender].end(now))) for sender in senders}
        return {sender: floor for sender, floor in floors.items() if floor > stage.sent}

    def claimed(self, name: str, rows: Sequence[tuple[int, str]], oldest: int, now: float, *, all_taken: bool) -> None:
        """The claim under way brought *rows*, ids with their senders, of one stage; none that was older was left out of
        the first *oldest* of them. *all_taken*: nothing else waits there.
        """
        stage = self._stages[name]
        for number, _ in rows:
            stage.exceptions.pop(number, None)
        stage.newest = max(stage.newest, max((number for number, _ in rows), default=0))
        passed: float | None = rows[min(oldest, len(rows)) - 1][0] if oldest and rows else None
        if all_taken:
            stage.owed = stage.owed or stage.sent > 0 or bool(stage.trails)
            passed, stage.trails = float("inf"), {}
        stage.drained = all_taken
        if passed is not None:
            self._look_past(stage, passed)
            last = min(passed, stage.newest)
            stage.near.note(int(last), now)
            stage.far.note(int(last), now)
        for number, sender in () if all_taken or oldest >= len(rows) else rows:
            self._follow(stage, sender, number, now)

    def end(self, now: float, *, failed: bool = False) -> None:
        """The claim under way came back. *failed*: it brought nothing, and a deep look was perhaps too much for it."""
        took, self._sent_at = now - (now if self._sent_at is None else self._sent_at), None
        if self._deep and took > CHEAP:
            rest = max(LEAST_REST * took, min(LONGEST_REST, REST * took))
            self._rest_until = max(self._rest_until, now + rest)
        if not failed:
            return
        for stage in self._stages.values():
            stage.owed = stage.owed or stage.unsure is not None or bool(stage.exceptions)
            stage.unsure = None
            stage.drop_exceptions()

    def _highest(self, stage: _Stage, now: float) -> int:
        end = stage.near.end(now)
        return end if stage.unsure is None else min(end, stage.unsure)

    def _look_past(self, stage: _Stage, passed: float) -> None:
        """The claim under way has seen all that waits up to the id *passed*."""
        if stage.unsure is not None:
            stage.unsure = None if passed >= stage.near.newest else int(passed)
        kept = []
        while stage.heap and stage.heap[0] <= passed:
            number = heapq.heappop(stage.heap)
            if stage.exceptions.get(number, self._number) < self._number:
                del stage.exceptions[number]
            elif number in stage.exceptions:
                kept.append(number)
        for number in kept:
            heapq.heappush(stage.heap, number)

    def _follow(self, stage: _Stage, sender: str, number: int, now: float) -> None:
        trail = stage.trails.pop(sender, None)
        if trail is None:
            trail = Trail(LAG)
            if len(stage.trails) >= MOST_TRAILS:
                del stage.trails[next(iter(stage.trails))]
        trail.note(number, now)
        stage.trails[sender] = trail
