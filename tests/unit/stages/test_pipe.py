"""The stage that runs commands, with real commands."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pepsi.config.section import Entry, RawSection, parse_section
from pepsi.model.message import Message
from pepsi.model.outcome import Advance, Changes, Finish
from pepsi.stages.api import Outcome, TryLater
from pepsi.stages.child import TAIL, Clock, Keeper, run
from pepsi.stages.command_line import CommandLine
from pepsi.stages.pipe import AT_ONCE, Pipe, PipeOptions
from tests.support_program import until

HEADER = b"Subject: x\r\n\r\n"
BODY = b"\xff text\r\n.\r\n\r\nno end"


def options(command: str, **keywords: Any) -> PipeOptions:
    return PipeOptions(**{"program": "x", "command": CommandLine(command), "bounce_stage": "bounce"} | keywords)


def message(*recipients: str, **keywords: Any) -> Message:
    settings: dict[str, Any] = {
        "workqueue_id": 7,
        "claim": 1,
        "stage": "pipe",
        "received_at": datetime(2026, 1, 1, tzinfo=UTC),
        "age": 0.0,
        "mail_from": "a@x",
        "recipients": recipients or ("b@x",),
        "header_block": HEADER,
        "body": BODY,
    }
    return Message(**settings | keywords)


def pipe(given: PipeOptions, what: Message | None = None, clock: Clock = time.monotonic) -> Outcome:
    stage = Pipe(clock)
    stage.open(given)
    try:
        return stage.process(what or message(), given)
    finally:
        stage.close()


@pytest.fixture
def script(tmp_path: Path) -> Iterator[Any]:
    """Write shell scripts."""

    def make(text: str) -> str:
        file = tmp_path / f"script{len(list(tmp_path.glob('script*')))}"
        file.write_text(f"#!/bin/sh\n{text}\n")
        file.chmod(0o755)
        return str(file)

    yield make


def late_once(file: Path) -> Clock:
    """Return a clock by which hours have passed as soon as *file* is there."""
    return lambda: time.monotonic() + (10_000 if file.exists() else 0)


def alive(pid: int) -> bool:
    """Whether a process runs: one that has ended and only waits to be waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until_gone(*pids: int) -> None:
    """Wait for processes to end that are nobody's children here; fails if they do not."""
    until(lambda: not any(alive(pid) for pid in pids))


# --- what goes in


def test_the_command_reads_the_message_byte_for_byte(script: Any, tmp_path: Path):
    assert pipe(options(script(f"cat > {tmp_path}/got"))) == Finish()
    assert (tmp_path / "got").read_bytes() == HEADER + BODY


def test_the_command_can_read_lines_as_on_this_system(script: Any, tmp_path: Path):
    pipe(options(script(f"cat > {tmp_path}/got"), line_ends="lf"))
    assert (tmp_path / "got").read_bytes() == (HEADER + BODY).replace(b"\r\n", b"\n")


@pytest.mark.parametrize("read", ["exit 0", "head -c 10 > /dev/null", "exec < /dev/null; exit 0"])
def test_a_command_need_not_read_it_all(script: Any, read: str):
    assert pipe(options(script(read)), message(body=b"x" * 1_000_000)) == Finish()


def test_a_command_that_writes_much_and_reads_late_does_not_lock_up(script: Any):
    text = "head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2; cat > /dev/null"
    assert pipe(options(script(text)), message(body=b"x" * 3_000_000)) == Finish()


def test_no_shell_looks_at_the_arguments(tmp_path: Path, script: Any):
    command = options(f"{script(f'printf %s {{}} {chr(34)}$@{chr(34)} > {tmp_path}/got')} ';' '$HOME' {{recipients}}")
    recipients = ("`id`@x", "$(id)@x", "a;b@x", "-n@x")
    assert pipe(command, message(*recipients)) == Finish()
    assert (tmp_path / "got").read_text() == "{};$HOME" + "".join(recipients[:3]) + '"-n"@x'


