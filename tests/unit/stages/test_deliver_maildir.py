"""Delivery into Maildirs: whole files or none, one each, only where they belong."""

import os
import stat
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pepsi.model.message import Message
from pepsi.model.outcome import Advance, Fail, Finish
from pepsi.stages.api import TryLater
from pepsi.stages.deliver_maildir import DeliverMaildir, DeliverMaildirOptions
from pepsi.stages.mailbox_path import MailboxPath

HEADER = b"Subject: x\r\n\r\n"
BODY = b"\xff text\r\n.\r\n\r\nno end"


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """Return a directory with a mailbox for joe and for ann."""
    for name in ("joe", "ann"):
        (tmp_path / "mail" / "example.org" / name).mkdir(parents=True)
    return tmp_path / "mail"


def options(base: Path, **keywords: Any) -> DeliverMaildirOptions:
    settings = {"program": "x", "directory": base, "mailbox": MailboxPath(("{domain}", "{local_part}"))}
    return DeliverMaildirOptions(**settings | keywords)


def message(*recipients: str, **keywords: Any) -> Message:
    settings: dict[str, Any] = {
        "workqueue_id": 7,
        "claim": 1,
        "stage": "deliver",
        "received_at": datetime(2026, 1, 1, 12, 0, 0, 5, tzinfo=UTC),
        "age": 0.0,
        "mail_from": "a@example.net",
        "recipients": recipients or ("joe@example.org",),
        "header_block": HEADER,
        "body": BODY,
    }
    return Message(**settings | keywords)


def deliver(given: DeliverMaildirOptions, what: Message) -> Any:
    stage = DeliverMaildir()
    stage.open(given)
    try:
        return stage.process(what, given)
    finally:
        stage.close()


def files(box: Path, sub: str = "new") -> list[Path]:
    return sorted((box / sub).iterdir()) if (box / sub).exists() else []


def test_a_message_is_one_file_with_the_envelope_before_it_and_the_rest_byte_for_byte(base: Path):
    assert deliver(options(base), message()) == Finish()
    [file] = files(base / "example.org" / "joe")
    trace = b"Return-Path: <a@example.net>\r\nDelivered-To: joe@example.org\r\n"
    assert file.read_bytes() == trace + HEADER + BODY


def test_without_trace_headers_the_file_is_the_message(base: Path):
    deliver(options(base, trace_headers=False), message())
    [file] = files(base / "example.org" / "joe")
    assert file.read_bytes() == HEADER + BODY


def test_lines_can_end_as_on_this_system(base: Path):
    deliver(options(base, trace_headers=False, line_ends="lf"), message())
    [file] = files(base / "example.org" / "joe")
    assert file.read_bytes() == (HEADER + BODY).replace(b"\r\n", b"\n")


def test_an_address_cannot_add_header_lines(base: Path):
    deliver(options(base), message(mail_from="a@x>\r\nSubject: evil"))
    [file] = files(base / "example.org" / "joe")
    assert file.read_bytes().startswith(b"Return-Path: <a@x> Subject: evil>\r\nDelivered-To")


def test_only_the_owner_can_read_what_was_made(base: Path):
    old = os.umask(0)
    try:
        deliver(options(base, create=True), message("new@example.net"))
    finally:
        os.umask(old)
    box = base / "example.net" / "new"
    for directory in (base / "example.net", box, box / "tmp", box / "new", box / "cur"):
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert stat.S_IMODE(files(box)[0].stat().st_mode) == 0o600


def test_each_recipient_has_a_file_of_its_own(base: Path):
    given = options(base, mailbox=MailboxPath(("{domain}",)))
    deliver(given, message("joe@example.org", "ann@example.org"))
    found = files(base / "example.org")
    assert len(found) == 2
    assert len({file.read_bytes() for file in found}) == 2


def test_a_mailbox_that_is_named_twice_gets_one_file(base: Path):
    deliver(options(base), message("joe@example.org", "joe@EXAMPLE.ORG"))
    assert len(files(base / "example.org" / "joe")) == 1


def test_a_delivery_that_is_repeated_does_not_double_the_message(base: Path):
    for claim in (1, 2):
        assert deliver(options(base), message(claim=claim)) == Finish()
    assert len(files(base / "example.org" / "joe")) == 1


@pytest.mark.parametrize("mark", ["strikes", "interrupted", "temporary_failures"])
def test_a_delivery_that_may_be_a_repetition_finds_the_message_where_a_reader_put_it(base: Path, mark: str):
    box = base / "example.org" / "joe"
    deliver(options(base), message())
    [file] = files(box)
    file.rename(box / "cur" / f"{file.name}:2,S")
    assert deliver(options(base), message(claim=2, state={mark: 1})) == Finish()
    assert files(box) == []


