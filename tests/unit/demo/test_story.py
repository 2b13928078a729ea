"""From the steps of messages to their stories."""

import io

import pytest

from pepsi.demo.display import Lines, display_on
from pepsi.demo.story import Ending, Story, Visit, duration, line, stories, summary
from pepsi.demo.trail import Step, steps
from pepsi.model.row import RowStatus

PENDING, RUNNING, PAUSED, FAILED = RowStatus.PENDING, RowStatus.RUNNING, RowStatus.PAUSED, RowStatus.FAILED
NAMES = {1: "plain", 2: "large"}


def walk(*where: tuple[str, RowStatus | None], number: int = 1) -> list[Step]:
    """Return the steps of a message that takes one a second."""
    return [Step(number, stage, status, float(at)) for at, (stage, status) in enumerate(where)]


def test_a_message_that_passed_two_stages_tells_how_long_it_waited_and_was_worked_on() -> None:
    trail = walk(("sort", PENDING), ("sort", RUNNING), ("deliver", PENDING), ("deliver", RUNNING), ("", None))
    (story,) = stories(trail, NAMES)
    assert story == Story("plain", (Visit("sort", 1.0, 1.0), Visit("deliver", 1.0, 1.0)), 4.0, Ending.DONE)
    assert line(story, 6) == "plain   sort 1.0 s > deliver 1.0 s: done after 4.0 s"


@pytest.mark.parametrize(
    ("trail", "visits", "ending"),
    [
        ([("sort", PENDING)], (Visit("sort", 0.0, None),), None),
        ([("sort", PENDING), ("sort", RUNNING)], (Visit("sort", 1.0, None),), None),
        ([("sort", PENDING), ("sort", RUNNING), ("sort", FAILED)], (Visit("sort", 1.0, 1.0),), Ending.FAILED),
        ([("sort", PENDING), ("sort", RUNNING), ("sort", PAUSED)], (Visit("sort", 1.0, 1.0),), Ending.WAITS),
        (
            [("sort", PENDING), ("sort", RUNNING), ("sort", PAUSED), ("sort", PENDING), ("sort", RUNNING), ("", None)],
            (Visit("sort", 1.0, 1.0), Visit("sort", 2.0, 1.0)),
            Ending.DONE,
        ),
        (
            [("sort", PENDING), ("sort", RUNNING), ("sort", PENDING)],
            (Visit("sort", 1.0, 1.0), Visit("sort", 0.0, None)),
            None,
        ),
        ([("sort", PENDING), ("", None)], (Visit("sort", 1.0, None),), Ending.DONE),
    ],
)
def test_a_story_ends_as_its_message_does(
    trail: list[tuple[str, RowStatus | None]], visits: tuple[Visit, ...], ending: Ending | None
) -> None:
    (story,) = stories(walk(*trail), NAMES)
    assert (story.visits, story.ending) == (visits, ending)


def test_messages_that_mingle_are_told_apart_and_strangers_go_by_their_number() -> None:
    mingled = [
        step
        for pair in zip(walk(("a", PENDING), ("", None)), walk(("b", PENDING), ("c", PENDING), number=7), strict=True)
        for step in pair
    ]
    told = stories(mingled, NAMES)
    assert [(story.name, story.ending) for story in told] == [("plain", Ending.DONE), ("#7", None)]
    assert summary(told) == "2 messages, 1 done, 1 on their way; 3 passes through stages"


def test_rows_of_the_trail_become_steps() -> None:
    assert steps([(1, "sort", "running", 2.5), (1, None, None, 3.5)]) == (
        Step(1, "sort", RUNNING, 2.5),
        Step(1, "", None, 3.5),
    )


@pytest.mark.parametrize(("seconds", "text"), [(0.0, "0 ms"), (0.0214, "21 ms"), (0.9, "900 ms"), (1.26, "1.3 s")])
def test_times_are_written_as_people_read_them(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_without_a_terminal_each_story_is_one_line_written_once_when_it_has_ended() -> None:
    stream = io.StringIO()
    display = display_on(stream)
    assert isinstance(display, Lines)
    under_way = walk(("sort", PENDING), ("sort", RUNNING))
    other = walk(("sort", PENDING), number=2)
    display.show(stories([*under_way, *other], NAMES))
    assert stream.getvalue() == ""
    ended = stories([*under_way, Step(1, "", None, 2.0), *other], NAMES)
    display.show(ended)
    display.show(ended)
    assert stream.getvalue() == "plain  sort 1.0 s: done after 2.0 s\n"
    display.close(ended)
    assert stream.getvalue().splitlines()[1:] == [
        "large  sort ...: on its way",
        "2 messages, 1 done, 1 on their way; 2 passes through stages",
    ]


class Terminal(io.StringIO):
    """A stream that calls itself a terminal."""

    def isatty(self) -> bool:
        return True


def test_on_a_terminal_the_table_shows_every_story_as_it_is_written() -> None:
    pytest.importorskip("rich", reason="the extra demo is not installed")
    stream = Terminal()
    display = display_on(stream)
    told = stories(walk(("[red]sort", PENDING), ("[red]sort", RUNNING), ("", None)), {1: "[bold]plain"})
    display.show(told)
    display.close(told)
    shown = stream.getvalue()
    assert "[bold]plain" in shown
    assert "[red]sort 1.0 s" in shown
    assert "1 message, 1 done; 1 pass through stages" in shown
