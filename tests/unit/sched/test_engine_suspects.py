"""A message during which one dispatcher after another dies is under suspicion."""

import pytest

from pepsi.sched import commands, events
from tests.unit.sched.world import World, one_stage


@pytest.mark.parametrize(("interrupted", "lines"), [(5, [(1, 2, 3)]), (6, [(2, 3), (1,)])])
def test_one_that_was_interrupted_more_than_five_times_at_a_stage_runs_alone_there(
    interrupted: int, lines: list[tuple[int, ...]]
) -> None:
    world = World({**one_stage("a", next_stage="b"), **one_stage("b")})
    world.start()
    world.inject("a", count=3)
    world.rows[1].interrupted = interrupted
    world.wake()
    world.run()
    world.tend()
    assert [hand.ids for hand in world.wanted(commands.Hand)] == lines
    for number in list(world.children):
        world.answer(number, count=3)
    world.run()
    (hand, *_) = [hand for hand in world.wanted(commands.Hand) if world.children[hand.worker].stage == "b"]
    assert len(hand.ids) > 1, "an advance has cleared it"


def test_a_worker_that_ended_by_our_sigterm_did_not_have_to_be_killed() -> None:
    for signal, said in ((15, False), (9, True)):
        world = World(one_stage())
        world.start()
        number = world.employ("a")
        world.tell(events.StopRequested())
        world.die(number, signal=signal)
        world.run()
        assert any("had to be killed" in note for note in world.notes) == said
