"""The mail that the demo sends."""

import email
import email.policy
from pathlib import Path

import pytest

from pepsi.demo import corpus
from pepsi.demo.samples import Fate, Sample, large_message, samples
from pepsi.ingress.dataphase import DataPhase
from pepsi.relay.letter import dot_stuffed

ALL = samples()
PARSED = {sample.name: email.message_from_bytes(sample.message, policy=email.policy.default) for sample in ALL}


@pytest.mark.parametrize("sample", ALL, ids=lambda sample: sample.name)
def test_every_sample_can_be_sent_over_smtp(sample: Sample) -> None:
    phase = DataPhase(limit=len(sample.message))
    assert phase.feed(dot_stuffed(sample.message) + b".\r\nQUIT\r\n") == b"QUIT\r\n"
    assert phase.flaw is None
    assert phase.message(b"") == sample.message


def test_the_samples_are_of_every_kind() -> None:
    named = {sample.name: sample for sample in ALL}
    assert len(named) == len(ALL)
    assert {sample.fate for sample in ALL} == set(Fate)
    assert PARSED["attachment"].is_multipart()
    assert named["latin-1"].eight_bit
    assert "Café" in PARSED["latin-1"].get_content()
    assert "日本語" in PARSED["utf-8"].get_content()
    assert not named["utf-8"].utf8
    assert named["international"].utf8
    assert b"\r\n\r\n" not in named["broken"].message
    assert PARSED["broken"].defects
    assert len(named["large"].message) > 5_000_000
    assert b"\r\n.\r\n" in named["dots"].message


def test_the_large_message_is_the_same_each_time_and_no_two_of_its_lines_are() -> None:
    message = large_message(100_000)
    assert message == large_message(100_000)
    attached = email.message_from_bytes(message, policy=email.policy.default)
    content = next(iter(attached.iter_attachments())).get_content()
    assert len(content) == 100_000
    assert len({content[at : at + 32] for at in range(0, 100_000, 32)}) == 100_000 // 32


def test_mail_is_found_in_a_folder_and_in_an_mbox_and_given_as_a_client_sends_it(tmp_path: Path) -> None:
    (tmp_path / "b.eml").write_bytes(b"Subject: b\n\nlast line without an end")
    (tmp_path / "a.eml").write_bytes(b"Subject: a\r\n\rbare\n")
    (tmp_path / "nul.eml").write_bytes(b"Subject: \0\n\n")
    (tmp_path / "other.txt").write_bytes(b"no mail")
    found = corpus.in_folder(tmp_path)
    assert found == (
        corpus.Mail("a", b"Subject: a\r\n\r\nbare\r\n"),
        corpus.Mail("b", b"Subject: b\r\n\r\nlast line without an end\r\n"),
    )
    box = tmp_path / "box"
    box.write_bytes(
        b"From a@b Mon Jan  5 13:00:00 2026\nSubject: one\n\ntext\n\nFrom c@d Mon Jan  5 13:00:00 2026\nX: y\n\nmore\n"
    )
    assert [mail.message for mail in corpus.in_mbox(box)] == [b"Subject: one\r\n\r\ntext\r\n", b"X: y\r\n\r\nmore\r\n"]


def test_where_there_is_no_folder_there_is_no_mail(tmp_path: Path) -> None:
    assert corpus.in_folder(tmp_path / "missing") == ()
