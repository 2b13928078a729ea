"""A worker process as the small world sees it."""

from dataclasses import dataclass, field

from pepsi.model.stage import StageSpec


@dataclass
class Child:
    """A worker process. *line* is what it has not answered, *unheard* what it answered and nobody has read."""

    spec: StageSpec
    life: str = "starting"
    line: list[int] = field(default_factory=list)
    unheard: list[int] = field(default_factory=list)
    head_since: float = 0.0
    heard_ready: bool = False
    batch: bool = False
    heard_answer: bool = False
    doomed: bool = False
    asked: bool = False
    garbled: bool = False
    outgoing: bool = False

    @property
    def stage(self) -> str:
        return self.spec.name

    @property
    def pipe(self) -> list[int]:
        """What the dispatcher takes for its line, as far as it has read."""
        return self.unheard + self.line

    @property
    def head(self) -> list[int]:
        """The first of that, or none."""
        return self.pipe[:1]

    @property
    def anyones_guess(self) -> bool:
        """Whether nobody can say on which id it is at work."""
        return self.batch and len(self.pipe) > 1
