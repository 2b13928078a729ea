"""Whether another account gets to where it must."""

import os
from pathlib import Path

import pytest

from pepsi.db.account import Account, admit, choose, closed_to, give

# Nobody has these numbers, so that only the rights of others count.
STRANGER = Account("stranger", 4_000_001, 4_000_002)


def test_nobody_runs_the_server_as_root() -> None:
    assert choose().uid != 0


def test_the_topmost_closed_directory_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    outer = tmp_path / "outer"
    inner = outer / "inner"
    inner.mkdir(parents=True)
    inner.chmod(0o700)
    reachable = closed_to(STRANGER, tmp_path)
    if reachable is None:
        assert closed_to(STRANGER, inner) == inner
        outer.chmod(0o750)
        assert closed_to(STRANGER, inner) == outer
    else:
        assert closed_to(STRANGER, inner) == reachable


def test_a_way_through_a_link_is_the_way_that_counts(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    (closed / "in").mkdir(parents=True)
    closed.chmod(0o700)
    link = tmp_path / "link"
    link.symlink_to(closed / "in")
    assert closed_to(STRANGER, link) in (closed, *closed.parents)


def test_our_own_account_is_never_kept_out(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    assert closed_to(Account("me", os.geteuid(), os.getegid()), tmp_path) is None


def test_a_directory_that_somebody_shares_is_left_as_it_is(tmp_path: Path) -> None:
    tmp_path.chmod(0o750)
    before = tmp_path.stat()
    admit(STRANGER, tmp_path)
    assert (tmp_path.stat().st_mode, tmp_path.stat().st_gid) == (before.st_mode, before.st_gid)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives directories away")
def test_a_private_directory_is_opened_for_the_group_to_pass_through(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    admit(STRANGER, tmp_path)
    assert (tmp_path.stat().st_mode & 0o777, tmp_path.stat().st_uid, tmp_path.stat().st_gid) == (0o710, 0, STRANGER.gid)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives directories away")
def test_what_is_given_is_private(tmp_path: Path) -> None:
    give(tmp_path, STRANGER)
    assert (tmp_path.stat().st_mode & 0o777, tmp_path.stat().st_uid) == (0o700, STRANGER.uid)
