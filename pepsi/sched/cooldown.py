"""A pause that doubles while what caused it keeps happening."""

from dataclasses import dataclass


@dataclass(slots=True)
class Cooldown:
    """Begins with *first* seconds, doubles with each further trouble, up to *longest*.

    ``clear`` forgets it, and so do *quiet* seconds without trouble after its end. With the one a single good sign is
    enough; the other is for trouble that comes and goes beside what goes well.
    """

    first: float
    longest: float
    quiet: float = float("inf")
    until: float = 0.0
    length: float = 0.0
    """0 when all is well."""
    began: float = 0.0
    told: bool = True
    """Whether somebody knows that the pause is over."""

    def trouble(self, now: float) -> float:
        """Start or lengthen the pause; return its length. Trouble while it lasts changes nothing."""
        if now >= self.until:
            if now >= self.until + self.quiet:
                self.length = 0.0
            self.length = min(self.longest, self.length * 2) if self.length else self.first
            self.began, self.until = now, now + self.length
            self.told = False
        return self.length

    def clear(self) -> None:
        """All is well again."""
        self.until = self.length = 0.0
        self.told = True

    def active(self, now: float) -> bool:
        """Whether the pause lasts."""
        return now < self.until

    def just_over(self, now: float) -> bool:
        """Whether the pause has ended since this was asked last."""
        over = not self.told and not self.active(now)
        self.told = self.told or over
        return over
