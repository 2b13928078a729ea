"""Real mail and other people's programs at both ends: what goes in comes out, byte for byte."""

import contextlib
import smtplib
import socket
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from pepsi.demo.check import compare
from tests.corpus import real_mail
from tests.support_peers import peer
from tests.support_program import Program, until

CONFIG = """
[pepsi]
HOSTNAME = mail.here.example
STATE_DIRECTORY = {directory}
[pepsi-postgres]
DSN = embedded
[pepsi-ingress]
LISTEN = tcp:0:interface=127.0.0.1
ENTRY_STAGE = sort
LOCAL_DOMAINS = here.example
[stage-sort]
PROGRAM = pepsi-stage-if
CONDITION = all recipient_domains == "here.example"
THEN_STAGE = deliver
ELSE_STAGE = relay
[stage-deliver]
PROGRAM = pepsi-stage-deliver-maildir
DIRECTORY = {directory}/mailboxes
CREATE = yes
[stage-relay]
PROGRAM = pepsi-stage-relay-to-smarthost
HOST = 127.0.0.1
PORT = {sink_port}
TLS = none
"""


class House:
    """All of Pepsi, and Postfix's smtp-sink as the next host."""

    def __init__(self, directory: Path, sink_port: int) -> None:
        self.mailboxes = directory / "mailboxes"
        self.mailboxes.mkdir()
        config = directory / "pepsi.conf"
        config.write_text(CONFIG.format(directory=directory, sink_port=sink_port))
        self.program = Program(["pepsi", "-c", config, "up"])
        self.program.wait_for("dispatching under epoch")
        self.port = int(self.program.wait_for(r"listening on 127\.0\.0\.1:([0-9]+)")[1])

    def delivered(self) -> list[bytes]:
        return [path.read_bytes() for path in self.mailboxes.glob("*/*/new/*")]


@contextlib.contextmanager
def sink(folder: Path) -> Iterator[int]:
    """Run smtp-sink, which writes each message into a file in *folder*; gives its port."""
    program = peer("smtp-sink")
    folder.mkdir()
    folder.chmod(0o777)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(program), "-c", "-u", "nobody", "-d", f"{folder}/%M.", f"127.0.0.1:{port}", "100"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            until(lambda: _answers(port), 10)
            yield port
        finally:
            process.kill()


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


def dumped(folder: Path) -> list[bytes]:
    """What the sink wrote: its own notes on the envelope, each a header line, then the message with bare LF."""
    messages = []
    for path in folder.iterdir():
        lines = path.read_bytes().split(b"\n")
        while lines[0].startswith((b"X-Client-", b"X-Helo-", b"X-Mail-", b"X-Rcpt-")) or lines[0][:1] in b" \t":
            del lines[0]
        # A Received field of its own stands above ours, and a line end behind the last one.
        messages.append(b"\r\n".join(lines[:-1]))
    return messages


@pytest.fixture
def folder(state_directory: Path) -> Path:
    state_directory.chmod(0o711)
    return state_directory


def test_every_real_message_reaches_its_mailbox_as_it_was_sent(folder: Path) -> None:
    mail = real_mail()
    if not mail:
        pytest.skip("no real mail is on this machine; PEPSI_MAIL_CORPUS can name some")
    house = House(folder, sink_port=9)
    try:
        with smtplib.SMTP("127.0.0.1", house.port) as client:
            for one in mail:
                client.sendmail("a@elsewhere.example", ["b@here.example"], one.message, ["BODY=8BITMIME"])
        until(lambda: len(house.delivered()) >= len(mail))
        findings = compare({one.name: (one.message, 1) for one in mail}, house.delivered())
        assert findings.good, findings
        assert house.program.stop() == 0
    finally:
        house.program.close()


def test_smtp_source_in_and_smtp_sink_out_count_the_same(folder: Path) -> None:
    source = peer("smtp-source")
    with sink(folder / "sunk") as port:
        house = House(folder, port)
        try:
            subprocess.run(
                [str(source), "-l", "2000", "-m", "200", "-s", "8", "-f", "a@here.example", "-t", "b@far.example",
                 f"127.0.0.1:{house.port}"],
                check=True, capture_output=True, timeout=60,
            )  # fmt: skip
            until(lambda: len(list((folder / "sunk").iterdir())) >= 200)
            assert house.program.stop() == 0
        finally:
            house.program.close()
        assert len(dumped(folder / "sunk")) == 200


def test_real_mail_is_relayed_to_postfix_sink_as_it_was_sent(folder: Path) -> None:
    mail = [one for one in real_mail() if b"\r" not in one.message.replace(b"\r\n", b"")]
    if not mail:
        pytest.skip("no real mail is on this machine; PEPSI_MAIL_CORPUS can name some")
    with sink(folder / "sunk") as port:
        house = House(folder, port)
        try:
            with smtplib.SMTP("127.0.0.1", house.port) as client:
                for one in mail:
                    client.sendmail("a@here.example", ["b@far.example"], one.message, ["BODY=8BITMIME"])
            until(lambda: len(list((folder / "sunk").iterdir())) >= len(mail))
            assert house.program.stop() == 0
        finally:
            house.program.close()
        arrived = Counter(_without_last_line_ends(message) for message in dumped(folder / "sunk"))
        sent = {one.name: (_without_last_line_ends(one.message), 1) for one in mail}
        findings = compare(sent, arrived.elements())
        assert findings.good, findings


def _without_last_line_ends(message: bytes) -> bytes:
    # What the dump shows of them depends on the sink.
    return message.rstrip(b"\r\n")


def test_swaks_sends_a_message_with_an_attachment(folder: Path) -> None:
    swaks = peer("swaks")
    house = House(folder, sink_port=9)
    attachment = folder / "attached.bin"
    attachment.write_bytes(bytes(range(256)) * 64)
    try:
        done = subprocess.run(
            [str(swaks), "--server", "127.0.0.1", "--port", str(house.port), "--from", "a@elsewhere.example",
             "--to", "b@here.example,c@here.example", "--attach", f"@{attachment}", "--pipeline"],
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        assert "queued as" in done.stdout
        until(lambda: len(house.delivered()) == 2)
        assert house.program.stop() == 0
    finally:
        house.program.close()
