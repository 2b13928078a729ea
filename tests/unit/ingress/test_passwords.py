"""The password file: hashes in it, changed as a whole or not at all, and nobody else reads it."""

import stat
import threading
from pathlib import Path

import pytest
from argon2 import PasswordHasher

from pepsi.errors import IngressError, SecretError
from pepsi.ingress import passwords
from pepsi.ingress.passwords import hashes_of

QUICK = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)


class PasswordFile(passwords.PasswordFile):
    def __init__(self, path: Path) -> None:
        super().__init__(str(path), {}, QUICK)


def set_password(path: Path, login: str, password: str | None) -> None:
    passwords.set_password(path, login, password, QUICK)


def test_a_password_is_right_for_its_login_only(tmp_path: Path):
    path = tmp_path / "passwords"
    set_password(path, "alice", "s3cret")
    set_password(path, "böb", "пароль")
    file = PasswordFile(path)
    assert file.is_right("alice", "s3cret")
    assert file.is_right("böb", "пароль")
    assert not file.is_right("alice", "пароль")
    assert not file.is_right("alice", "")
    assert not file.is_right("carol", "s3cret")
    assert not file.is_right("", "")


def test_a_changed_password_counts_at_once_and_the_old_one_no_more(tmp_path: Path):
    path = tmp_path / "passwords"
    set_password(path, "alice", "old")
    file = PasswordFile(path)
    set_password(path, "alice", "new")
    assert (file.is_right("alice", "old"), file.is_right("alice", "new")) == (False, True)
    set_password(path, "alice", None)
    assert not file.is_right("alice", "new")


def test_only_argon2id_counts_as_a_hash(tmp_path: Path):
    path = tmp_path / "passwords"
    path.write_text("plain:s3cret\nempty:\nold:$1$salt$hash\nbroken:$argon2id$v=19$x\n# alice:x\n\nno colon\n")
    path.chmod(0o600)
    file = PasswordFile(path)
    for login, password in (("plain", "s3cret"), ("empty", ""), ("old", "x"), ("broken", "x"), ("# alice", "x")):
        assert not file.is_right(login, password)


def test_comments_and_foreign_lines_stay(tmp_path: Path):
    path = tmp_path / "passwords"
    path.write_bytes(b"# staff\nalice:x\n\xff odd\nbob:y")
    set_password(path, "alice", "s3cret")
    lines = path.read_bytes().splitlines()
    assert lines[:3] == [b"# staff", b"\xff odd", b"bob:y"]
    assert lines[3].startswith(b"alice:$argon2id$") and len(lines) == 4


def test_a_new_file_is_closed_to_others_and_a_changed_one_keeps_its_mode(tmp_path: Path):
    path = tmp_path / "passwords"
    set_password(path, "alice", "x")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.chmod(0o600)
    set_password(path, "alice", "y")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["passwords"]


def test_a_file_that_everybody_can_read_is_not_used(tmp_path: Path):
    path = tmp_path / "passwords"
    set_password(path, "alice", "x")
    path.chmod(0o644)
    with pytest.raises(SecretError):
        PasswordFile(path).is_right("alice", "x")


@pytest.mark.parametrize("login", ["", "a:b", "#a", " a", "a ", "a\nb", "a\x00b", "a\x1b[2J", "x" * 256])
def test_a_login_that_could_break_the_file_is_refused(tmp_path: Path, login: str):
    with pytest.raises(IngressError):
        set_password(tmp_path / "passwords", login, "x")
    assert list(tmp_path.iterdir()) == []


def test_an_empty_password_is_refused_and_a_login_that_is_not_there_cannot_be_removed(tmp_path: Path):
    path = tmp_path / "passwords"
    with pytest.raises(IngressError):
        set_password(path, "alice", "")
    with pytest.raises(IngressError):
        set_password(path, "alice", None)
    set_password(path, "alice", "x")
    with pytest.raises(IngressError):
        set_password(path, "bob", None)
    assert "alice" in hashes_of(path.read_bytes())


def test_changes_at_the_same_time_are_all_kept(tmp_path: Path):
    path = tmp_path / "passwords"
    threads = [threading.Thread(target=set_password, args=(path, f"user{n}", "x")) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(hashes_of(path.read_bytes())) == [f"user{n}" for n in range(6)]