def test_an_address_that_is_none_is_no_argument(script: Any, tmp_path: Path):
    outcome = pipe(options(f"{script(f'echo $1 >> {tmp_path}/got')} {{recipient}}"), message("b@x", "c\n@x", "d\0@x"))
    assert isinstance(outcome, Advance)
    assert outcome.changes.recipients == ("c\n@x", "d\0@x")
    assert (tmp_path / "got").read_text() == "b@x\n"


def test_the_environment_tells_nothing_of_ours(script: Any, tmp_path: Path):
    os.environ["PEPSI_TEST_SECRET"] = "1"
    try:
        pipe(options(script(f"env > {tmp_path}/got; ls /proc/self/fd > {tmp_path}/fds; pwd > {tmp_path}/pwd")))
    finally:
        del os.environ["PEPSI_TEST_SECRET"]
    names = {line.partition("=")[0] for line in (tmp_path / "got").read_text().splitlines()}
    assert names <= {"PATH", "HOME", "LANG", "TZ", "PWD", "OLDPWD", "SHLVL", "_"}
    assert (tmp_path / "pwd").read_text() == "/\n"
    assert set((tmp_path / "fds").read_text().split()) <= {"0", "1", "2", "3"}  # 3 is the directory that ls reads


def test_many_recipients_are_given_in_portions(script: Any, tmp_path: Path):
    recipients = tuple(f"r{number}@x" for number in range(2 * AT_ONCE + 1))
    assert pipe(options(f"{script(f'echo $# >> {tmp_path}/got')} {{recipients}}"), message(*recipients)) == Finish()
    assert (tmp_path / "got").read_text().split() == [str(AT_ONCE), str(AT_ONCE), "1"]


# --- what comes out


def test_the_exit_status_decides(script: Any):
    assert pipe(options(script("exit 0"), next_stage="next")) == Advance(
        stage="next", changes=Changes(state={"deliveries": None})
    )
    refused = pipe(options(script("echo no such user >&2; exit 67")))
    assert isinstance(refused, Advance)
    assert refused.stage == "bounce"
    assert refused.changes.state["deliveries"] == {"b@x": {"status": "5.1.1"}}
    assert "no such user" in refused.changes.state["last_error"]
    for text in ("exit 75", "exit 1", "exit 69", "exit 127", "kill -9 $$", "kill -TERM $$"):
        with pytest.raises(TryLater):
            pipe(options(script(text)))


def test_the_operator_can_say_which_statuses_refuse(script: Any):
    outcome = pipe(options(script("exit 69"), refusal_codes=(69,)))
    assert isinstance(outcome, Advance)
    with pytest.raises(TryLater):
        pipe(options(script("exit 67"), refusal_codes=(69,)))


def test_each_recipient_has_a_status_of_its_own(script: Any):
    text = "case $1 in b*) exit 0;; c*) exit 67;; d*) exit 75;; esac"
    with pytest.raises(TryLater) as raised:
        pipe(options(f"{script(text)} {{recipient}}", next_stage="next"), message("b@x", "c@x", "d@x"))
    assert raised.value.changes.recipients == ("d@x",)
    assert [(clone.stage, clone.recipients) for clone in raised.value.clones] == [
        ("next", ("b@x",)),
        ("bounce", ("c@x",)),
    ]


def test_a_command_that_is_not_there_is_found_at_the_start():
    with pytest.raises(FileNotFoundError, match="/nowhere/command is not there"):
        pipe(options("/nowhere/command"))


@pytest.mark.parametrize("fault", ["gone", "no interpreter", "not executable"])
def test_a_command_that_cannot_be_started_is_tried_again(script: Any, fault: str):
    command = script("exit 0")
    stage, given = Pipe(), options(command)
    stage.open(given)
    match fault:
        case "gone":
            Path(command).unlink()
        case "no interpreter":
            Path(command).write_text("#!/nowhere/interpreter\n")
        case "not executable":
            Path(command).chmod(0o644)
    with pytest.raises(TryLater, match="cannot be started"):
        stage.process(message(), given)
    stage.close()


