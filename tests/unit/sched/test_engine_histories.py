"""Whatever happens in whatever order: no id is lost, none is in two places, and in the end all mail has moved."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pepsi.model.row import RowStatus
from pepsi.sched import events

from tests.unit.sched.world import World

MOVES = st.tuples(st.integers(0, 99), st.integers(0, 7), st.integers(0, 7))


def move(world: World, kind: int, which: int, extra: int) -> None:
    """One step of a history: mostly the ordinary course of things, now and then a fault."""
    numbers = sorted(world.children)
    number = numbers[which % len(numbers)] if numbers else None
    match kind:
        case k if k < 30:
            world.deliver(which)
        case k if k < 40:
            world.inject("ab"[extra % 2])
            world.wake()
        case k if k < 48 and number is not None:
            world.ready(number)
        case k if k < 68 and number is not None:
            world.answer(number)
        case k if k < 72 and number is not None:
            world.answer(number, (1, 74, 75, 255)[extra % 4])
        case 72 if number is not None:
            world.answer(number, commit=False)
        case k if k < 77 and number is not None:
            child = world.children[number]
            code = (0, 1, 75, 78)[extra % 4]
            world.die(number, signal=9) if child.doomed or extra > 3 else world.die(number, code=code)
        case 77 if number is not None and not world.children[number].doomed:
            world.reports.append(events.Garbled(number, "nonsense"))
        case k if k < 82:
            world.claim_fault = lambda: ("ok", "ok", "done", "undone")[extra % 4]
        case k if k < 86:
            world.settle_fault = lambda: ("ok", "ok", "done", "undone")[extra % 4]
        case k if k < 88:
            world.tell(events.LockLost())
        case k if k < 92:
            world.regain_lock()
        case k if k < 96:
            world.now += (0.01, 0.5, 3.0, 25.0)[extra % 4]
            world.tell(events.Tick())
        case _:
            world.now = max(world.now, world.engine.next_wake(world.now))
            world.tell(events.Tick())


def play(world: World, moves: list[tuple[int, int, int]]) -> None:
    world.start()
    for step in moves:
        move(world, *step)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(MOVES, min_size=40, max_size=250))
def test_in_the_end_every_row_has_moved_and_nothing_is_left_running(moves: list[tuple[int, int, int]]) -> None:
    world = World()
    play(world, moves)
    world.settle_down(limit=20_000)
    left = {workqueue_id: row for workqueue_id, row in world.rows.items() if row.status is not RowStatus.FAILED}
    left = {workqueue_id: row for workqueue_id, row in left.items() if row.status is not RowStatus.TIMEOUT}
    assert not left
    assert not world.engine.holdings()
    assert all(times == 1 for times in world.done.values())


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(MOVES, min_size=20, max_size=150))
def test_a_stop_at_any_moment_leaves_nothing_running(moves: list[tuple[int, int, int]]) -> None:
    world = World()
    play(world, moves)
    world.engine_stops = True
    world.tell(events.StopRequested())
    world.settle_down(limit=20_000)
    assert world.exit is not None
    assert world.exit.status == 0
    assert not [row for row in world.rows.values() if row.status is RowStatus.RUNNING and row.claim is not None
                and row.claim >> 40 == 7 and row.claim in {c for _, c, _ in world.engine.holdings()}]  # fmt: skip
