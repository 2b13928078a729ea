"""What must hold after every step of the small world."""

from collections.abc import Collection, Mapping, Sequence, Set

from pepsi.model.row import MOST_INTERRUPTED
from pepsi.model.stage import StageSpec
from pepsi.sched.commands import Want
from pepsi.sched.engine import Engine
from pepsi.sched.events import Claimed, Event
from pepsi.sched.held import Held
from tests.unit.sched.child import Child
from tests.unit.sched.table import Key, Row, Table

WIDEST = 5
"""The largest PARALLELISM to which a history changes a stage."""


def nobody_has_too_much(children: Collection[Child], specs: Mapping[str, StageSpec]) -> None:
    """No id is with two workers; no more workers run than may, and none has more ids than it may.

    Workers that a reload sends out run beside those that take their place, but not any number of them.
    """
    at_work = [workqueue_id for child in children for workqueue_id in child.line]
    assert len(at_work) == len(set(at_work)), f"in two places: {sorted(at_work)}"
    assert all(len(child.line) <= child.spec.queue_limit for child in children)
    for stage, spec in specs.items():
        of_stage = [child for child in children if child.stage == stage]
        staying = [child for child in of_stage if child.spec == spec and not child.outgoing]
        assert len(staying) <= spec.parallelism, f"{len(staying)} workers of {stage}"
        assert len(of_stage) <= 2 * max(spec.parallelism, WIDEST)


def each_is_alone_that_must_be(child: Child, rows: Mapping[int, Row], lonely: Set[int]) -> None:
    """A message with strikes, or under suspicion, shares a worker's pipe with no other."""
    # A claim that somebody has taken away is handed over all the same; its worker finds no row.
    running = [number for number in child.pipe if number in rows and rows[number].claim is not None]
    struck = [number for number in running if rows[number].strikes or rows[number].interrupted > MOST_INTERRUPTED]
    if struck or lonely & set(child.pipe):
        assert len(child.pipe) == 1, f"{child.pipe} go together"


def no_more_is_held_than_may_be(holdings: Sequence[Held], specs: Mapping[str, StageSpec]) -> None:
    """No claim is held twice, and no more of a stage than its capacity; for whoever was not reconfigured."""
    assert len({held.key for held in holdings}) == len(holdings)
    for stage, spec in specs.items():
        assert in_flight(stage, holdings) <= spec.capacity, f"{in_flight(stage, holdings)} in flight at {stage}"


def a_claim_fits(
    wants: Sequence[Want], holdings: Sequence[Held], specs: Mapping[str, StageSpec], children: Mapping[int, Child]
) -> None:
    """A claim asks for no more than there is room for, and for something, once for each stage.

    What is in the pipes of workers that go out takes up no room.
    """
    assert wants
    assert len({want.stage for want in wants}) == len(wants)
    for want in wants:
        out = sum(len(child.pipe) for child in children.values() if child.outgoing and child.stage == want.stage)
        assert 0 < want.capacity <= specs[want.stage].capacity - in_flight(want.stage, holdings) + out
        assert 0 <= want.fifo <= want.capacity


def what_is_charged_is_held(engine: Engine, holdings: Sequence[Held]) -> None:
    """A charge is open as long as its message is held and neither measured nor given back, and no longer."""
    open_charges = sum(stage.leads.open for stage in engine._books.fairness.stages.values())
    assert open_charges == sum(held.charged is not None for held in holdings)


def in_flight(stage: str, holdings: Sequence[Held]) -> int:
    """How much of the stage's capacity is taken; strays take up none."""
    return sum(held.stage == stage and not held.stray for held in holdings)


def under_way(reports: Sequence[Event]) -> set[Key]:
    """What was claimed, and the engine does not know it yet."""
    claimed = [report for report in reports if isinstance(report, Claimed)]
    return {(row.workqueue_id, report.token) for report in claimed for row in report.rows}


def no_row_is_lost(table: Table, accounted_for: Collection[Key], unknown: Collection[int]) -> None:
    """Whatever runs is accounted for, unless it was claimed by one of the *unknown* tokens."""
    for workqueue_id, row in table.rows.items():
        if row.claim is not None and row.claim not in unknown:
            assert (workqueue_id, row.claim) in accounted_for, f"{workqueue_id} is lost"