def test_what_is_kept_of_what_a_command_writes_is_one_short_printable_line(script: Any):
    text = r"head -c 1000000 /dev/zero | tr '\0' x >&2; printf '\033[2J\nthe\0end\377\n' >&2; exit 65"
    outcome = pipe(options(script(text)))
    assert isinstance(outcome, Advance)
    error = outcome.changes.state["last_error"]
    assert error.isprintable()
    assert len(error.encode()) <= TAIL
    assert "x" * 500 in error


def test_the_end_of_what_was_written_is_what_is_kept(script: Any):
    with pytest.raises(TryLater, match=r"the reason$"):
        pipe(options(script("head -c 1000 /dev/zero | tr '\\0' '\\n' >&2; echo the reason >&2; exit 75")))


# --- filters


def test_a_filter_writes_the_message_that_goes_on(script: Any):
    outcome = pipe(options(script("sed '1s/x/y/'"), output="replace", next_stage="next", line_ends="lf"))
    assert isinstance(outcome, Advance)
    assert outcome.stage == "next"
    assert outcome.changes.header_block == b"Subject: y\r\n\r\n"
    assert outcome.changes.body == b"\xff text\r\n.\r\n\r\nno end\r\n"


def test_what_a_filter_says_on_standard_error_is_not_in_the_message(script: Any):
    outcome = pipe(options(script("echo oops >&2; cat"), output="replace", next_stage="next"))
    assert isinstance(outcome, Advance)
    assert outcome.changes.header_block == HEADER


@pytest.mark.parametrize("text", ["exit 75", "echo half; exit 1", "true", "echo half; kill -9 $$"])
def test_a_filter_that_fails_or_writes_nothing_changes_nothing(script: Any, text: str):
    with pytest.raises(TryLater) as raised:
        pipe(options(script(text), output="replace", next_stage="next"))
    assert raised.value.changes.body is None


def test_a_filter_that_refuses_the_message_has_it_bounced_unchanged(script: Any):
    outcome = pipe(options(script("echo half; exit 65"), output="replace", next_stage="next"), message("b@x", "c@x"))
    assert isinstance(outcome, Advance)
    assert (outcome.stage, outcome.changes.body, outcome.changes.recipients) == ("bounce", None, ("b@x", "c@x"))


def test_a_filter_that_never_stops_writing_is_stopped(script: Any):
    with pytest.raises(TryLater, match="MAX_OUTPUT = 1 MiB"):
        pipe(options(script("yes"), output="replace", next_stage="next", max_output=2**20))


# --- nothing is left running


def test_a_command_that_takes_too_long_is_killed_with_all_that_it_started(script: Any, tmp_path: Path):
    part, pids = tmp_path / "part", tmp_path / "pids"
    text = f"trap '' TERM; sleep 600 & echo $! > {part}; echo $$ >> {part}; mv {part} {pids}; sleep 600"
    with pytest.raises(TryLater, match="took too long"):
        pipe(options(script(text)), clock=late_once(pids))
    wait_until_gone(*map(int, pids.read_text().split()))


def test_a_command_that_is_asked_to_end_can_tidy_up_but_has_not_succeeded(script: Any, tmp_path: Path):
    ready = tmp_path / "ready"
    text = f"trap 'touch {tmp_path}/tidy; exit 0' TERM; touch {ready}; while :; do sleep 0.01; done"
    with pytest.raises(TryLater, match="took too long"):
        pipe(options(script(text)), clock=late_once(ready))
    assert (tmp_path / "tidy").exists()


