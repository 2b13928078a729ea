"""The metrics: each declared once, explained in docs/metrics.md, and readable at any time of a dispatcher's life."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from pepsi.httpd.exposition import Exposition
from pepsi.httpd.metrics import METRICS, Metric
from pepsi.sched.events import Wake
from pepsi.sched.lookout import Holder, Sight
from pepsi.sched.meters import Histogram, Meters
from pepsi.sched.reading import Reading
from pepsi.sched.worker import Life
from tests.arch.checkout import CHECKOUT
from tests.unit.sched.world import World, one_stage


def shown(metric: Any) -> str:
    """The name under which a metric appears on the page."""
    return metric.name + ("_total" if metric.kind == "counter" else "")


def samples(reading: Reading) -> Iterator[tuple[str, dict[str, str], float]]:
    """What a scraper makes of the page."""
    for family in text_string_to_metric_families(Exposition(lambda: reading).render().decode()):
        for sample in family.samples:
            if sample.name.startswith("pepsi_"):
                yield sample.name, sample.labels, sample.value


def at_rest() -> Reading:
    return Reading(epoch=None, sessions={}, gauges=None, meters=Meters())


def at_work(stage: str = "a") -> Reading:
    world = World(one_stage(stage))
    world.start()
    number = world.employ(stage, count=2)
    world.now += 2.0
    world.answer(number)
    world.run()
    sessions = {"writes": True, "listening": False}
    sight = Sight(dead=5, live=6, holder=Holder(kind="session", name="77", seconds=12.5, transactions=99))
    gauges = world.engine.gauges(world.now)
    return Reading(epoch=7, sessions=sessions, gauges=gauges, meters=Meters(), sight=sight)


def test_the_documentation_lists_every_metric_as_it_is_declared() -> None:
    text = (CHECKOUT / "docs/metrics.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(pepsi_\w+)` \| (\w+) \| (.*?) \| (.*) \|$", text, re.MULTILINE)
    declared = [(shown(m), str(m.kind), ", ".join(f"`{label}`" for label in m.labels), m.help) for m in METRICS]
    assert rows == declared


def test_the_documentation_lists_every_state_and_every_reason() -> None:
    text = (CHECKOUT / "docs/metrics.md").read_text(encoding="utf-8")
    for intro, names in (("states of workers are", Life), ("reasons are", Wake)):
        (listed,) = re.findall(rf"{intro} ([^;.]*)", text)
        assert re.findall(r"`(\w+)`", listed) == [name.value for name in names]


def test_no_metric_is_declared_twice() -> None:
    names = [metric.name for metric in METRICS]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"pepsi_[a-z_]+(?<!_total)", name) for name in names)


@pytest.mark.parametrize("reading", [at_rest(), at_work()], ids=["at rest", "at work"])
def test_the_page_can_be_read_before_mail_moves_and_while_it_does(reading: Reading) -> None:
    names = {name for name, _, _ in samples(reading)}
    assert {"pepsi_lock_held", "pepsi_build_info", "pepsi_claim_seconds_bucket", "pepsi_claims_failed_total"} <= names


def test_at_work_every_metric_has_a_value() -> None:
    names = {re.sub("_(bucket|count|sum)$", "", name) for name, _, _ in samples(at_work())}
    assert {shown(metric) for metric in METRICS} <= names


def test_the_page_says_what_the_engine_holds() -> None:
    values = {(name, *labels.values()): value for name, labels, value in samples(at_work())}
    assert values["pepsi_epoch",] == 7
    assert values["pepsi_database_up", "listening"] == 0
    assert values["pepsi_oldest_snapshot_seconds",] == 12.5
    assert values["pepsi_oldest_snapshot_transactions",] == 99
    assert values["pepsi_dead_rows",] == 5
    assert values["pepsi_in_flight", "a"] == 1
    assert values["pepsi_workers", "a", "ready"] == 1
    assert values["pepsi_messages_total", "a"] == 1
    assert values["pepsi_work_seconds_total", "a"] == 2
    assert values["pepsi_passes_total",] == 1
    assert values["pepsi_wakes_total", "notified"] == 1


def test_the_name_of_a_stage_cannot_break_the_page() -> None:
    stage = 'a"}\n\\pepsi_epoch 99'
    values = [
        (labels.get("stage"), value) for name, labels, value in samples(at_work(stage)) if name == "pepsi_in_flight"
    ]
    assert values == [(stage, 1.0)]


def test_labels_are_stages_states_and_reasons_and_nothing_that_mail_chooses() -> None:
    labels = {label for metric in METRICS if isinstance(metric, Metric) for label in metric.labels}
    assert labels == {"stage", "state", "reason", "session", "version"}


def test_a_histogram_counts_each_value_once_and_a_bound_is_included() -> None:
    histogram = Histogram((1.0, 2.0))
    for value in (0.5, 1.0, 1.5, 99.0):
        histogram.observe(value)
    assert list(histogram.cumulated()) == [(1.0, 2), (2.0, 3), (float("inf"), 4)]
    assert histogram.sum == 102.0


@pytest.mark.parametrize(
    ("reading", "trouble"),
    [
        (at_rest(), "starting, or waiting for the dispatcher's lock"),
        (at_work(), "no database for: listening"),
    ],
)
def test_what_keeps_mail_from_moving_is_named(reading: Reading, trouble: str) -> None:
    assert reading.trouble == trouble
