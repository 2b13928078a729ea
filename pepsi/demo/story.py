"""The story of each message: which stages it passed, how long each took, how it ended. Pure."""

import enum
from collections.abc import Iterable, Mapping, Sized
from dataclasses import dataclass

from pepsi.demo.trail import Step
from pepsi.model.row import RowStatus


class Ending(enum.StrEnum):
    """How a story ends."""

    DONE = "done"
    FAILED = "failed"
    WAITS = "waits"
    """For its next try, or for somebody to release it."""


@dataclass(frozen=True, slots=True)
class Visit:
    """A message's stay at a stage, in seconds. *worked* counts from the claim; it is None until the message leaves."""

    stage: str
    waited: float
    worked: float | None

    def __str__(self) -> str:
        if self.worked is None:
            return f"{self.stage} ..."
        return f"{self.stage} {duration(self.worked)}"


@dataclass(frozen=True, slots=True)
class Story:
    """What is known of one message. *ending* is None while it is on its way."""

    name: str
    visits: tuple[Visit, ...]
    seconds: float
    ending: Ending | None

    @property
    def way(self) -> str:
        """The stages and the time that each worked."""
        return " > ".join(str(visit) for visit in self.visits)

    @property
    def outcome(self) -> str:
        """The end and the time that all took."""
        return "on its way" if self.ending is None else f"{self.ending} after {duration(self.seconds)}"


def stories(trail: Iterable[Step], names: Mapping[int, str]) -> tuple[Story, ...]:
    """Return the story of each message of *trail*, in the order in which they came. *names* are by id."""
    by_message: dict[int, list[Step]] = {}
    for step in trail:
        by_message.setdefault(step.workqueue_id, []).append(step)
    return tuple(_story(names.get(number, f"#{number}"), steps) for number, steps in by_message.items())


def line(story: Story, width: int = 0) -> str:
    """Return *story* as one line, its name in a column of *width*."""
    return f"{story.name:<{width}}  {story.way}: {story.outcome}"


def summary(told: Iterable[Story]) -> str:
    """Return what is to be said of all stories together."""
    known = tuple(told)
    parts = [_count(known, "message")]
    for ending in Ending:
        count = sum(story.ending is ending for story in known)
        if count:
            parts.append(f"{count} {ending}")
    if any(story.ending is None for story in known):
        parts.append(f"{sum(story.ending is None for story in known)} on their way")
    visits = [visit for story in known for visit in story.visits]
    return f"{', '.join(parts)}; {_count(visits, 'pass')} through stages"


def duration(seconds: float) -> str:
    """Return *seconds* as people read them."""
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def _count(things: Sized, word: str) -> str:
    plural = word + ("es" if word.endswith("s") else "s")
    return f"{len(things)} {word if len(things) == 1 else plural}"


def _story(name: str, steps: list[Step]) -> Story:
    visits: list[Visit] = []
    here, came, began = steps[0].stage, steps[0].at, None
    for step in steps[1:]:
        if step.status is RowStatus.RUNNING:
            began = step.at
        elif step.stage != here or step.status is not RowStatus.PENDING or began is not None:
            waited_until = step.at if began is None else began
            visits.append(Visit(here, waited_until - came, None if began is None else step.at - began))
            here, came, began = step.stage, step.at, None
    last = steps[-1]
    ending = _ENDINGS.get(last.status)
    if ending is None:
        visits.append(Visit(here, (last.at if began is None else began) - came, None))
    return Story(name, tuple(visits), last.at - steps[0].at, ending)


_ENDINGS = {
    None: Ending.DONE,
    RowStatus.FAILED: Ending.FAILED,
    RowStatus.TIMEOUT: Ending.FAILED,
    RowStatus.PAUSED: Ending.WAITS,
}
