"""A message that passes several stages at once ends just as one that passes them one by one."""

import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from pepsi.db.inject import insert
from pepsi.model.envelope import Arrival
from pepsi.model.message import Message
from pepsi.model.outcome import Advance, Changes, Clone, Fail, Finish, Outcome, Pause, Requeue
from pepsi.model.row import RowStatus
from pepsi.stages.api import Refuse, TryLater
from tests.db.fused import Deed, Plant, Script, configured, digest, plant
from tests.support_database import Database

CONFIGURATIONS, MESSAGES = 16, 64
"""So many configurations, and messages through each."""
SENDERS = ("", "anna@example.org", "b\0\ud800b@example.org", "ÄÖ@exämple.org")
RECIPIENTS = ("bob@example.net", "carl@example.net", "\udfffd@e", "eve\0@example.net")
VALUES: tuple[Any, ...] = (
    None, True, 0, -0.0, 1.0, 1e16, 1.5e300, 5e-324, 10**30, "", "a\0b\ud800", "\N{SNOWMAN}",
    [1, [2.0, None], {}], (1, "x"), {"zz": 1, "b": {"\0k": -0.0, "a": None}, "é": 2},
)  # fmt: skip
SET_FOR = ("*", "@example.net", "bob@example.net", "carl@example.net", "anna@example.org", "eve@example.net")
KEYS = (
    "a",
    "bb",
    "é",
    "z\0",
    "strikes",
    "temporary_failures",
    "interrupted",
    "list_copy",
    "last_error",
    "notice_built_at",
)
HEADERS = (b"Subject: other\r\n\r\n", b"\r\n", b"From: =?utf-8?q?=C3=84?= <x@y>\r\nSubject: \xff\0\r\n\r\n")


