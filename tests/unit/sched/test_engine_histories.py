"""Whatever happens in whatever order: no id is lost, none is in two places, and in the end all mail has moved.

``World.check`` runs after every step. ``PEPSI_HISTORIES=20`` plays twenty times as many histories.
"""

import os
from dataclasses import replace

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from pepsi.model.row import RowStatus
from pepsi.model.stage import StageSpec
from pepsi.sched import events
from tests.unit.sched.reloading import reconfigure, renew
from tests.unit.sched.world import SPECS, World

TIMES = int(os.environ.get("PEPSI_HISTORIES", "1"))
PHASES = [phase for phase in Phase if phase is not Phase.shrink or os.environ.get("PEPSI_SHRINK") != "no"]
"""To make a history that fails smaller takes minutes: nobody needs it who only wants to know whether one does."""
Move = tuple[int, int, int]
KINDS = 108


CONFIGURATIONS = [
    SPECS,
    {"a": replace(SPECS["a"], next_stage=None)},
    {"b": replace(SPECS["b"], next_stage="c"), "c": StageSpec(name="c", program="c", parallelism=1)},
    {"a": replace(SPECS["a"], parallelism=1, queue_limit=1), "b": replace(SPECS["b"], max_runtime=1.0)},
    {"a": replace(SPECS["a"], parallelism=5, queue_limit=4, max_runtime=60.0), "b": SPECS["b"]},
]


def moves_of(data: bytes) -> list[Move]:
    return [(data[i] % KINDS, data[i + 1] & 7, data[i + 1] >> 3 & 7) for i in range(0, len(data) - 1, 2)]


# Drawn as bytes: number by number, to make a history takes longer than to play it.
HISTORIES = st.binary(min_size=120, max_size=400).map(moves_of)


def many(examples: int) -> settings:
    # The data are large and most of the time goes into our own code: hypothesis takes both for a mistake.
    checks = [HealthCheck.too_slow, HealthCheck.data_too_large]
    return settings(max_examples=examples * TIMES, deadline=None, suppress_health_check=checks, phases=PHASES)


def move(world: World, kind: int, which: int, extra: int) -> None:
    """One step of a history: mostly the ordinary course of things, now and then a fault."""
    starting = [number for number, child in world.children.items() if child.life == "starting"]
    busy = [number for number, child in world.children.items() if child.life == "ready" and child.line]
    numbers = sorted(world.children, key=lambda number: (not world.children[number].doomed, number))
    match kind:
        case k if k < 12:
            world.inject("ab"[extra % 2], count=1 + which % 3, sender=("bulk", "bulk", "light", "rare")[extra // 2])
            world.wake()
        case k if k < 30 and busy:
            world.answer(busy[which % len(busy)], count=1 + extra % 3)
        case k if k < 50 and starting:
            world.ready(starting[which % len(starting)], batch=extra == 0)
        case k if k < 80:
            world.deliver(which)
        case k if k < 82 and busy:
            world.answer(busy[which % len(busy)], (1, 74, 75, 255)[extra % 4])
        case 82 if busy:
            world.answer(busy[which % len(busy)], commit=False)
        case k if k < 86 and numbers:
            number = numbers[which % len(numbers)]
            signal = 9 if extra > 3 or world.children[number].doomed else None
            world.die(number, signal=signal, code=None if signal else (0, 1, 75, 78)[extra])
        case 86 if numbers and not world.children[numbers[-1]].doomed:
            world.garble(numbers[-1])
        case k if k < 90:
            what = ("claim", "claim", "settle", "settle", "due", "running", "flush", "start")[which]
            world.faults[what] = ["done" if extra % 2 else "undone"] * (1 + extra // 3)
        case 90:
            world.tell(events.LockLost())
        case k if k < 94 and not world.locked:
            world.regain_lock()
        case 94:
            world.regain_lock()
        case 95 if world.rows:
            world.table.locks ^= {sorted(world.rows)[(which * 8 + extra) % len(world.rows)]}
        case k if k < 97 and world.rows:
            ids = sorted(world.rows)
            world.table.repair(ids[(which * 8 + extra) % len(ids)])
        case 104:
            reconfigure(world, CONFIGURATIONS[(which * 8 + extra) % len(CONFIGURATIONS)])
        case 105:
            renew(world)
        case k if k < 100:
            world.now += (0.01, 0.5, 3.0, 25.0)[extra % 4]
            world.tell(events.Tick())
        case _:
            world.now = max(world.now, world.engine.next_wake)
            world.tell(events.Tick())


def play(moves: list[Move], *, fair: bool, stop_time: float = 25.0) -> World:
    world = World(stop_time=stop_time, fair=fair)
    world.start()
    for step in moves:
        move(world, *step)
    return world


def nothing_is_held(world: World) -> bool:
    return not world.engine.holdings() and not any(row.claim is not None for row in world.rows.values())


@many(400)
@given(HISTORIES, st.booleans())
def test_in_the_end_every_row_has_moved_and_every_slot_is_free(moves: list[Move], fair: bool) -> None:
    world = play(moves, fair=fair)
    reconfigure(world, SPECS | {"c": CONFIGURATIONS[2]["c"]})
    world.settle_down()
    assert nothing_is_held(world)
    assert all(row.status in (RowStatus.FAILED, RowStatus.TIMEOUT) for row in world.rows.values())
    assert all(times == 1 for times in world.done.values())
    assert world.guilty <= world.struck
    world.wait(600)
    world.wake()
    room = {name: spec.capacity for name, spec in world.specs.items()}
    # Where senders take turns, a worker of slow mail is handed one id at a time, and few more are claimed.
    assert room == world.room_asked_for[-1] or (fair and world.room_asked_for[-1].keys() == room.keys())
    world.run()
    world.bring("a", count=20)
    world.tend()
    world.tend()
    assert len(world.children) == world.specs["a"].parallelism


@many(200)
@given(HISTORIES, st.booleans())
def test_a_stop_at_any_moment_leaves_nothing_running(moves: list[Move], fair: bool) -> None:
    world = play(moves, fair=fair, stop_time=100.0)
    world.tell(events.StopRequested())
    world.settle_down()
    assert world.exit is not None
    assert world.exit.status == 0
    assert nothing_is_held(world)
    assert not world.children
