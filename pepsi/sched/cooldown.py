"""A pause that doubles while what caused it keeps happening."""

from dataclasses import dataclass


@dataclass(slots=True)
class Cooldown:
    """Begins with *first* seconds, doubles with each further trouble, up to *longest*; ``clear`` forgets it."""

    first: float
    longest: float
    until: float = 0.0
    length: float = 0.0

    def trouble(self, now: float) -> float:
        """Start or lengthen the pause; return its length. Trouble while it lasts changes nothing."""
        if now >= self.until:
            self.length = min(self.longest, self.length * 2) if self.length else self.first
            self.until = now + self.length
        return self.length

    def clear(self) -> None:
        """All is well again."""
        self.until = self.length = 0.0

    def active(self, now: float) -> bool:
        """Whether the pause lasts."""
        return now < self.until
