"""How long an outcome is kept that the database does not take, and what its end means."""

from typing import Any

import pytest

from pepsi.db.faults import Fault
from pepsi.db.statement import Statement
from pepsi.dispatch import fleet
from pepsi.worker.link import DownError, Link, RefusedError, TroubleError
from pepsi.worker.owed import GRACE, Patience, Written, written

WRITE = Statement("UPDATE")
LOST = DownError(Fault.LOST, "lost")
CANCELLED = DownError(Fault.CANCELLED, "cancelled")


class World(Link):
    """A database that does what it is told, time after time, and the last for ever; and a clock."""

    def __init__(self, *deeds: TroubleError | list[int], seconds: float = 100.0) -> None:
        self.deeds = list(deeds)
        self.tries = 0
        self.now = 1000.0
        self.waits: list[float] = []
        self.asked_at = float("inf")
        super().__init__(lambda: pytest.fail("nobody connects here"), lambda: self.now, lambda: 0.0)
        self.patience = Patience(
            seconds, lambda: self.now >= self.asked_at, clock=lambda: self.now, wait=self.wait_for, chance=lambda: 0.0
        )
        self.patience.begin()

    def wait_for(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds

    def run(self, statement: Statement) -> list[tuple[Any, ...]]:
        self.tries += 1
        deed = self.deeds.pop(0) if len(self.deeds) > 1 else self.deeds[0]
        if isinstance(deed, TroubleError):
            raise deed
        return [(number,) for number in deed]

    def write(self) -> Written:
        return written(self, WRITE, self.patience)


def test_what_the_database_takes_at_once_is_tried_once() -> None:
    world = World([7])
    assert world.write() == Written(frozenset({7}), unsure=False)
    assert world.waits == []


def test_tries_are_made_ever_more_rarely_until_the_time_is_used_up() -> None:
    world = World(LOST)
    with pytest.raises(DownError):
        world.write()
    assert world.waits[:7] == [0.25, 0.5, 1, 2, 4, 8, 10]
    assert world.now == 1100.0
    assert world.tries == len(world.waits) + 1


def test_without_time_there_is_one_try() -> None:
    world = World(LOST, [7], seconds=0.0)
    with pytest.raises(DownError):
        world.write()
    assert world.tries == 1


def test_the_time_counts_from_the_begin_of_the_message() -> None:
    world = World(LOST)
    world.now += 99.5
    with pytest.raises(DownError):
        world.write()
    assert world.now == 1100.0


def test_a_worker_that_is_asked_to_end_tries_no_longer_than_its_dispatcher_waits() -> None:
    world = World(LOST, seconds=10_000.0)
    world.asked_at = 1000.0
    with pytest.raises(DownError):
        world.write()
    assert world.now == 1000.0 + GRACE


@pytest.mark.parametrize(("error", "unsure"), [(LOST, True), (CANCELLED, False)])
def test_only_a_try_that_nobody_heard_of_may_have_hit_what_a_later_one_misses(
    error: TroubleError, unsure: bool
) -> None:
    assert World(error, []).write() == Written(frozenset(), unsure)


def test_a_server_that_cannot_just_now_is_asked_again() -> None:
    full = RefusedError(Fault.OTHER, "no space left on device")
    assert World(full, [7]).write().hit == {7}


def test_a_value_that_cannot_be_stored_is_not_tried_again() -> None:
    world = World(RefusedError(Fault.DATA, "invalid byte sequence"), [7])
    with pytest.raises(RefusedError):
        world.write()
    assert world.tries == 1


def test_the_grace_that_a_worker_counts_on_is_the_dispatchers() -> None:
    assert GRACE == fleet.GRACE
