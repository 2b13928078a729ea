"""What chance deals in a chaos run, and what is written down and read again."""

import itertools
import os
import random
import subprocess
import sys
from pathlib import Path

from tests.arch.checkout import CHECKOUT
from tests.chaos import faults, plan, record
from tests.chaos.faults import Kind
from tests.chaos.plan import Deed, Plan
from tests.chaos.record import Event, Outcome, Recorder


def test_a_plan_is_read_from_its_subject_as_it_was_written() -> None:
    chance = random.Random(1)
    for key in range(500):
        drawn = plan.draw(key, chance)
        assert plan.read(drawn.subject).subject == drawn.subject


def test_every_deed_is_drawn() -> None:
    chance = random.Random(1)
    assert {plan.draw(key, chance).deed for key in range(200_000)} == set(Deed)


def test_one_deck_has_every_kind_of_fault_and_a_seed_deals_the_same_again() -> None:
    dealt = list(itertools.islice(faults.deal(random.Random(5)), faults.DECK))
    assert set(dealt) == set(Kind) - {Kind.CRASH, Kind.WAITING_KILL, Kind.DISPATCHER_REPLACED}
    assert dealt == list(itertools.islice(faults.deal(random.Random(5)), faults.DECK))


def test_what_is_left_out_of_the_deck_is_never_dealt() -> None:
    calm = itertools.islice(faults.deal(random.Random(5), frozenset({Kind.SECOND})), 3 * faults.DECK)
    assert Kind.SECOND not in set(calm)


def test_the_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, plan.WORK, 3)
    recorder.begin(7, Plan(70).key)
    recorder.act(7)
    recorder.end(7, Outcome.DECIDED)
    begin, act, end = record.read(tmp_path / "record")
    assert (begin.event, begin.message, begin.word, begin.epoch, begin.pid) == (Event.BEGIN, 7, "70", 3, os.getpid())
    assert (act.event, end.event, end.word) == (Event.ACT, Event.END, "decided")
    assert begin.at <= act.at <= end.at


def test_who_is_at_work_is_told_by_the_end_of_the_record(tmp_path: Path) -> None:
    assert record.busy(tmp_path / "record") == []
    recorder = Recorder(tmp_path, plan.WORK, 3)
    for message in range(1, 1000):
        recorder.begin(message, 1)
        recorder.end(message, Outcome.DECIDED)
    assert record.busy(tmp_path / "record") == []
    recorder.begin(1000, 1)
    assert record.busy(tmp_path / "record") == [os.getpid()]


def test_a_worker_that_finds_another_one_at_its_message_says_so(tmp_path: Path) -> None:
    mine = Recorder(tmp_path, plan.WORK, 3)
    mine.begin(7, 70)
    text = (
        "import pathlib, sys\nfrom tests.chaos.record import Recorder\n"
        "other = Recorder(pathlib.Path(sys.argv[1]), 'work', 3)\nother.begin(8, 80)\nother.begin(7, 70)\n"
    )
    subprocess.run([sys.executable, "-c", text, str(tmp_path)], cwd=CHECKOUT, check=True)
    assert [(entry.event, entry.message) for entry in record.read(tmp_path / "record")] == [
        (Event.BEGIN, 7),
        (Event.BEGIN, 8),
        (Event.CLASH, 7),
        (Event.BEGIN, 7),
    ]