def test_what_a_command_leaves_in_the_background_ends_with_it(script: Any, tmp_path: Path):
    assert pipe(options(script(f"sleep 600 & echo $! > {tmp_path}/pid"))) == Finish()
    wait_until_gone(int((tmp_path / "pid").read_text()))


def test_a_command_that_closes_everything_and_goes_on_is_waited_for(script: Any, tmp_path: Path):
    text = f"exec < /dev/null > /dev/null 2> /dev/null; sleep 0.3; touch {tmp_path}/done; exit 67"
    assert isinstance(pipe(options(script(text))), Advance)
    assert (tmp_path / "done").exists()


def test_a_command_dies_with_its_worker_even_if_that_is_killed(script: Any, tmp_path: Path):
    part, pids_file = tmp_path / "part", tmp_path / "pids"
    # It reads first: what it is given comes when it is watched already.
    command = script(f"read -r go; sleep 600 & echo $! > {part}; echo $$ >> {part}; mv {part} {pids_file}; wait")
    code = (
        "import sys\n"
        "from pepsi.stages.child import Keeper, run\n"
        "run([sys.argv[1]], b'go\\n', keeper=Keeper(), environ={'PATH': '/usr/bin:/bin'}, seconds=600, room=None)\n"
    )
    worker = subprocess.Popen([sys.executable, "-c", code, command], start_new_session=True)
    try:
        until(pids_file.exists)
        pids = [int(pid) for pid in pids_file.read_text().split()]
        assert all(alive(pid) for pid in pids)
    finally:
        os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()
    wait_until_gone(*pids)


def test_the_watch_over_commands_is_taken_up_again_when_it_was_killed(script: Any):
    keeper = Keeper()
    for _ in range(2):
        ended = run([script("exit 3")], b"", keeper=keeper, environ={"PATH": "/usr/bin:/bin"}, seconds=60, room=None)
        assert ended.status == 3
        shell = keeper._shell
        assert shell is not None
        shell.kill()
        shell.wait()
    keeper.close()


def test_the_watch_kills_nobody_when_all_has_ended(script: Any):
    bystander = subprocess.Popen(["sleep", "600"], start_new_session=True)
    try:
        keeper = Keeper()
        keeper.watch(bystander.pid)
        keeper.forget()
        keeper.close()
        assert alive(bystander.pid)
    finally:
        bystander.kill()
        bystander.wait()


def test_when_the_time_for_the_message_is_up_no_further_command_is_started(script: Any, tmp_path: Path):
    got = tmp_path / "got"
    with pytest.raises(TryLater) as raised:
        given = options(f"{script(f'echo $1 >> {got}; exec sleep 600')} {{recipient}}")
        pipe(given, message("b@x", "c@x"), late_once(got))
    assert raised.value.changes.recipients == ("b@x", "c@x")
    assert got.read_text() == "b@x\n"


@pytest.mark.parametrize(
    ("keys", "complaint"),
    [
        ({"OUTPUT": "replace"}, "NEXT_STAGE"),
        ({"OUTPUT": "replace", "NEXT_STAGE": "n", "COMMAND": "x {recipient}"}, "no recipient in COMMAND"),
        ({"OUTPUT": "replace", "NEXT_STAGE": "n", "COMMAND": "x {recipients}"}, "no recipient in COMMAND"),
        ({"COMMAND": "x {user}"}, "{user}"),
        ({"REFUSAL_CODES": "65 75"}, "75"),
        ({"TIMEOUT": "0"}, "TIMEOUT"),
    ],
)
def test_a_section_that_contradicts_itself_is_an_error(keys: dict[str, str], complaint: str):
    settings = {"PROGRAM": "pepsi-stage-pipe", "COMMAND": "cat"} | keys
    entries = {key: Entry(value, "pepsi.conf", 2) for key, value in settings.items()}
    found, problems = parse_section(PipeOptions, RawSection("stage-pipe", 1, entries))
    assert found is None
    assert complaint in str(problems[0])