class Author:
    """Makes up what stages do."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._places: list[str] = []

    def deed(self, places: list[str]) -> Deed:
        self._places = places
        kinds: list[Callable[[], Deed]] = (
            [self._advance] * 6 + [self._look] * 5 + [self._route] * 5 + [self._tamper] * 3
        )
        kinds += [self._once_more, self._split, self._odd, self._odd, self._late]
        return self._chance.choice(kinds)()

    def _place(self) -> str:
        return self._chance.choice(self._places)

    def _state(self) -> dict[str, Any]:
        return {self._chance.choice(KEYS): self._chance.choice(VALUES) for _ in range(self._chance.choice((0, 2, 6)))}

    def _changes(self, *, content: bool = True) -> Changes:
        some = self._chance.random
        return Changes(
            mail_from=self._chance.choice(SENDERS) if some() < 0.3 else None,
            recipients=tuple(self._chance.sample(RECIPIENTS, self._chance.choice((1, 1, 2)))) if some() < 0.3 else None,
            header_block=self._chance.choice(HEADERS) if content and some() < 0.25 else None,
            body=b"new\r\n" * self._chance.randrange(3) if content and some() < 0.25 else None,
            state=self._state(),
        )

    def _clones(self) -> tuple[Clone, ...]:
        def clone() -> Clone:
            return Clone(
                stage=self._chance.choice(("end", "bounce")),
                recipients=tuple(self._chance.sample(RECIPIENTS, 1)),
                mail_from=self._chance.choice((None, *SENDERS)),
                status=self._chance.choice((RowStatus.PENDING, RowStatus.FAILED)),
                state=self._state(),
            )

        return tuple(clone() for _ in range(self._chance.randrange(1, 3)))

    def _advance(self) -> Deed:
        outcome = Advance(stage=self._place(), changes=self._changes())
        return lambda message: outcome

    def _look(self) -> Deed:
        place, key = self._place(), self._chance.choice(("seen", "saw"))
        return lambda message: Advance(stage=place, changes=Changes(state={key: digest(message)}))

    def _route(self) -> Deed:
        choices = [Advance(stage=self._place(), changes=self._changes()) for _ in range(3)] + [self._last()]
        return lambda message: choices[digest(message) % 4]

    def _tamper(self) -> Deed:
        place = self._place()

        def deed(message: Message) -> Outcome:
            for value in message.state.values():
                if isinstance(value, list):
                    value.append("mine")
                if isinstance(value, dict):
                    value["mine"] = 1
            message.state["mine"] = 1  # type: ignore[index]
            return Advance(stage=place)

        return deed

    def _once_more(self) -> Deed:
        place, patch = self._place(), self._state()

        def deed(message: Message) -> Outcome:
            if message.state.get("again"):
                return Advance(stage=place)
            return Requeue(changes=Changes(state={**patch, "again": 1}, mail_from="again@example.org"))

        return deed

    def _split(self) -> Deed:
        place = self._place()

        def deed(message: Message) -> Outcome:
            first, *others = message.recipients
            if not others:
                return Advance(stage=place)
            clones = tuple(Clone(stage=place, recipients=(other,), state={"split": True}) for other in others)
            return Finish(clones=(Clone(stage=place, recipients=(first,)), *clones))

        return deed

    def _last(self) -> Outcome:
        clones = self._clones() if self._chance.random() < 0.5 else ()
        delay = self._chance.choice((None, 0.0, 5000.0))
        return self._chance.choice(
            (
                Finish(clones=clones),
                Finish(),
                Pause(delay=delay, reason="a\0 reason", changes=self._changes(), clones=clones),
                Pause(delay=delay, changes=self._changes(content=False)),
                Fail(reason="bad\r\nso", changes=self._changes(content=self._chance.random() < 0.2)),
                Advance(stage="elsewhere", changes=self._changes()),
            )
        )

    def _odd(self) -> Deed:
        outcome = self._chance.choice(
            (
                self._last(),
                Advance(stage=""),
                Advance(stage=self._place(), changes=Changes(recipients=())),
                Advance(stage=self._place(), changes=Changes(state={"x": float("nan")})),
                Requeue(changes=Changes(body=b"x")) if self._chance.random() < 0.5 else None,
            )
        )
        return lambda message: outcome  # type: ignore[return-value]

    def _late(self) -> Deed:
        error: Exception = self._chance.choice(
            (
                Refuse("no\0 thing"),
                TryLater("later", changes=self._changes(), clones=self._clones()),
                TryLater("later", after=5000.0, changes=self._changes(content=False)),
                TryLater("unfit", changes=Changes(recipients=())),
                KeyError("a bug"),
            )
        )

        def deed(message: Message) -> Outcome:
            if digest(message) % 3 == 0:
                return Finish()
            raise error

        return deed


ORDER = [*(f"s{number}" for number in range(5)), "if0", *(f"s{number}" for number in range(5, 9)), "if1", "end"]
"""A stage sends mail only to those behind it, so that there is an end."""


def sections(chance: random.Random) -> dict[str, dict[str, str]]:
    """Make up a configuration, and what its stages do."""
    author = Author(chance)
    found: dict[str, dict[str, str]] = {}
    Script.deeds.clear()
    for number, name in enumerate(ORDER[:-1]):
        later = ORDER[number + 1 :]
        if name.startswith("if"):
            found[name] = {
                "PROGRAM": "pepsi-stage-if",
                "CONDITION": chance.choice(('mail_from == ""', "size > 40", "state.seen > 3", 'subject contains "o"')),
                "THEN_STAGE": chance.choice(later),
                "ELSE_STAGE": chance.choice(later),
                "FUSION": chance.choice(("", "no")),
            }
            continue
        Script.deeds[name] = author.deed([*later, *later, "bounce", "elsewhere"])
        found[name] = {
            "PROGRAM": f"pepsi-stage-{chance.choice(('script', 'headers', 'body', 'body', 'body'))}",
            "DEED": name,
            # Settings are loaded for the stages that can be reached by what the file says.
            "NEXT_STAGE": later[0],
            "SHY": chance.choice(("never", "never", "sometimes")),
            "FUSION": chance.choice((*["yes"] * 7, "no")),
            "MAX_LIFETIME": chance.choice(("120 h", "1 h")),
            "BOUNCE_STAGE": chance.choice(("", "bounce")),
        }
    found["end"] = {"PROGRAM": "pepsi-stage-discard", "FUSION": chance.choice(("", "no"))}
    found["bounce"] = {"DEED": "bounce", "FUSION": chance.choice(("yes", "no"))}
    Script.deeds["bounce"] = lambda message: Pause(delay=None, changes=Changes(state={"bounced": digest(message)}))
    return found


def settings(chance: random.Random) -> list[dict[str, str]]:
    """Make up what correspondents have set: at some stages another deed, or what cannot be used."""
    scripts = [name for name in ORDER if name in Script.deeds]
    found = {}
    for number, stage in enumerate(scripts):
        for address in chance.sample(SET_FOR, chance.choice((0, 0, 1, 3))):
            level = chance.choice(("5", "5", "5", "many"))
            key, value = chance.choice((("DEED", chance.choice(scripts[number:])), ("LEVEL", level)))
            found[address, stage, key] = {"address": address, "stage": stage, "key": key, "value": value}
    return list(found.values())


def arrivals(chance: random.Random) -> list[Arrival]:
    header = b"From: A <a@example.org>\r\nSubject: %s\r\n\r\n"
    return [
        Arrival(
            mail_from=chance.choice(("", "anna@example.org")),
            recipients=tuple(chance.sample(("bob@example.net", "carl@example.net", "dora@example.net"), count)),
            message=header % chance.choice((b"one", b"two")) + b"message %d\r\n" % number,
            state={
                "number": number,
                **chance.choice(
                    (
                        {},
                        {"a": [1]},
                        {"strikes": 1},
                        {"interrupted": 9},
                        {"interrupted": 2, "temporary_failures": 4},
                        {"bb": {"c": 1}},
                        {"local_origin": True},
                    )
                ),
            },
        )
        for number, count in enumerate(chance.choices((1, 1, 2, 3), k=MESSAGES))
    ]


def ended(database: Database) -> list[str]:
    """Return all rows as they are, but for what two runs cannot have in common."""
    text = (
        "SELECT to_jsonb(w) - '{workqueue_id,body_id,received_at,timeout,header_block}'::text[], "
        "to_char(w.received_at, 'YYYY'), round(extract(epoch FROM w.timeout - now()) / 2000)::text, "
        "coalesce(w.header_block, b.header_block), w.header_block, b.body, b.header_block "
        "FROM pepsi.workqueue w JOIN pepsi.workqueue_body b USING (body_id)"
    )
    return sorted(
        json.dumps([row, received, due, *(None if part is None else bytes(part).decode("latin-1") for part in parts)])
        for row, received, due, *parts in database.rows(text)
    )


def through(database: Database, made: Plant, mail: list[Arrival], chance: random.Random) -> tuple[list[str], int]:
    """Send *mail* through, and return what is left of it, and how many passes it took."""
    ids = [number for (number,) in database.run(insert(mail, "s0"))]
    stages = {number: f"s{chance.randrange(3)}" for number in ids}
    for place in sorted(set(stages.values())):
        those = [number for number in ids if stages[number] == place]
        old = [number for number in those if number % 5 == 0]
        database.rows(
            "UPDATE pepsi.workqueue SET stage = %(place)s WHERE workqueue_id = ANY (%(ids)s)", place=place, ids=those
        )
        database.rows(
            "UPDATE pepsi.workqueue SET received_at = '2001-01-01' WHERE workqueue_id = ANY (%(ids)s)", ids=old
        )
    passes = made.settle(chance)
    left = ended(database)
    database.rows("TRUNCATE pepsi.workqueue, pepsi.workqueue_body RESTART IDENTITY")
    return left, passes


@pytest.mark.parametrize("first", range(0, CONFIGURATIONS, 4))
def test_what_is_left_is_the_same_row_by_row(database: Database, first: int) -> None:
    one_by_one = together = 0
    for seed in range(first, first + 4):
        chance = random.Random(seed)
        config, mail = configured(sections(chance)), arrivals(chance)
        database.rows("TRUNCATE pepsi.settings")
        for each in settings(chance):
            database.rows("INSERT INTO pepsi.settings VALUES (%(address)s, %(stage)s, %(key)s, %(value)s)", **each)
        results = []
        for fused in (False, True):
            with plant(database, config, fused=fused) as made:
                results.append(through(database, made, mail, random.Random(seed)))
        (expected, many), (left, few) = results
        assert left == expected
        one_by_one, together = one_by_one + many, together + few
    assert together < one_by_one
