"""The bugs: each is a small edit of one file, and the tests that must fail by it."""

from dataclasses import dataclass

HISTORIES = "test_engine_histories.py"


@dataclass(frozen=True, slots=True)
class Bug:
    """In *file* of ``pepsi/sched`` *right* is replaced by *wrong*; one of *tests* is to fail then."""

    name: str
    file: str
    right: str
    wrong: str
    tests: tuple[str, ...] = (HISTORIES,)


BUGS = (
    Bug(
        "lost requeue", "books.py",
        "self.owe(held, requeue(held, suspect=suspect), now)", "self.release(held)",
    ),
    Bug(
        "double hand-out", "held.py",
        "        older.parked = held\n        return False", "        older.parked = held\n        return True",
    ),
    Bug(
        "forgotten strike", "strikes.py",
        "strikes = held.strikes + 1", "strikes = held.strikes",
        ("test_strikes.py",),
    ),
    Bug(
        "leaked slot", "held.py",
        "        self._count(held, -1)\n        parked = held.parked", "        parked = held.parked",
    ),
    Bug(
        "capacity exceeded", "pool.py",
        "min(capacity - in_flight, max(good, self.limit) if urgent else good)", "max(good, self.limit)",
    ),
    Bug(
        "killed worker's ids given back before its death", "crew.py",
        "        self._books.out.append(commands.Kill(worker.number))",
        "        self._books.out.append(commands.Kill(worker.number))\n        self._empty(worker, now)",
        ("test_engine_endings.py", HISTORIES),
    ),
    Bug(
        "late answer of a killed worker believed", "crew.py",
        "if worker is None or worker.life is Life.KILLED:\n            return  # too late",
        "if worker is None:\n            return  # too late",
        ("test_engine_endings.py", HISTORIES),
    ),
    Bug(
        "suspects not alone", "crew.py",
        " > MOST_INTERRUPTED or held.workqueue_id in self.suspects", " > MOST_INTERRUPTED",
    ),
    Bug(
        "suspects whose worker is not told", "crew.py",
        "suspect=held.workqueue_id in self.suspects", "suspect=False",
        ("test_engine_endings.py",),
    ),
    Bug(
        "what failed to be written forgotten", "owed.py",
        "self.due = self.flying | self.due\n        self.flying = {}\n        self.retry.trouble(now)",
        "self.flying = {}\n        self.retry.trouble(now)",
    ),
    Bug(
        "drifting charge", "leads.py",
        "measured * self._scale(now) - charged * self._scale(at)",
        "measured * self._scale(now) - charged * self._scale(now)",
        ("test_leads.py",),
    ),
    Bug(
        "refund of more than is left", "leads.py",
        "max(least, entry.value - charged * self._scale(at))", "entry.value - charged * self._scale(now)",
        ("test_leads.py",),
    ),
    Bug(
        "charge left open", "books.py",
        "            self.fairness.refund(dropped, now)", "            pass",
    ),
    Bug(
        "credit for who was quiet", "leads.py",
        "entry = self._entries[sender] = _Entry(self._ground, now)",
        "entry = self._entries[sender] = _Entry(0.0, now)",
        ("test_leads.py",),
    ),
    Bug(
        "hang charged as nothing", "crew.py",
        "spent = worker.max_runtime if hangs else", "spent = 0.0 if hangs else",
        ("test_engine_fair.py",),
    ),
    Bug(
        "carry of the oldest rows reset by each claim", "fairness.py",
        "        if all_taken:\n            self.due = max(0, self.due)", "        self.due = 0",
        ("test_fairness.py",),
    ),
    Bug(
        "window that never rotates", "fairness.py",
        'stage.after = "" if window.complete else window.last', 'stage.after = ""',
        ("test_fairness.py", "test_engine_fair.py"),
    ),
    Bug(
        "levelled by a window that is not all", "fairness.py",
        "            if window.complete:\n                stage", "            if window:\n                stage",
        ("test_fairness.py",),
    ),
    Bug(
        "no worker kept free", "reserve.py",
        "return any(", "return not self.seen and any(",
        ("test_reserve.py", "test_engine_fair.py"),
    ),
    Bug(
        "floor above an id that is returned", "engine.py",
        "self._books.floors.returned(held.workqueue_id for held in written)", "pass",
        ("test_engine_fair.py",),
    ),
    Bug(
        "floor above an id that becomes due", "engine.py",
        "self._books.floors.returned(ids)", "pass",
        ("test_engine_fair.py",),
    ),
    Bug(
        "floor raised by a claim past an id that came back meanwhile", "floors.py",
        "stage.exceptions.get(number, self._number) < self._number",
        "stage.exceptions.get(number, self._number) <= self._number",
        ("test_floors.py",),
    ),
    Bug(
        "floor kept after a repair", "engine.py",
        "(Wake.HEARTBEAT, Wake.CONNECTED, Wake.REPAIR)", "(Wake.HEARTBEAT, Wake.CONNECTED)",
        ("test_engine_fair.py",),
    ),
    Bug(
        "nothing looked for after a short claim", "floors.py",
        "stage.owed = stage.owed or stage.sent > 0 or bool(stage.trails)", "stage.owed = stage.owed",
        ("test_floors.py",),
    ),
    Bug(
        "floors never dropped", "floors.py",
        "self.unsure, self.owed, self.elsewhere, self.trails = 0,", "_, self.owed, self.elsewhere, self.trails = 0,",
        ("test_floors.py",),
    ),
)  # fmt: skip
