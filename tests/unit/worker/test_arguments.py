"""The command line of a stage's program."""

import pytest

from pepsi.worker.arguments import FLAGS, Invocation, UsageError, parse


def test_a_worker_needs_no_option() -> None:
    assert parse(["worker"]) == Invocation(command="worker")


@pytest.mark.parametrize("given", [["-c", "x.conf"], ["--config", "x.conf"], ["--config=x.conf"]])
def test_a_value_stands_behind_its_option_or_is_joined_to_its_long_name(given: list[str]) -> None:
    assert parse([*given, "worker"]) == Invocation(command="worker", config="x.conf")


def test_a_message_can_be_given_an_envelope_and_a_state_and_the_stage_its_keys() -> None:
    arguments = ["-f", "", "-t", "a@x", "-t", "b@x", "-j", '{"a": 1}', "-o", "A=b=c", "-o", "D = e", "-s", "sort"]
    assert parse([*arguments, "try", "m.eml"]) == Invocation(
        command="try",
        operand="m.eml",
        sender="",
        recipients=("a@x", "b@x"),
        state={"a": 1},
        options={"A": "b=c", "D": "e"},
        section="sort",
    )


def test_standard_input_can_be_the_message() -> None:
    assert parse(["try", "-"]).operand == "-"


@pytest.mark.parametrize(
    ("arguments", "command"), [(["-h"], "help"), (["--version"], "version"), (["-V", "x"], "version")]
)
def test_help_and_version_need_no_command(arguments: list[str], command: str) -> None:
    assert parse(arguments).command == command


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ([], "expected a command"),
        (["work"], "there is no command 'work'"),
        (["-x", "worker"], "there is no option '-x'"),
        (["-c"], "-c needs a value: FILE"),
        (["worker", "-c", "x"], "write -c before worker"),
        (["worker", "x"], "usage: worker"),
        (["try"], "usage: try MESSAGE"),
        (["try", "a", "b"], "usage: try MESSAGE"),
        (["-o", "A", "check"], "-o takes KEY=VALUE, not 'A'"),
        (["-j", "[1]", "try", "x"], "-j takes a JSON object"),
        (["-j", "{", "try", "x"], "-j takes a JSON object"),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_mend(arguments: list[str], part: str) -> None:
    with pytest.raises(UsageError, match=part.replace("[", r"\[")) as caught:
        parse(arguments)
    assert caught.value.exit_status == 2


def test_no_two_options_have_the_same_name() -> None:
    names = [name for flag in FLAGS for name in (flag.short, flag.long)]
    assert len(set(names)) == len(names)
