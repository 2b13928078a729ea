"""The parts of the benchmarks that reckon, and what they promise to programs. Nothing here takes a time."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import backlog, crowds, drain, fairness, fusion, latency, queue_start, snapshot
from benchmarks.__main__ import BENCHMARKS, beside, parse
from benchmarks.errors import BenchmarkError
from benchmarks.figures import interleaved, jain, percentile
from benchmarks.machine import Load
from benchmarks.options import Options
from benchmarks.processor import Used, parent_of, used
from benchmarks.record import Moment, Record
from benchmarks.report import Goal, Report, as_json, table
from benchmarks.shares import Work, shares
from benchmarks.starvation import Arrived, worst_wait

DOCUMENT = Path(__file__).resolve().parent.parent.parent / "docs/benchmarks.md"
VALUES = st.lists(st.floats(min_value=-1e9, max_value=1e9), min_size=1)


@given(VALUES, st.floats(min_value=0.01, max_value=100))
def test_a_percentile_is_the_smallest_value_that_enough_of_them_do_not_exceed(
    values: list[float], percent: float
) -> None:
    found = percentile(values, percent)
    assert sum(value <= found for value in values) >= len(values) * percent / 100
    assert sum(value < found for value in values) < len(values) * percent / 100


@pytest.mark.parametrize(("percent", "expected"), [(50, 50), (99, 99), (99.1, 100), (100, 100), (1, 1), (0.1, 1)])
def test_percentiles_of_one_to_a_hundred(percent: float, expected: float) -> None:
    assert percentile(range(100, 0, -1), percent) == expected


@pytest.mark.parametrize(("values", "percent"), [([], 50), ([1.0], 0), ([1.0], 101), ([1.0], -1)])
def test_a_percentile_that_makes_no_sense_is_refused(values: list[float], percent: float) -> None:
    with pytest.raises(ValueError, match="expected"):
        percentile(values, percent)


def test_subjects_take_turns_and_every_other_round_goes_backwards() -> None:
    assert "".join(interleaved("abc", 3)) == "abccbaabc"


@given(st.integers(min_value=1, max_value=20).map(lambda pairs: 2 * pairs))
def test_over_an_even_number_of_rounds_nobody_comes_earlier_than_the_others(rounds: int) -> None:
    order = interleaved("ab", rounds)
    places = {subject: [place for place, found in enumerate(order) if found == subject] for subject in "ab"}
    assert sum(places["a"]) == sum(places["b"])


@pytest.mark.parametrize(
    ("goal", "value", "met"),
    [
        (Goal(key="k", at_least=0.4), 0.4, True),
        (Goal(key="k", at_least=0.4), 0.39, False),
        (Goal(key="k", at_most=1.5), 1.5, True),
        (Goal(key="k", at_most=1.5), 1.51, False),
    ],
)
def test_a_goal_is_met_up_to_its_bound(goal: Goal, value: float, met: bool) -> None:
    assert goal.met_by(value) is met
    assert ("MISSED" in goal.judged(value)) is not met


def test_a_table_has_words_to_the_left_and_figures_to_the_right() -> None:
    assert table(("what", "n"), [("a", "1"), ("bb", "100")]).splitlines() == [
        "what    n",
        "---------",
        "a       1",
        "bb    100",
    ]


def run_of(seconds: float) -> drain.Run:
    return drain.Run(seconds=seconds, claiming=0.1, working=0.2, serving=0.3)


def drained() -> Report:
    pepsi, plain = [run_of(seconds) for seconds in (9.0, 5.0, 4.0)], [run_of(seconds) for seconds in (1.0, 2.0, 8.0)]
    return drain.report(pepsi, plain, 1000, Options(queue_limit=4))


def test_drain_compares_the_medians() -> None:
    keys = drained().keys
    assert (keys["messages_per_s"], keys["ceiling_per_s"], keys["ratio"], keys["queue_limit"]) == (200, 500, 0.4, 4)
    assert keys["pepsi_working_us"] == 200


def test_fusion_tells_the_worse_of_its_queue_limits() -> None:
    seconds = {fusion.SINGLE: (1.0, 4.0), fusion.CHAIN: (1.2, 6.0), fusion.UNFUSED: (7.0, 8.0)}
    runs = {
        (subject, limit): [run_of(times[place])]
        for place, limit in enumerate(fusion.QUEUE_LIMITS)
        for subject, times in seconds.items()
    }
    keys = fusion.report(runs, 1000).keys
    assert (keys["chain8_over_single"], keys["unfused8_over_single"]) == (1.5, 7)
    assert (keys["chain8_over_single_4"], keys["chain8_us_64"], keys["chain8_over_single_cpu_4"]) == (1.2, 6000, 1)


@pytest.mark.parametrize(("subject", "length"), [(fusion.SINGLE, 1), (fusion.CHAIN, 8), (fusion.UNFUSED, 8)])
def test_fusion_measures_a_chain_of_which_each_stage_leads_to_the_next(subject: str, length: int) -> None:
    sections = fusion.sections(subject, 4)
    names = list(sections)
    assert len(names) == length
    assert [keys.get("ELSE_STAGE") for keys in sections.values()] == [*names[1:], None]
    assert {keys.get("FUSION") for keys in sections.values()} == {"no" if subject == fusion.UNFUSED else None}


def test_latency_tells_percentiles_in_milliseconds() -> None:
    keys = latency.report([float(value) for value in range(1, 101)], [0.5] * 100).keys
    assert (keys["p50_ms"], keys["p99_ms"], keys["max_ms"], keys["commit_p50_ms"]) == (50, 99, 100, 0.5)


def test_backlog_tells_the_worse_of_its_shapes_from_the_shallowest_queue_to_the_deepest() -> None:
    keys = backlog.ratios(
        {
            ("flat", 1000): (1.0, 10.0),
            ("flat", 10**5): (7.0, 10.0),
            ("flat", 10**6): (1.1, 10.0),
            ("steep", 1000): (2.0, 10.0),
            ("steep", 10**5): (2.0, 10.0),
            ("steep", 10**6): (6.0, 500.0),
        }
    )
    assert (keys["time_ratio"], keys["rows_read_ratio"], keys["time_ratio_flat"]) == (3, 50, 1.1)
    assert (keys["shallowest"], keys["deepest"]) == (1000, 10**6)


def test_tool_compares_the_medians() -> None:
    starts = {
        name: [queue_start.Start(real=value, processor=value / 2) for value in values]
        for name, values in {
            queue_start.TOOL: (400.0, 300.0, 900.0),
            queue_start.PSQL: (40.0, 20.0, 10.0),
            queue_start.PYTHON: (250.0, 250.0, 250.0),
        }.items()
    }
    keys = queue_start.report(starts).keys
    assert (keys["over_psql"], keys["queue_ms"], keys["psql_ms"], keys["imports_cpu_ms"]) == (20, 400, 20, 125)


def test_backlog_tells_the_slowest_crowd_beside_the_quickest_at_the_worse_capacity() -> None:
    costs = {(10, 4): (1.0, 20.0), (64, 4): (1.5, 30.0), (10, 64): (2.0, 90.0), (64, 64): (5.0, 200.0)}
    keys = crowds.keys(costs)
    assert (keys["senders_time_ratio"], keys["senders_time_ratio_at_4"], keys["ms_64_senders_at_64"]) == (2.5, 1.5, 5.0)


def test_fairness_is_one_when_all_have_the_same() -> None:
    assert jain([2.0] * 10) == pytest.approx(1.0)
    assert jain([1.0, 0.0, 0.0, 0.0]) == pytest.approx(0.25)
    assert jain([0.0, 0.0]) == 1.0


def test_time_is_shared_out_to_the_windows_that_it_falls_in() -> None:
    work = [Work(0, 5.0, 7.0), Work(1, 14.0, 17.0), Work(1, 30.0, 31.0)]
    assert shares(work, 2, 2) == [[2.0, 1.0], [0.0, 2.0]]


def test_a_wait_is_measured_by_the_rows_that_were_there_before() -> None:
    quick = [Arrived(float(second), second + 0.1, second + 1.0) for second in range(10)]
    patient = Arrived(0.0, 8.0, 9.0)
    assert worst_wait(quick, 0.5) == pytest.approx(0.1 * 0.5 * 10 / 9.9)
    assert worst_wait([*quick, patient], 0.5) == pytest.approx(8.0 * 0.5 * 11 / 9.9 / 2)


def test_fairness_tells_p99_beside_that_of_the_sender_alone() -> None:
    waits = {"alone": [10.0, 20.0], "fair": [30.0, 30.0], "fifo": [2000.0]}
    keys = fairness.report(waits, [0.99, 0.97], 0.5, fairness.QUICK).keys
    assert (keys["light_p99_over_alone"], keys["fifo_light_p99_over_alone"], keys["jain"]) == (1.5, 100.0, 0.97)
    assert keys["worst_wait_over_bound"] == 0.5


def test_rates_leave_out_the_beginning() -> None:
    slow_then_quick = [0.0, 0.5, 1.0, *(2.0 + number / 100 for number in range(400))]
    found = snapshot.rates(slow_then_quick)
    assert (round(found.overall), round(found.first), round(found.last)) == (100, 100, 100)
    with pytest.raises(BenchmarkError, match="too few"):
        snapshot.rates([number / 1000 for number in range(1000)])


def test_snapshot_tells_the_worst_of_its_cases() -> None:
    one, many = snapshot.Case(4, 1), snapshot.Case(64, 20_000)
    rates = {
        (one, False): snapshot.Rates(overall=100, first=1, last=1),
        (one, True): snapshot.Rates(overall=90, first=100, last=95),
        (many, False): snapshot.Rates(overall=100, first=1, last=1),
        (many, True): snapshot.Rates(overall=80, first=100, last=98),
    }
    keys = snapshot.report(rates, 1000).keys
    assert (keys["last_over_first"], keys["snapshot_over_clean"]) == (0.95, 0.8)
    assert keys["last_over_first_64_20000"] == 0.98


def test_a_record_reads_on_and_keeps_what_came_first(tmp_path: Path) -> None:
    record = Record(tmp_path / "record")
    assert record.read() == {}
    record.path.write_bytes(b"1 10\n2 20 30\n3 4")
    assert record.read() == {1: Moment(10, 10), 2: Moment(20, 30)}
    with record.path.open("ab") as file:
        file.write(b"0\n1 99\n")
    assert record.read() == {1: Moment(10, 10), 2: Moment(20, 30), 3: Moment(40, 40)}


def test_the_json_of_one_benchmark_is_one_line_with_its_keys_at_the_top() -> None:
    line = as_json([drained()], {"cores": 2})
    assert "\n" not in line
    found = json.loads(line)
    assert {"messages_per_s", "ceiling_per_s", "ratio", "queue_limit"} <= found.keys()
    assert (found["benchmark"], found["machine"]) == ("drain", {"cores": 2})


def test_the_json_of_several_benchmarks_has_each_under_its_name() -> None:
    found = json.loads(as_json([drained(), latency.report([1.0], [1.0])], {}))
    assert found.keys() == {"drain", "latency", "machine"}
    assert found["latency"]["p99_ms"] == 1


def test_a_report_from_a_busy_machine_says_so() -> None:
    busy, quiet = (beside(drained(), Load(others=others, average=3.0)) for others in (0.5, 0.01))
    assert "Indicative only: others used 50%" in busy.text()
    assert "Indicative" not in quiet.text()
    assert busy.keys["others"] == 0.5


def test_help_has_a_sentence_on_each_benchmark(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        parse(["--help"])
    said = " ".join(capsys.readouterr().out.split())
    for name, benchmark in BENCHMARKS.items():
        assert f"{name} {benchmark.sentence}" in said


@pytest.mark.parametrize(
    "wrong", [[], ["nonsense"], ["drain", "--queue-limit", "0"], ["drain", "--directory", "/none"]]
)
def test_a_command_line_that_makes_no_sense_is_refused(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        parse(wrong)
    assert "error:" in capsys.readouterr().err


def test_each_benchmark_has_its_chapter_in_the_documentation() -> None:
    assert {f"## {name}" for name in BENCHMARKS} <= set(DOCUMENT.read_text(encoding="utf-8").splitlines())


def test_processor_time_is_counted_from_one_look_to_the_next() -> None:
    first, second = used(os.getpid()), used(os.getpid())
    assert (second - first).own >= 0
    assert Used(3.0, 5.0) - Used(1.0, 1.0) == Used(2.0, 4.0)
    assert parent_of(os.getpid()) == os.getppid()
