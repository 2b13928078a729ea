"""pepsi-queue under a live dispatcher: messages are taken away from workers that are at them."""

from pathlib import Path

import pytest

from tests.support_program import until
from tests.support_queue_tool import Tool
from tests.system.conftest import Theatre


@pytest.fixture
def tool(theatre: Theatre) -> Tool:
    theatre.write_config(first="", second="")
    made = Tool(theatre.directory / "tool.conf", theatre.database)
    made.file = theatre.config
    return made


def at_work(theatre: Theatre, gate: Path, stage: str = "first") -> int:
    """Put a message in whose worker waits for *gate* to be there, and return its id once that has begun."""
    (number,) = theatre.inject(f"await {gate}", stage=stage)
    until(lambda: theatre.executions().get(number) == 1)
    return number


def test_a_message_that_is_deleted_under_its_worker_stays_deleted(theatre: Theatre, tool: Tool) -> None:
    dispatcher = theatre.dispatcher()
    gate = theatre.directory / "gate"
    number = at_work(theatre, gate)
    assert "was running at stage first" in tool("delete", str(number)).out
    gate.touch()
    until(lambda: ("end", number) in [event[:2] for event in theatre.events()])
    (other,) = theatre.inject(stage="second")
    until(lambda: theatre.row(other) is None)
    assert theatre.left() == 0
    assert theatre.executions() == {number: 1, other: 1}
    assert dispatcher.stop() == 0


@pytest.mark.parametrize("stage", ["first", "second"])
def test_a_message_that_is_sent_elsewhere_under_its_worker_runs_there_once(
    theatre: Theatre, tool: Tool, stage: str
) -> None:
    # The worker would let it go on to the second stage: what it has to say has no effect any more.
    dispatcher = theatre.dispatcher()
    gate = theatre.directory / "gate"
    number = at_work(theatre, gate)
    assert f"pending at stage {stage}; it was running at stage first" in tool("set-stage", str(number), stage).out
    gate.touch()
    theatre.wait_until_empty()
    assert theatre.executions() == {number: 3 if stage == "first" else 2}
    assert dispatcher.stop() == 0


def test_all_is_cleared_under_a_dispatcher_by_force_only_and_nothing_runs_twice_at_once(
    theatre: Theatre, tool: Tool
) -> None:
    dispatcher = theatre.dispatcher()
    gate = theatre.directory / "gate"
    number = at_work(theatre, gate, "second")
    refused = tool("clear-all")
    assert refused.status == 1
    assert "held by pepsi-dispatch" in refused.said
    assert tool("clear-all", "--force").out == "released 1 running and 0 paused messages\n"
    gate.touch()
    theatre.wait_until_empty()
    order = [event[0] for event in theatre.events() if event[1] == number]
    assert order == ["begin", "end", "begin", "end"]
    assert dispatcher.stop() == 0


def test_paused_messages_are_tried_at_once_when_they_are_cleared(theatre: Theatre, tool: Tool) -> None:
    dispatcher = theatre.dispatcher()
    (number,) = theatre.inject("answer 74", stage="first")
    until(lambda: theatre.status(number) == "paused")
    theatre.database.rows("UPDATE pepsi.workqueue SET subject = ''")
    assert tool("clear-all", "--paused").out == "released 1 paused message\n"
    theatre.wait_until_empty()
    assert dispatcher.stop() == 0
