"""Stages that do what a script says, run fused or one by one on a real database."""

import hashlib
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from psycopg2.extensions import connection as Connection

from pepsi.config.load import Config, load_text
from pepsi.db import messages, sync
from pepsi.model.message import Message, Need
from pepsi.model.status import Status
from pepsi.stages.api import Advance, Options, Outcome, Stage, integer, text
from pepsi.stages.registry import find
from pepsi.worker.fusion import Line
from pepsi.worker.layers import layers_of
from pepsi.worker.link import Link
from pepsi.worker.loop import Worker
from pepsi.worker.owed import Patience
from pepsi.worker.run import Runner
from pepsi.worker.section import installed_here
from pepsi.worker.successors import Successors
from tests.support_database import Database
from tests.support_worker import EPOCH, claim_again

Deed = Callable[[Message], Outcome]
SECRET = ("workqueue_id", "claim", "received_at", "age", "settings")
"""What of a message is not the same in two runs, or is in the options."""


def digest(message: Message) -> int:
    """Return a number that depends on all that a stage sees of a message, down to the order of keys."""
    seen = [repr(getattr(message, field.name)) for field in fields(Message) if field.name not in SECRET]
    return int.from_bytes(hashlib.sha256("\n".join(seen).encode("utf-8", "replace")).digest()[:6], "big")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptOptions(Options):
    """The keys of the stage."""

    deed: str = text("advance", per_address=True, doc="What it does.")
    level: int = integer(0, low=0, high=9, per_address=True, doc="A number.")
    shy: str = text("never", doc="When it declines fusion: never, always, sometimes.")
    opens: str = text("well", doc="How it opens.")


class Script(Stage[ScriptOptions]):
    """Does what DEED says."""

    name = "script"
    Options = ScriptOptions
    deeds: ClassVar[dict[str, Deed]] = {}
    opened: ClassVar[list[str]] = []
    closed: ClassVar[int] = 0

    def open(self, options: ScriptOptions) -> None:
        Script.opened.append(options.deed)
        if options.opens == "missing":
            raise FileNotFoundError(options.deed)
        if options.opens == "bug":
            raise KeyError(options.deed)

    def fuses(self, message: Message, options: ScriptOptions) -> bool:
        match options.shy:
            case "sometimes":
                return digest(message) % 4 > 0
            case "bug":
                raise KeyError("cannot tell")
        return options.shy == "never"

    def process(self, message: Message, options: ScriptOptions) -> Outcome:
        if options.deed in self.deeds:
            return self.deeds[options.deed](message)
        assert options.next_stage is not None
        return Advance(stage=options.next_stage)

    def close(self) -> None:
        Script.closed += 1


class WithHeaders(Script):
    """Sees the header block."""

    needs = Need.HEADERS


class WithBody(Script):
    """Sees it all."""

    needs = Need.BODY


class Outside(Script):
    """Acts on the world."""

    acts_outside = True


class Lender(Script):
    """Needs the body, but not for what its gate lets through."""

    needs = Need.BODY
    needs_fused = Need.METADATA


INSTALLED: Mapping[str, type[Script]] = {
    "script": Script, "headers": WithHeaders, "body": WithBody, "outside": Outside, "lender": Lender
}  # fmt: skip
"""By the names that ``pepsi-stage`` would know them by."""


def found(name: str) -> type[Stage[Any]]:
    """Find a stage of the tests, or a shipped one."""
    return INSTALLED.get(name) or find(name)


def configured(sections: Mapping[str, Mapping[str, str]], allow: str = "yes") -> Config:
    """Return a configuration with *sections*; without PROGRAM they are scripts, and without FUSION it is allowed."""
    lines = ["[pepsi]", f"ALLOW_FUSION = {allow}", "[pepsi-postgres]", "DSN = dbname=x", "[pepsi-ingress]"]
    lines.append(f"ENTRY_STAGE = {next(iter(sections))}")
    for name, keys in sections.items():
        keys = {"PROGRAM": "script", "FUSION": "yes", **keys}
        lines += [f"[stage-{name}]", *(f"{key} = {value}" for key, value in keys.items() if value)]
    return load_text("\n".join(lines) + "\n")


class Counting(Link):
    """A link that counts what it is asked."""

    asked = 0

    def run(self, statement: Any) -> list[tuple[Any, ...]]:
        self.asked += 1
        return super().run(statement)


class Plant:
    """Workers for all sections of *config*; they are *fused* or not. *kind* is the class of the scripts."""

    def __init__(self, database: Database, config: Config, kind: type[Script] = Script, *, fused: bool = True) -> None:
        self.database = database
        self.config = config
        self.links: dict[str, Counting] = {}
        self.lines: dict[str, Successors] = {}
        self._kind = kind
        self._fused = fused
        self._workers: dict[str, Worker] = {}

    def worker(self, name: str) -> Worker:
        """Return the worker of the section *name*."""
        if name not in self._workers:
            self._workers[name] = self._hired(name)
        return self._workers[name]

    def _hired(self, name: str) -> Worker:
        here = installed_here(self.config.stages[name].spec.program)
        stage = (found(here) if here else self._kind)()
        layers = layers_of(type(stage), self.config, name)

        def connect() -> Connection:
            connection = self.database.connect(f"pepsi-stage-{name}")
            sync.run(connection, messages.prepare(stage.needs))
            return connection

        link = self.links[name] = Counting(connect, lambda: 0.0, lambda: 0.5)
        patience = Patience(0.0, lambda: False, clock=lambda: 0.0, wait=lambda seconds: None, chance=lambda: 0.5)
        runner = Runner(stage, layers, lambda: 0.5)
        successors = self.lines[name] = Successors(self.config, name, stage, layers, lambda: 0.5, found)
        ticks = iter(range(0, 10**12, 1_000_000))
        line = Line(runner, successors, lambda: next(ticks)) if self._fused else runner
        return Worker(name, EPOCH, link, line, patience)

    def handle(self, name: str, ids: Sequence[int]) -> list[Status]:
        """Claim *ids*, which wait at *name*, and work on them."""
        claim_again(self.database, *ids)
        return self.worker(name).handle(ids)

    def settle(self, sizes: random.Random) -> int:
        """Work until nothing waits at a section any more, in batches of any size; return how many passes it took."""
        passes = 0
        text = "SELECT stage, array_agg(workqueue_id) FROM pepsi.workqueue WHERE status = 'pending' GROUP BY stage"
        while True:
            waiting = [(stage, ids) for stage, ids in self.database.rows(text) if stage in self.config.stages]
            if not waiting:
                return passes
            for stage, ids in sorted(waiting):
                rest = sorted(ids)
                while rest:
                    size = sizes.choice((1, 2, 7, 64))
                    self.handle(stage, rest[:size])
                    passes += len(rest[:size])
                    rest = rest[size:]

    def close(self) -> None:
        for link in self.links.values():
            link.close()
        for successors in self.lines.values():
            successors.close()


@contextmanager
def plant(database: Database, config: Config, kind: type[Script] = Script, *, fused: bool = True) -> Iterator[Plant]:
    """Have a plant for the length of a block."""
    with closing(Plant(database, config, kind, fused=fused)) as made:
        yield made
