"""Reading secrets."""

import os
from pathlib import Path

import pytest

from pepsi.config.secrets import LIMIT, read_password, read_secret
from pepsi.errors import ConfigError, SecretError


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    file = tmp_path / "password"
    file.touch(mode=0o600)
    file.write_bytes(b"hunter2\n")
    return file


def test_a_secret_is_read_byte_for_byte(secret: Path) -> None:
    secret.write_bytes(b"\0\xff\n\n")
    assert read_secret(str(secret), {}) == b"\0\xff\n\n"


@pytest.mark.parametrize("content", [b"hunter2", b"hunter2\n", b"hunter2\r\n"])
def test_a_password_is_a_line_without_its_end(secret: Path, content: bytes) -> None:
    secret.write_bytes(content)
    assert read_password(str(secret), {}) == "hunter2"


def test_white_space_around_a_password_is_part_of_it(secret: Path) -> None:
    secret.write_bytes(b" hunter2 \n")
    assert read_password(str(secret), {}) == " hunter2 "


@pytest.mark.parametrize("mode", [0o604, 0o644, 0o602, 0o606])
def test_a_secret_that_everybody_can_read_or_change_is_refused(secret: Path, mode: int) -> None:
    secret.chmod(mode)
    with pytest.raises(SecretError) as caught:
        read_secret(str(secret), {})
    assert str(caught.value) == (
        f"{secret}: everybody on this machine can read or change this secret (mode 0{mode:03o}); take it away from "
        f"them: chmod o= {secret}"
    )


@pytest.mark.parametrize("mode", [0o400, 0o600, 0o640])
def test_a_secret_of_an_owner_and_a_group_is_taken(secret: Path, mode: int) -> None:
    secret.chmod(mode)
    assert read_password(str(secret), {}) == "hunter2"


def test_a_link_does_not_hide_who_can_read_the_secret(secret: Path) -> None:
    secret.chmod(0o644)
    link = secret.with_name("link")
    link.symlink_to(secret)
    with pytest.raises(SecretError, match="everybody"):
        read_secret(str(link), {})


def test_a_name_without_a_slash_is_a_credential(secret: Path) -> None:
    assert read_password("password", {"CREDENTIALS_DIRECTORY": str(secret.parent)}) == "hunter2"


def test_a_credential_outside_a_service_is_an_error_that_tells_the_other_way() -> None:
    with pytest.raises(SecretError) as caught:
        read_secret("password", {})
    assert str(caught.value) == (
        "password is the name of a systemd credential, but $CREDENTIALS_DIRECTORY is not set; for a file write "
        "./password"
    )


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_a_credential_is_never_the_directory_itself(tmp_path: Path, name: str) -> None:
    with pytest.raises(SecretError, match="neither a file nor a credential"):
        read_secret(name, {"CREDENTIALS_DIRECTORY": str(tmp_path)})


def test_a_secret_that_is_not_there_is_no_error_of_the_configuration(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_secret(str(tmp_path / "none"), {})


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is empty"),
        (b"\n", "must be one line"),
        (b"a\nb\n", "must be one line"),
        (b"a\0", "must be one line"),
        (b"\xff", "is not UTF-8"),
        (b"x" * (LIMIT + 1), "at most"),
    ],
)
def test_what_is_no_password_is_refused_without_being_shown(secret: Path, content: bytes, reason: str) -> None:
    secret.write_bytes(content)
    with pytest.raises(SecretError, match=reason) as caught:
        read_password(str(secret), {})
    assert isinstance(caught.value, ConfigError)
    assert len(str(caught.value)) < 300


def test_a_pipe_is_refused_and_never_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe, 0o600)
    with pytest.raises(SecretError, match="must be a regular file"):
        read_secret(str(pipe), {})


def test_a_directory_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        read_secret(str(tmp_path), {})
