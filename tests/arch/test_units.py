"""What the units of systemd promise."""

import configparser
import shutil
import subprocess
from pathlib import Path

import pytest

from pepsi.dispatch.fleet import GRACE
from pepsi.sched.settings import Settings
from tests.arch.checkout import CHECKOUT

UNIT = CHECKOUT / "debian/pepsi-dispatch.service"
SECONDS = {"s": 1.0, "min": 60.0}


@pytest.fixture
def unit() -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(UNIT, encoding="utf-8")
    return parser


def seconds(value: str) -> float:
    number = value.rstrip("smin")
    return float(number) * SECONDS[value[len(number) :]]


def test_it_is_started_again_always_and_without_limit(unit: configparser.ConfigParser) -> None:
    service = unit["Service"]
    assert service["Restart"] == "always"
    assert unit["Unit"]["StartLimitIntervalSec"] == "0"
    assert seconds(service["RestartSec"]) == 2
    assert seconds(service["RestartMaxDelaySec"]) == 60
    for key in ("RestartPreventExitStatus", "SuccessExitStatus"):
        assert key not in service


def test_it_is_ready_when_it_says_so_and_watched_from_then_on(unit: configparser.ConfigParser) -> None:
    service = unit["Service"]
    assert (service["Type"], service["NotifyAccess"]) == ("notify", "main")
    assert service["TimeoutStartSec"] == "infinity"
    # A turn of the dispatcher takes milliseconds; a host that swaps takes seconds.
    assert seconds(service["WatchdogSec"]) >= 30


def test_a_stop_reaches_the_dispatcher_alone_and_leaves_it_the_time_it_needs(unit: configparser.ConfigParser) -> None:
    service = unit["Service"]
    assert service["KillMode"] == "mixed"
    assert GRACE < Settings().stop_time < seconds(service["TimeoutStopSec"])


def test_a_worker_that_is_killed_for_its_memory_stops_nothing_else(unit: configparser.ConfigParser) -> None:
    assert unit["Service"]["OOMPolicy"] == "continue"


def test_it_runs_as_a_user_of_its_own_with_no_privilege(unit: configparser.ConfigParser) -> None:
    service = unit["Service"]
    assert service["User"] not in ("", "root")
    assert service["CapabilityBoundingSet"] == ""
    assert service["NoNewPrivileges"] == "yes"
    assert service["ProtectSystem"] == "strict"
    assert service["SystemCallFilter"] == "@system-service"


def test_it_runs_the_dispatcher_with_the_state_directory_that_is_the_default(unit: configparser.ConfigParser) -> None:
    program, *rest = unit["Service"]["ExecStart"].split()
    assert Path(program).name == "pepsi-dispatch"
    assert rest == ["-c", "/etc/pepsi/pepsi.conf", "serve"]
    assert unit["Service"]["StateDirectory"] == "pepsi"


def test_systemd_understands_it(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd is not installed")
    copy = tmp_path / UNIT.name
    copy.write_text(UNIT.read_text(encoding="utf-8").replace("/usr/bin/pepsi-dispatch", "/bin/true"))
    done = subprocess.run([analyze, "verify", "--man=no", copy], capture_output=True, text=True, check=False)
    # Keys that came with systemd 254; older ones go on without them.
    known = ("RestartSteps", "RestartMaxDelaySec")
    complaints = [
        line for line in done.stderr.splitlines() if UNIT.name in line and not any(key in line for key in known)
    ]
    assert (done.returncode, complaints) == (0, [])
