"""What a simulation has shown: a value that can be printed as JSON, and a table for people."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pepsi.simulate.histogram import Histogram
from pepsi.simulate.records import Outcome, Records

QUANTILES = (("p50", 0.50), ("p95", 0.95), ("p99", 0.99))
MOST_NOTES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """*simulated* and *wall* are seconds: of the virtual clock until the last message was gone, and of ours."""

    what: str
    records: Records
    simulated: float
    wall: float

    def as_json(self) -> dict[str, Any]:
        """Return all of it. Seconds throughout."""
        records = self.records
        done = records.outcomes[Outcome.DONE]
        return {
            "what": self.what,
            "messages": records.arrivals,
            "done": done,
            "failed": records.outcomes[Outcome.FAILED],
            "simulated_s": round(self.simulated, 3),
            "last_arrival_s": round(records.last_arrival, 3),
            "wall_s": round(self.wall, 3),
            "messages_per_s": round(done / self.simulated, 3) if self.simulated else 0.0,
            "simulated_messages_per_minute": round(60 * done / self.wall) if self.wall else 0,
            "claims": records.claims,
            "waits": [
                {"class": group, "stage": stage, **_times(times)}
                for (group, stage), times in sorted(records.waits.items())
            ],
            "ways": [{"class": group, **_times(times)} for group, times in sorted(records.ways.items())],
            "fairness": {
                "jain_worst": round(records.windows.worst, 4),
                "jain_mean": round(records.windows.mean, 4),
                "windows": records.windows.count,
                "window_s": records.window,
                "senders": records.windows.widest,
            },
            "stages": {
                stage: {
                    "worker_s": round(workers.seconds, 3),
                    "busy_s": round(workers.busy, 3),
                    "starts": workers.starts,
                    "stops": workers.ends,
                    "most": workers.most,
                }
                for stage, workers in records.workers.items()
            },
            "most_workers": records.most_workers,
            "notes": [
                {"level": level.value, "text": text, "times": times}
                for (level, text), times in records.notes.most_common(MOST_NOTES)
            ],
        }

    def lines(self) -> Iterator[str]:
        """Yield the lines of the table."""
        facts = self.as_json()
        yield self.what
        yield ""
        rows = [(each["class"], each["stage"], *_cells(each)) for each in facts["waits"]]
        rows += [(each["class"], "(whole way)", *_cells(each)) for each in facts["ways"]]
        yield from _table(("class", "waits at", "messages", *(name for name, _ in QUANTILES), "max"), rows)
        yield ""
        stages = [
            (
                stage, str(each["starts"]), str(each["stops"]), str(each["most"]), f"{each['worker_s']:.0f}",
                f"{100 * each['busy_s'] / each['worker_s']:.0f} %" if each["worker_s"] else "-",
            )
            for stage, each in facts["stages"].items()
        ]  # fmt: skip
        yield from _table(("stage", "starts", "stops", "most at once", "worker-seconds", "busy"), stages)
        yield ""
        fairness = facts["fairness"]
        if fairness["windows"]:
            yield (
                f"fairness (Jain): {fairness['jain_worst']:.3f} in the worst, {fairness['jain_mean']:.3f} in the mean "
                f"of {fairness['windows']} windows of {fairness['window_s']:g} s, in which up to "
                f"{fairness['senders']} senders waited"
            )
        else:
            yield "fairness (Jain): no two senders had mail waiting all through a window"
        yield (
            f"{facts['done']} messages done and {facts['failed']} failed in {_seconds(self.simulated)} "
            f"({facts['messages_per_s']:.1f} a second), {facts['claims']} claims"
        )
        yield f"simulated in {_seconds(self.wall)} ({facts['simulated_messages_per_minute']} messages a minute)"
        for note in facts["notes"]:
            yield f"the dispatcher says {note['times']} times ({note['level']}): {note['text']}"


def _times(times: Histogram) -> dict[str, float]:
    quantiles = {f"{name}_s": round(times.quantile(share), 6) for name, share in QUANTILES}
    mean = times.total / times.count if times.count else 0.0
    return {"messages": times.count, "mean_s": round(mean, 6), **quantiles, "max_s": round(times.largest, 6)}


def _cells(times: dict[str, float]) -> tuple[str, ...]:
    names = [f"{name}_s" for name, _ in QUANTILES]
    return f"{times['messages']:.0f}", *(_seconds(times[name]) for name in names), _seconds(times["max_s"])


def _seconds(value: float) -> str:
    if value < 0.9995:
        return f"{1000 * value:.3g} ms" if value < 0.0995 else f"{1000 * value:.0f} ms"
    return f"{value:.3g} s" if value < 99.5 else f"{value:.0f} s"


def _table(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield lines of columns: names to the left, numbers to the right."""
    cells = [heading, *rows]
    widths = [max(len(row[column]) for row in cells) for column in range(len(heading))]
    names = 2 if "waits at" in heading else 1
    for row in cells:
        aligned = [
            cell.ljust(width) if column < names else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(aligned).rstrip()
