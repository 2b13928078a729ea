"""The ledger of held ids: each in one place, and a second claim of an id waits for the first."""

from pepsi.sched.held import Held, Ledger, Place


def held(workqueue_id: int, claim: int = 1, stage: str = "a") -> Held:
    return Held(workqueue_id, claim, stage, strikes=0)


def where(claim: Held) -> Place:
    return claim.place


def test_a_new_claim_goes_on_at_once() -> None:
    ledger, first = Ledger(), held(5)
    assert ledger.take(first)
    assert ledger.knows(5)
    assert not ledger.knows(6)
    assert where(first) is Place.WAITING
    assert first.key == (5, 1)


def test_a_second_claim_of_a_held_id_is_parked_and_goes_on_when_the_first_is_released() -> None:
    ledger, first, second = Ledger(), held(5, claim=1, stage="a"), held(5, claim=2, stage="b")
    ledger.take(first)
    assert not ledger.take(second)
    assert where(second) is Place.PARKED
    assert ledger.release(first) is second
    assert where(second) is Place.WAITING
    assert list(ledger) == [second]
    assert ledger.release(second) is None
    assert not ledger.knows(5)


def test_parked_claims_count_as_in_flight_at_their_own_stage() -> None:
    ledger, first, second = Ledger(), held(5, stage="a"), held(5, claim=2, stage="b")
    ledger.take(first)
    ledger.take(second)
    assert (ledger.in_flight("a"), ledger.in_flight("b")) == (1, 1)
    assert list(ledger) == [first, second]
    ledger.release(first)
    assert (ledger.in_flight("a"), ledger.in_flight("b")) == (0, 1)
    ledger.release(second)
    assert (ledger.in_flight("a"), ledger.in_flight("b")) == (0, 0)


def test_a_third_claim_takes_the_place_of_the_parked_one_and_its_slot() -> None:
    ledger, first, second, third = Ledger(), held(5), held(5, claim=2, stage="b"), held(5, claim=3, stage="c")
    for claim in (first, second, third):
        ledger.take(claim)
    assert [ledger.in_flight(stage) for stage in "abc"] == [1, 0, 1]
    assert ledger.release(first) is third
    assert list(ledger) == [third]


def test_nothing_is_in_flight_at_a_stage_nobody_has_heard_of() -> None:
    assert Ledger().in_flight("a") == 0
    assert len(Ledger()) == 0
