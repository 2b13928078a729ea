"""As whom root goes on."""

import json
import os
import pwd
import subprocess
import sys
from pathlib import Path

import pytest

from pepsi.tools.account import AccountError, Successor, become, successor

STATE = """
import json, os, sys
from pepsi.tools.account import become, successor
become(successor("nobody"))
status = dict(line.split(":\\t", 1) for line in open("/proc/self/status"))
print(json.dumps({
    "ids": [os.getresuid(), os.getresgid()], "groups": sorted(os.getgroups()), "cwd": os.getcwd(),
    "umask": os.umask(0), "environ": dict(os.environ), "capabilities": [status[f"Cap{kind}"] for kind in
    ("Inh", "Prm", "Eff", "Amb")],
}))
"""


def test_there_may_be_no_such_account() -> None:
    assert successor("no-such-account-here") is None


def test_root_does_not_go_on_as_root() -> None:
    assert successor("root") is None


def test_an_account_has_its_groups_and_its_home() -> None:
    entry = pwd.getpwnam("nobody")
    assert successor("nobody") == Successor(
        "nobody", entry.pw_uid, entry.pw_gid, tuple(os.getgrouplist("nobody", entry.pw_gid)), entry.pw_dir
    )


def test_with_a_private_server_it_is_the_account_of_that(tmp_path: Path) -> None:
    assert successor("nobody", tmp_path / "none") is None
    found = successor("nobody", tmp_path)
    assert (found.uid if found else 0) == tmp_path.stat().st_uid


def test_who_may_not_change_the_account_is_told_what_to_do(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may")
    with pytest.raises(AccountError, match="runuser -u stranger"):
        become(Successor("stranger", 4_000_001, 4_000_002, (4_000_002,), "/"), {})


def test_an_owner_without_a_name_will_do(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a directory away")
    os.chown(tmp_path, 4_000_001, 4_000_002)
    assert successor("nobody", tmp_path) == Successor("4000001", 4_000_001, 4_000_002, (4_000_002,), "/")


def test_nothing_of_root_is_left() -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody else")
    environ = {**os.environ, "XDG_RUNTIME_DIR": "/run/user/0", "HOME": "/root", "USER": "root"}
    done = subprocess.run([sys.executable, "-c", STATE], capture_output=True, text=True, env=environ, check=True)
    found = json.loads(done.stdout)
    entry = pwd.getpwnam("nobody")
    assert found["ids"] == [[entry.pw_uid] * 3, [entry.pw_gid] * 3]
    assert found["groups"] == sorted(os.getgrouplist("nobody", entry.pw_gid))
    assert (found["umask"], found["cwd"]) == (0o077, "/")
    assert {int(mask, 16) for mask in found["capabilities"]} == {0}
    names = ("HOME", "USER", "LOGNAME")
    assert [found["environ"][name] for name in names] == [entry.pw_dir, "nobody", "nobody"]
    assert "XDG_RUNTIME_DIR" not in found["environ"]
