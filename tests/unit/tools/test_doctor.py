"""What the doctor makes of what it finds."""

import dataclasses
from typing import Any

import pytest

from pepsi.config.load import load_text
from pepsi.db.schema import SchemaState, Verdict
from pepsi.sched.lookout import Holder, Sight
from pepsi.tools.doctor import Facts, Finding, Grade, examine, worst

CONFIG = load_text(
    "[pepsi-postgres]\nDSN = dbname=a\n[pepsi-ingress]\nENTRY_STAGE = a\n"
    "[stage-a]\nPROGRAM = a\nPARALLELISM = 10\nNEXT_STAGE = b\n[stage-b]\nPROGRAM = b\nPARALLELISM = 30\n"
)
WELL = Facts(
    version=150_004,
    encoding="UTF8",
    standby=False,
    pooled=False,
    skew=0.1,
    rtt=0.01,
    max_connections=100,
    reserved=3,
    connection_limit=None,
    others=10,
    autovacuum=True,
    fsync=True,
    full_page_writes=True,
    schema=SchemaState(verdict=Verdict.CURRENT, release=3, shipped=3),
)


def held(seconds: float | None, dead: int = 0) -> Sight:
    """What the queue's table shows while somebody has held a snapshot for so long."""
    return Sight(dead=dead, live=0, holder=Holder(kind="session", name="7", seconds=seconds, transactions=9))


def troubles(**changes: Any) -> list[Finding]:
    findings = examine(dataclasses.replace(WELL, **changes), CONFIG)
    return [finding for finding in findings if finding.grade is not Grade.GOOD]


def test_nothing_is_wrong_with_a_good_server() -> None:
    assert troubles() == []
    assert worst(examine(WELL, CONFIG)) is Grade.GOOD


@pytest.mark.parametrize(
    ("changes", "grade", "mend"),
    [
        ({"version": 130_000}, Grade.BAD, "14 or newer"),
        ({"encoding": "SQL_ASCII"}, Grade.BAD, "pepsi-setup database create"),
        ({"standby": True}, Grade.BAD, "primary"),
        ({"pooled": True}, Grade.BAD, "PostgreSQL itself"),
        ({"max_connections": 59}, Grade.BAD, "max_connections of the server to 60, or lower PARALLELISM, which is 30"),
        ({"others": 60}, Grade.BAD, "max_connections of the server to 110"),
        ({"connection_limit": 46}, Grade.BAD, "CONNECTION LIMIT of the role or the database to 47"),
        ({"autovacuum": False}, Grade.BAD, "set autovacuum"),
        ({"neglected": ("workqueue",)}, Grade.BAD, "ALTER TABLE pepsi.workqueue RESET"),
        ({"sight": held(seconds=300.0)}, Grade.DOUBT, "SELECT pg_terminate_backend(7)"),
        ({"sight": held(seconds=None, dead=50_000)}, Grade.DOUBT, "SELECT pg_terminate_backend(7)"),
        ({"unclaimed": (("gone", 3),)}, Grade.BAD, "pepsi-queue set-stage"),
        ({"fsync": False}, Grade.BAD, "set fsync to on"),
        ({"full_page_writes": False}, Grade.BAD, "set full_page_writes to on"),
        ({"skew": -3.0}, Grade.DOUBT, "NTP"),
        ({"skew": 90.0}, Grade.DOUBT, "NTP"),
        (
            {"schema": SchemaState(verdict=Verdict.OLDER, release=2, shipped=3)},
            Grade.BAD,
            "'pepsi-setup schema upgrade' brings it up to date",
        ),
    ],
)
def test_each_trouble_comes_with_its_mend(changes: dict[str, Any], grade: Grade, mend: str) -> None:
    (finding,) = troubles(**changes)
    assert finding.grade is grade
    assert mend in finding.mend


@pytest.mark.parametrize("sight", [held(seconds=299.0, dead=50_000), held(seconds=None)])
def test_who_has_not_held_old_rows_for_long_or_does_no_harm_is_not_talked_of(sight: Sight) -> None:
    assert troubles(sight=sight) == []


def test_room_that_just_suffices_is_enough() -> None:
    assert troubles(max_connections=60) == []
    assert troubles(connection_limit=47) == []


def test_a_slow_answer_does_not_make_a_clock_wrong() -> None:
    assert troubles(skew=4.0, rtt=5.0) == []


def test_the_worst_finding_decides() -> None:
    doubt, bad = Finding(Grade.DOUBT, "a"), Finding(Grade.BAD, "b")
    assert worst([doubt, Finding(Grade.GOOD, "c")]) is Grade.DOUBT
    assert worst([bad, doubt]) is Grade.BAD
