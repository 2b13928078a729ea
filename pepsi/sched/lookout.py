"""Whether somebody's old snapshot hurts, and when to say so.

PostgreSQL can clear away no row that was deleted after the oldest snapshot was taken. Every hop of a message leaves
dead rows behind, so that a dump or a forgotten transaction slows the queue down by the hour.
"""

from dataclasses import dataclass, replace

from pepsi.sched.commands import Level, Note

OLD = 300.0
"""Seconds for which a snapshot is nothing to complain of."""
MANY_DEAD = 50_000
"""Dead rows that are too many, whatever there is beside them."""
MUCH_DEAD = 10_000
"""Dead rows that are too many where few are alive: less than a tenth of them."""
REPEAT = 600.0
"""Seconds between two warnings of one holder."""

_MEND = {
    "session": "end it: SELECT pg_terminate_backend({name})",
    "standby": "end the query there, or turn its hot_standby_feedback off",
    "prepared": "COMMIT PREPARED or ROLLBACK PREPARED '{name}'",
    "slot": "bring its consumer back, or SELECT pg_drop_replication_slot('{name}')",
}
_WHAT = {
    "session": "the session of server process {name}",
    "standby": "the standby of server process {name}",
    "prepared": "the prepared transaction {name}",
    "slot": "the replication slot {name}",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Who holds the oldest snapshot, for how many seconds (None: not to be known) and *transactions*.

    *kind* is session, standby, prepared or slot; *name* its process id, transaction id or name.
    """

    kind: str
    name: str
    application: str = ""
    owner: str = ""
    seconds: float | None
    transactions: int

    def __str__(self) -> str:
        """Who it is, in words."""
        more = [f"{what} {value}" for what, value in (("user", self.owner), ("application", self.application)) if value]
        return _WHAT[self.kind].format(name=self.name) + (f" ({', '.join(more)})" if more else "")

    @property
    def mend(self) -> str:
        """What makes it let go."""
        return _MEND[self.kind].format(name=self.name)

    def same(self, other: "Holder | None") -> bool:
        """Whether *other*, seen before this, held the same snapshot: the count of transactions only grows."""
        if other is None or (self.kind, self.name) != (other.kind, other.name):
            return False
        return self.transactions >= other.transactions


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What one look at the queue's table has shown."""

    dead: int
    live: int
    holder: Holder | None

    @property
    def crowded(self) -> bool:
        """Whether there are too many dead rows."""
        return self.dead >= MANY_DEAD or (self.dead >= MUCH_DEAD and self.dead >= 10 * self.live)


class Lookout:
    """Remembers what was seen and said. *seen* is the last look; its holder's age is known, if only from watching."""

    def __init__(self) -> None:
        self.seen: Sight | None = None
        self._since = 0.0
        self._told: Holder | None = None
        self._told_at = 0.0

    def look(self, sight: Sight, now: float) -> list[Note]:
        """Take in what was seen at *now*, and return what is to be said of it."""
        last = self.seen.holder if self.seen is not None else None
        holder = sight.holder
        if holder is not None:
            if not holder.same(last):
                self._since = now
            if holder.seconds is None:
                holder = replace(holder, seconds=now - self._since)
        self.seen = replace(sight, holder=holder)
        notes = []
        if self._told is not None and (holder is None or not holder.same(self._told)):
            text = "{holder} no longer keeps dead rows of the queue from being cleared away"
            notes.append(Note(Level.INFO, text, {"holder": str(self._told)}))
            self._told = None
        if holder is None or (holder.seconds or 0.0) < OLD or not sight.crowded:
            return notes
        if self._told is None or now - self._told_at >= REPEAT:
            text = (
                "{holder} has kept dead rows of the queue from being cleared away for {seconds:.0f} s and "
                "{transactions} transactions; there are {dead} of them beside {live} live ones, and they slow the "
                "queue down. To mend that, {mend}"
            )
            facts = {
                "holder": str(holder),
                "seconds": holder.seconds,
                "transactions": holder.transactions,
                "dead": sight.dead,
                "live": sight.live,
                "mend": holder.mend,
            }
            notes.append(Note(Level.WARN, text, facts))
            self._told, self._told_at = holder, now
        return notes
