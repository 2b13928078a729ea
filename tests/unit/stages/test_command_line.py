"""Command lines: an address is an argument and never anything else."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pepsi.config.option import declared
from pepsi.relay.addresses import mailbox_key
from pepsi.stages.command_line import CommandLine
from pepsi.stages.pipe import PipeOptions
from pepsi.stages.sysexits import answer_of

PARSE = next(option for option in declared(PipeOptions) if option.key == "COMMAND").parse


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("cat", ["cat"]),
        ("sh -c 'cat > /dev/null' x", ["sh", "-c", "cat > /dev/null", "x"]),
        ("deliver -f {sender} -- {recipients}", ["deliver", "-f", "a@x", "--", "b@x", "c@x"]),
        ("deliver --to={recipient}", ["deliver", "--to=b@x"]),
        ("deliver {sender}/{recipient}", ["deliver", "a@x/b@x"]),
        ("awk '{ print $1 }'", ["awk", "{ print $1 }"]),
    ],
)
def test_addresses_take_their_places(text: str, words: list[str]):
    assert PARSE(text).words("a@x", ("b@x", "c@x")) == words


def test_an_address_is_one_word_whatever_it_holds():
    nasty = "a b;$(reboot)`x`'\"*@x"
    assert CommandLine("x {sender}").words(nasty, ()) == ["x", nasty]


def test_the_null_sender_is_an_empty_word():
    assert CommandLine("x -f {sender}").words("", ("b@x",)) == ["x", "-f", ""]


@pytest.mark.parametrize(
    ("address", "word"),
    [
        ("-rf@x", '"-rf"@x'),
        ("--help@x", '"--help"@x'),
        ("-", '"-"'),
        ("-a@b@x", '"-a@b"@x'),
        ("-@@", '"-@"@'),
        ("a-b@x", "a-b@x"),
    ],
)
def test_an_address_that_begins_with_a_hyphen_is_written_in_its_other_form(address: str, word: str):
    for text in ("x {sender}", "x {recipient}", "x {recipients}"):
        assert CommandLine(text).words(address, (address,)) == ["x", word]


def test_within_a_word_an_address_stays_as_it_is():
    assert CommandLine("x --from={sender}").words("-f@x", ()) == ["x", "--from=-f@x"]


@given(st.text('-a@"\\{}sender ', min_size=1), st.text('-a@"\\{}recipients '))
def test_no_address_becomes_an_option_and_each_stays_the_same_mailbox(one: str, other: str):
    for text in ("x {sender}", "x {recipient}", "x {recipients}", "x {sender}{recipient}"):
        words = CommandLine(text).words(one, (other,))
        assert not any(word.startswith("-") for word in words[1:])
    [_, word] = CommandLine("x {sender}").words(one, (other,))
    assert mailbox_key(word) == mailbox_key(one)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "program"),
        ("x 'y", "command line"),
        ("x {user}", "not {user}"),
        ("{sender} x", "no address can choose"),
        ("x --to={recipients}", "a word of its own"),
        ("x {recipient} {recipients}", "not both"),
    ],
)
def test_a_command_that_makes_no_sense_is_an_error_that_says_why(text: str, complaint: str):
    with pytest.raises(ValueError, match=complaint) as raised:
        PARSE(text)
    assert str(raised.value).startswith("expected")


@given(st.lists(st.text("ab '\"\\-", min_size=1), min_size=1))
def test_a_command_without_addresses_is_split_as_a_shell_would(words: list[str]):
    assert CommandLine(shlex.join(words)).words("s", ("r",)) == words


REFUSALS = (65, 67, 68, 77)


@pytest.mark.parametrize("status", [*range(256), *range(-64, 0)])
def test_only_what_speaks_of_the_message_refuses_it(status: int):
    answer = answer_of("x", status, "said", REFUSALS)
    if status == 0:
        assert answer.verdict.value == "delivered"
    elif status in REFUSALS:
        assert answer.verdict.value == "refused"
        assert answer.status.startswith("5.")
    else:
        assert answer.verdict.value == "retry"
        assert answer.status.startswith("4.")


def test_the_operator_learns_how_a_command_ended():
    assert answer_of("x", 67, "who?", REFUSALS).reason == "x ended with status 67 (no such user): who?"
    assert answer_of("x", 3, "", REFUSALS).reason == "x ended with status 3"
    assert answer_of("x", -9, "", REFUSALS).reason == "x was killed by signal 9"


@pytest.mark.parametrize("text", ["0", "256", "75", "-1", "x", "65,67"])
def test_exit_statuses_that_make_no_sense_are_an_error(text: str):
    with pytest.raises(ValueError, match="expected"):
        next(option for option in declared(PipeOptions) if option.key == "REFUSAL_CODES").parse(text)