def test_other_messages_have_other_names(base: Path):
    for keywords in ({}, {"workqueue_id": 8}, {"stage": "other"}, {"received_at": datetime(2027, 1, 1, tzinfo=UTC)}):
        deliver(options(base), message(**keywords))
    assert len(files(base / "example.org" / "joe")) == 4


def test_what_an_attempt_left_unfinished_is_in_nobodys_way(base: Path):
    box = base / "example.org" / "joe"
    deliver(options(base), message())
    [file] = files(box)
    file.rename(box / "tmp" / f"{file.name}.1.99999")
    assert deliver(options(base), message()) == Finish()
    assert files(box) == [file]


def test_who_has_no_mailbox_is_refused_and_the_others_are_not(base: Path):
    outcome = deliver(options(base, bounce_stage="bounce"), message("joe@example.org", "nobody@example.org"))
    assert isinstance(outcome, Advance)
    assert outcome.changes.recipients == ("nobody@example.org",)
    assert outcome.changes.state["deliveries"] == {"nobody@example.org": {"status": "5.1.1"}}
    assert len(files(base / "example.org" / "joe")) == 1
    assert not (base / "example.org" / "nobody").exists()


@pytest.mark.parametrize(
    "recipient", ["../../../tmp/x@example.org", "..@..", "/etc@/", "x" * 300 + "@example.org", "@"]
)
def test_an_address_leads_nowhere_but_below_the_directory(base: Path, recipient: str):
    before = sorted(base.parent.rglob("*"))
    outcome = deliver(options(base), message(recipient))
    assert isinstance(outcome, Fail)
    assert sorted(base.parent.rglob("*")) == before


@pytest.mark.parametrize("place", ["example.net", "example.org/eve", "example.org/joe/new"])
def test_a_symbolic_link_below_the_directory_is_not_followed(base: Path, place: str):
    target = base.parent / "elsewhere"
    (target / "joe").mkdir(parents=True)
    (base / place).symlink_to(target)
    recipient = {"example.net": "joe@example.net", "example.org/eve": "eve@example.org"}.get(place, "joe@example.org")
    with pytest.raises(TryLater):
        deliver(options(base, create=True), message(recipient))
    assert sorted(target.rglob("*")) == [target / "joe"]


def test_the_directory_itself_may_be_a_symbolic_link(base: Path):
    link = base.parent / "link"
    link.symlink_to(base)
    assert deliver(options(link), message()) == Finish()


def test_trouble_with_the_disk_for_one_is_another_try_for_that_one(base: Path):
    (base / "example.org" / "eve").write_text("a file where a directory should be")
    with pytest.raises(TryLater, match="Not a directory") as raised:
        deliver(options(base, next_stage="seen"), message("joe@example.org", "eve@example.org"))
    assert raised.value.changes.recipients == ("eve@example.org",)
    assert [clone.recipients for clone in raised.value.clones] == [("joe@example.org",)]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a disk that is soon full; only root can."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], capture_output=True).returncode:
        pytest.skip("needs the right to mount")
    yield disk
    subprocess.run(["umount", disk], check=True)


def test_a_full_disk_is_another_try_and_leaves_nothing_behind(small_disk: Path):
    given = options(small_disk, create=True)
    with pytest.raises(TryLater, match="No space left") as raised:
        deliver(given, message(body=b"x" * 200_000))
    assert raised.value.changes.state["deliveries"] == {"joe@example.org": {"status": "4.3.1"}}
    box = small_disk / "example.org" / "joe"
    assert files(box, "tmp") == files(box, "new") == []
    assert deliver(given, message()) == Finish()


def test_a_missing_directory_is_the_machines_fault_and_found_at_the_start(tmp_path: Path):
    with pytest.raises(OSError, match=f"DIRECTORY = {tmp_path}/unmounted: .*; make it, or let us read it"):
        DeliverMaildir().open(options(tmp_path / "unmounted"))


def test_a_directory_that_vanishes_later_is_another_try(base: Path):
    stage = DeliverMaildir()
    stage.open(options(base))
    base.rename(base.parent / "gone")
    with pytest.raises(TryLater):
        stage.process(message(), options(base))


def test_when_the_time_is_up_the_rest_waits(base: Path):
    times = iter([0.0, 1.0, 1000.0])
    stage = DeliverMaildir(clock=lambda: next(times))
    with pytest.raises(TryLater) as raised:
        stage.process(message("joe@example.org", "ann@example.org"), options(base))
    assert raised.value.changes.recipients == ("ann@example.org",)
