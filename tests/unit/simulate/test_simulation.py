"""Mail against the real engine under a virtual clock."""

import math
import random
from collections.abc import Iterator

import pytest

from pepsi.sched.commands import Level
from pepsi.simulate.arrival import Arrival
from pepsi.simulate.letter import Letter
from pepsi.simulate.model import Costs, Faults
from pepsi.simulate.records import Outcome, Records
from pepsi.simulate.report import Report
from tests.unit.simulate.support import model, run, scenario, simulation, stage

EXACT = Costs(claim=0.001, turn=0.0, start=0.1)


def burst(count: int, sender: str = "a@x") -> list[Arrival]:
    return [Arrival(0.0, sender) for _ in range(count)]


def poisson(count: int, rate: float, senders: int = 100) -> Iterator[Arrival]:
    chance, time = random.Random(7).random, 0.0
    for _ in range(count):
        time -= math.log(1.0 - chance()) / rate
        yield Arrival(time, f"{int(chance() * senders)}@x")


def test_one_message_waits_for_a_claim_and_for_the_start_of_a_worker() -> None:
    made, records = run(model(stage(service="20ms"), costs=EXACT), burst(1))
    # The first claim is under way when it comes, and then its own one is.
    assert records.waits["all", "a"].largest == pytest.approx(0.101, abs=0.002)
    assert made.now == pytest.approx(0.121, abs=0.002)
    assert records.workers["a"].starts == 1


def test_a_chain_is_gone_through_stage_by_stage() -> None:
    first = stage("a", "10ms", ways=(("b", 1.0),))
    made, records = run(model(first, stage("b", "30ms"), costs=EXACT), burst(40))
    assert records.outcomes == {Outcome.DONE: 40}
    assert records.waits["all", "a"].count == records.waits["all", "b"].count == 40
    assert records.workers["b"].busy == pytest.approx(40 * 0.030)
    assert not made.table.rows and not made.letters


def test_ways_part_by_their_shares() -> None:
    fork = stage("a", "1ms", ways=(("b", 3.0), (None, 1.0)))
    _, records = run(model(fork, stage("b", "1ms")), burst(2000))
    assert records.waits["all", "b"].count == pytest.approx(1500, abs=80)


def test_a_stage_is_never_served_faster_than_its_workers_can() -> None:
    made, records = run(model(stage(service="20ms", spec={"parallelism": 4})), burst(2000), fair=False)
    assert made.now >= 2000 * 0.020 / 4
    assert made.now <= 2000 * 0.020 / 4 * 1.05 + 0.5
    assert records.workers["a"].most == 4


def test_a_worker_that_takes_all_it_holds_at_once_spares_the_cost_of_each_pass() -> None:
    spec = {"parallelism": 1, "queue_limit": 16}
    together, _ = run(model(stage(service="1ms", batch=0.020, spec=spec)), burst(640), fair=False)
    alone, _ = run(model(stage(service="21ms", spec=spec)), burst(640), fair=False)
    assert together.now < alone.now / 5


@pytest.mark.parametrize(
    ("faults", "outcome"),
    [
        (Faults(fail=0.2), Outcome.FAILED),
        (Faults(crash=0.05), Outcome.DONE),
        (Faults(hang=0.02), Outcome.DONE),
        (Faults(busy=0.02), Outcome.DONE),
    ],
)
def test_whatever_goes_wrong_each_message_comes_to_an_end(faults: Faults, outcome: Outcome) -> None:
    played = model(stage(service="exp:20ms", faults=faults, spec={"max_runtime": 5.0}))
    made, records = run(played, poisson(500, 50.0))
    assert sum(records.outcomes.values()) == 500
    assert records.outcomes[outcome] > 50
    assert not made.table.rows and not made.table.running()


def test_a_database_without_room_for_all_workers_is_told_of() -> None:
    _, records = run(model(stage(), connections=2), poisson(600, 150.0))
    assert records.outcomes[Outcome.DONE] == 600
    assert any(level is Level.WARN and "connection" in text for level, text in records.notes)


def test_the_same_seed_makes_the_same_run_and_another_one_does_not() -> None:
    played = model(stage(service="lognormal:20ms", faults=Faults(crash=0.01)))

    def told(seed: int) -> object:
        made, records = run(played, poisson(1000, 100.0), seed=seed)
        return Report(what="", records=records, simulated=made.now, wall=1.0).as_json()

    assert told(1) == told(1)
    assert told(1) != told(2)


def test_oldest_first_starves_the_light_sender_and_turns_do_not() -> None:
    size = {"messages": 4000, "duration": 30.0}
    _, fifo = scenario("bulk", model(), fair=False, **size)
    _, fair = scenario("bulk", model(), fair=True, **size)
    assert fifo.waits["light", "a"].quantile(0.5) > 5.0
    assert fair.waits["light", "a"].quantile(0.99) < 0.5
    assert fair.waits["bulk", "a"].largest < 1.5 * fifo.waits["bulk", "a"].largest


class Bounds(Records):
    """Compares each wait with what the reserved share of the stage allows. *rate* is that share, in rows a second."""

    def __init__(self, rate: float) -> None:
        super().__init__(["a"])
        self.rate = rate
        self.worst = 0.0

    def started(self, letter: Letter, stage: str, now: float) -> None:
        if letter.since is not None:
            # Beside the rows before it: a claim, the start of the first worker, what is in the pipes already.
            self.worst = max(self.worst, (now - letter.since) / (letter.before / self.rate + 2.0))
        super().started(letter, stage, now)


def newcomers(count: int, rate: float, backlog: int) -> Iterator[Arrival]:
    yield from burst(backlog, "bulk@x")
    for number in range(count):
        yield Arrival(number / rate, f"new{number}@x")


def test_nobody_starves_while_senders_of_one_message_keep_arriving() -> None:
    # More comes in than can be worked off, so that there is always a newcomer without a lead.
    capacity, percent = 4 / 0.020, 10
    bounds = Bounds(capacity * percent / 100)
    _, records = run(
        model(stage(service="20ms")),
        newcomers(50_000, 1.1 * capacity, backlog=2000),
        records=bounds,
        fair_fifo_percent=percent,
    )
    assert records.outcomes[Outcome.DONE] == 52_000
    assert bounds.worst <= 1.2


@pytest.mark.timeout(900)  # much processor time, on machines that do other things, too
def test_memory_grows_with_what_is_under_way_and_not_with_what_has_come() -> None:
    # A new sender with every other message, 200 messages at a time: half of what the stage can do.
    arrivals = (Arrival(number // 200 * 0.1, f"{number // 2}@x") for number in range(100_000))
    made, records = simulation(model(stage(service="exp:1ms", spec={"queue_limit": 64})), arrivals, fair_half_life=1.0)
    most = 0
    for _ in made.play():
        most = max(most, len(made.letters))
        fairness = made.engine._books.fairness.stages.get("a")
        leads = len(fairness.leads) if fairness is not None else 0
        assert len(made.table.rows) == len(made.letters)
        assert made.table.waiting("a").kept <= len(made.letters) + 2048
        assert len(made._heap) < 100
        assert leads < 10_000
    assert records.outcomes[Outcome.DONE] == 100_000
    assert most < 2000
    assert len(records.waits) == 1
