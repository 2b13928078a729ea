"""A dispatcher in surroundings that others were brought down by: limits, clocks, wide numbers, bad starts."""

import resource
import signal
import sys
from pathlib import Path

import pytest

from tests.support_program import Program, until
from tests.system.conftest import PUPPET, Theatre


def descriptors(program: Program) -> dict[str, str]:
    """What the descriptors of a program lead to."""
    return {entry.name: str(entry.readlink()) for entry in Path(f"/proc/{program.pid}/fd").iterdir()}


def state(process: int) -> str:
    """The letter that the kernel has for what *process* is doing; Z of one that is dead, Z too of one that is gone."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][0]
    except (FileNotFoundError, ProcessLookupError):
        return "Z"


def test_without_a_free_descriptor_no_worker_starts_and_with_one_again_it_does(theatre: Theatre) -> None:
    dispatcher = theatre.dispatcher()
    before = descriptors(dispatcher)
    _, hard = resource.prlimit(dispatcher.pid, resource.RLIMIT_NOFILE)
    # Enough for two of the three pipes.
    resource.prlimit(dispatcher.pid, resource.RLIMIT_NOFILE, (max(map(int, before)) + 5, hard))
    ids = theatre.inject(count=5)
    for _ in range(2):
        dispatcher.wait_for("Too many open files")
    assert descriptors(dispatcher) == before, "what a failed start had opened is closed again"
    assert len([line for line in dispatcher.said if "Too many open files" in line]) <= 3
    resource.prlimit(dispatcher.pid, resource.RLIMIT_NOFILE, (hard, hard))
    theatre.wait_until_empty()
    assert theatre.executions() == dict.fromkeys(ids, 1)
    assert dispatcher.stop() == 0


@pytest.mark.parametrize("start", [2**31 - 2, 2**53 - 2])
def test_numbers_that_fit_into_no_int_and_no_float_go_through_a_whole_life(theatre: Theatre, start: int) -> None:
    theatre.write_config(puppet="MAX_RUNTIME = 1 s\nPARALLELISM = 1")
    for sequence in ("workqueue_workqueue_id_seq", "workqueue_body_body_id_seq"):
        theatre.database.rows(f"SELECT setval('pepsi.{sequence}', %(start)s)", start=start)
    theatre.database.rows("UPDATE pepsi.dispatcher_epoch SET epoch = 4000000")
    dispatcher = theatre.dispatcher()
    (done,) = theatre.inject()
    (crashed,), (hung,), (failed,), (paused,) = (
        theatre.inject(subject) for subject in ("crash", "hang", "answer 65 no", "answer 74")
    )
    assert done == start + 1
    until(lambda: [theatre.status(number) for number in (done, failed, paused)] == [None, "failed", "paused"])
    until(lambda: [theatre.status(number) for number in (crashed, hung)] == ["paused", "paused"])
    (interrupted,) = theatre.inject("slow 600")
    until(lambda: theatre.executions().get(interrupted) == 1)
    dispatcher.kill(signal.SIGKILL)
    dispatcher.wait()
    second = theatre.dispatcher()
    until(lambda: theatre.executions().get(interrupted) == 2)
    row = theatre.row(interrupted)
    assert row is not None
    assert row[2] == {"interrupted": 1}
    theatre.inject("answer 5", count=20)
    assert second.stop() == 0
    assert theatre.database.value("SELECT count(*) FROM pepsi.workqueue WHERE status = 'running'") == 0


def test_pauses_are_as_long_in_every_time_zone(theatre: Theatre) -> None:
    name = theatre.database.value("SELECT current_database()")
    theatre.database.rows(f"ALTER DATABASE {name} SET timezone = 'America/St_Johns'")
    theatre.dispatcher(environ={"TZ": "Asia/Kathmandu"})
    (paused,), (struck,) = theatre.inject("answer 74"), theatre.inject("crash")
    until(lambda: theatre.status(paused) == theatre.status(struck) == "paused")
    due = "SELECT extract(epoch FROM timeout - now())::float8 FROM pepsi.workqueue WHERE workqueue_id = %(id)s"
    assert 25 < theatre.database.value(due, id=paused) <= 36
    assert 55 < theatre.database.value(due, id=struck) <= 72


@pytest.mark.parametrize("way", ["serve", "twistd"])
@pytest.mark.parametrize(
    ("fault", "status", "words"),
    [
        ("syntax", 1, "pepsi.conf"),
        ("stage", 1, "NEXT_STAGE"),
        ("database", 1, "; check [pepsi-postgres] DSN, and whether the server runs"),
        ("schema", 78, "newer than this Pepsi's"),
    ],
)
def test_a_start_that_fails_says_why_in_a_line_and_by_its_status(
    theatre: Theatre, way: str, fault: str, status: int, words: str
) -> None:
    match fault:
        case "syntax":
            theatre.config.write_text("[pepsi\n")
        case "stage":
            theatre.write_config(puppet="NEXT_STAGE = nowhere")
        case "database":
            theatre.dsn = f"host={theatre.directory} dbname=x user=x"
            theatre.write_config()
        case "schema":
            theatre.database.rows("INSERT INTO pepsi.schema_release VALUES (999, '0999_later.sql', 'x')")
    program = theatre.dispatcher(wait=False) if way == "serve" else theatre.twistd("--config", str(theatre.config))
    assert program.wait() == status
    said = "".join(program.said) + (theatre.log.read_text() if theatre.log.exists() else "")
    assert words in said
    assert "Traceback" not in said


@pytest.mark.parametrize("options", [["--no-such-option"], ["--config"]])
def test_a_bad_option_of_the_service_under_twistd_is_no_success(theatre: Theatre, options: list[str]) -> None:
    assert theatre.twistd(*options).wait() != 0


@pytest.mark.parametrize(
    ("said", "number"),
    [
        ("", signal.SIGTERM),
        ("waiting for the dispatcher's lock", signal.SIGTERM),
        ("dispatching under epoch", signal.SIGINT),
    ],
)
def test_a_signal_ends_a_start_wherever_it_is(theatre: Theatre, said: str, number: signal.Signals) -> None:
    if said.startswith("waiting"):
        theatre.dispatcher()
    starting = theatre.dispatcher(wait=False)
    if said:
        starting.wait_for(said)
    starting.kill(number)
    # Before Python itself is up nobody can heed a signal, and there is nothing to be put in order yet.
    assert starting.wait(20) in ((0,) if said else (0, -number, 1))
    if not said.startswith("waiting"):
        after = theatre.dispatcher()
        theatre.inject()
        theatre.wait_until_empty()
        assert after.stop() == 0


def test_a_worker_that_noises_on_its_output_costs_itself_and_no_other_message(theatre: Theatre) -> None:
    dispatcher = theatre.dispatcher()
    (noisy,) = theatre.inject("garble")
    others = theatre.inject(count=10)
    until(lambda: theatre.status(noisy) == "paused")
    until(lambda: all(theatre.row(number) is None for number in others))
    dispatcher.wait_for("not a status")
    assert {theatre.executions()[number] for number in others} == {1}


def test_the_program_leaves_no_pid_file_and_heeds_none(theatre: Theatre) -> None:
    stale = theatre.directory / "twistd.pid"
    stale.write_text("1")
    program = Program(
        ["pepsi-dispatch", "-c", theatre.config, "serve"],
        cwd=theatre.directory,
        environ={"PUPPET_DSN": theatre.dsn},
    )
    theatre.programs.append(program)
    program.wait_for("dispatching under epoch")
    assert program.stop() == 0
    assert [path.name for path in theatre.directory.glob("*.pid")] == ["twistd.pid"]


def test_what_a_hanging_message_has_started_dies_with_its_worker(theatre: Theatre) -> None:
    theatre.write_config(puppet="MAX_RUNTIME = 500 ms")
    dispatcher = theatre.dispatcher()
    ids = theatre.inject("brood 600", count=4)
    until(lambda: all(theatre.status(number) == "paused" for number in ids))
    assert dispatcher.stop() == 0
    children = [number for event, number, _ in theatre.events() if event == "child"]
    assert len(children) >= 4
    for child in children:
        until(lambda child=child: state(child) == "Z")


def test_a_program_whose_interpreter_is_missing_blames_nobody_and_heals_by_itself(theatre: Theatre) -> None:
    program = theatre.directory / "program"
    program.write_text("#!/no/such/interpreter\n")
    program.chmod(0o755)
    theatre.write_config(puppet="", broken=f"PROGRAM = {program}")
    dispatcher = theatre.dispatcher()
    (stuck,) = theatre.inject(stage="broken")
    others = theatre.inject(count=5)
    dispatcher.wait_for("did not get ready")
    until(lambda: all(theatre.row(number) is None for number in others))
    until(lambda: theatre.row(stuck) == ("broken", "pending", {}))
    program.write_text(f"#!/bin/sh\nexec {sys.executable} {PUPPET} {theatre.record}\n")
    theatre.wait_until_empty()
    assert theatre.executions()[stuck] == 1
