"""The report of a chaos run, for people and for programs."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from tests.chaos.faults import Fault
from tests.chaos.oracle import Verdict

MOST_SHOWN = 50
"""So many violations are spelt out."""


@dataclass(frozen=True, slots=True)
class Gauge:
    """The dispatcher at a quiet moment: no mail, no worker. *memory* is resident, in bytes."""

    descriptors: int
    memory: int


@dataclass(slots=True)
class Report:
    """What a run has come to."""

    seed: int
    seconds: float
    verdict: Verdict = field(default_factory=Verdict)
    faults: Counter[str] = field(default_factory=Counter)
    missed_faults: int = 0
    restarts: int = 0
    drain_seconds: float = 0.0
    orphans: int = 0
    sessions_left: int = 0
    start: Gauge | None = None
    """Of the first dispatcher, after a little mail."""
    last_start: Gauge | None = None
    """Of the last one, when it was first looked at; it need not have been quiet."""
    last_life: float = 0.0
    """Seconds that the last one has lived."""
    end: Gauge | None = None
    violations: list[str] = field(default_factory=list)

    @property
    def leaked_descriptors(self) -> int | None:
        """Descriptors that the last dispatcher has more than the first had; None if that is not known."""
        return None if self.start is None or self.end is None else self.end.descriptors - self.start.descriptors

    @property
    def passed(self) -> bool:
        """Whether nothing was found."""
        return not self.violations

    def count(self, faults: list[Fault]) -> None:
        """Take in which faults there were."""
        self.faults = Counter(fault.kind.value for fault in faults)

    def as_json(self) -> Mapping[str, Any]:
        """Return it for programs."""
        # Not asdict: it cannot copy a Counter.
        verdict = {each.name: getattr(self.verdict, each.name) for each in fields(self.verdict)}
        del verdict["violations"]
        return {
            "passed": self.passed,
            "seed": self.seed,
            "seconds": round(self.seconds, 1),
            **verdict,
            "faults": dict(sorted(self.faults.items())),
            "missed_faults": self.missed_faults,
            "restarts": self.restarts,
            "drain_seconds": round(self.drain_seconds, 1),
            "orphans": self.orphans,
            "sessions_left": self.sessions_left,
            "leaked_descriptors": self.leaked_descriptors,
            "start": self.start and asdict(self.start),
            "last_start": self.last_start and asdict(self.last_start),
            "last_life_seconds": round(self.last_life, 1),
            "end": self.end and asdict(self.end),
            "violations": self.violations[:MOST_SHOWN],
            "violations_in_all": len(self.violations),
        }

    def as_text(self) -> str:
        """Return it for people."""
        verdict = self.verdict
        kinds = ", ".join(f"{count} {kind}" for kind, count in self.faults.most_common()) or "none"
        excused = ", ".join(f"{count} by {kind}" for kind, count in verdict.doubles_by_fault.most_common())
        done = (
            f"{verdict.finished} finished, {verdict.refused} refused, {verdict.crashed} crashed by design, "
            f"{verdict.struck_out} struck out by faults; {verdict.unsure} never came to be"
        )
        doubles = f"{verdict.doubles}{f' ({excused})' if excused else ''}, unexplained {verdict.unexplained_doubles}"
        at_once = f"{verdict.overlaps}, and {verdict.overlaps_of_two_dispatchers} under two dispatchers"
        last = f"the last dispatcher, in {self.last_life:.0f} s"
        lines = [
            f"seed {self.seed}, {self.seconds:.0f} s of faults, then {self.drain_seconds:.0f} s until all was still",
            f"faults      {sum(self.faults.values())}: {kinds}",
            f"messages    {verdict.messages}: {done}",
            f"executions  {verdict.executions}, of which {verdict.cut} were cut short",
            f"losses      {verdict.losses}",
            f"doubles     {doubles}",
            f"at once     {at_once}",
            f"restarts    {self.restarts} of the dispatcher",
            f"orphans     {self.orphans} processes, {self.sessions_left} sessions",
            f"descriptors {_pair(self.start, self.end, 'descriptors', 1, '')}, leaked {self.leaked_descriptors}",
            f"memory      {_pair(self.start, self.end, 'memory', 2**20, ' MiB')}",
            f"            {last}: {_pair(self.last_start, self.end, 'memory', 2**20, ' MiB')}",
        ]
        lines += [f"violation   {text}" for text in self.violations[:MOST_SHOWN]]
        lines.append("passed" if self.passed else f"FAILED: {len(self.violations)} violations")
        return "\n".join(lines)


def _pair(first: Gauge | None, last: Gauge | None, name: str, unit: int, suffix: str) -> str:
    def shown(gauge: Gauge | None) -> str:
        return "unknown" if gauge is None else f"{getattr(gauge, name) / unit:.4g}{suffix}"

    return f"{shown(first)} at the start, {shown(last)} at the end"
