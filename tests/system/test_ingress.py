"""The SMTP door as a program: mail goes in over a socket and stands in the database, whatever happens to that."""

import base64
import os
import signal
import smtplib
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from pepsi.db.embedded import PrivateServer
from tests.support_database import Database, install
from tests.support_program import BIN, Program, until
from tests.support_smtp import Client, make_certificate

CONFIG = """
[pepsi]
HOSTNAME = mx.here.example
STATE_DIRECTORY = {directory}
[pepsi-postgres]
DSN = {dsn}
[pepsi-ingress]
LISTEN = {listen}
ENTRY_STAGE = entry
LOCAL_DOMAINS = here.example
{more}
[stage-entry]
PROGRAM = pepsi-stage-discard
"""


class House:
    """A configuration and the doors that were opened with it."""

    def __init__(self, directory: Path, dsn: str) -> None:
        self.directory = directory
        self.dsn = dsn
        self.config = directory / "pepsi.conf"
        self.programs: list[Program] = []
        self.write()

    def write(self, more: str = "", listen: str = "tcp:0:interface=127.0.0.1") -> None:
        self.config.write_text(CONFIG.format(directory=self.directory, dsn=self.dsn, listen=listen, more=more))

    def start(self, *command: str) -> Program:
        arguments = command or ("pepsi-ingress", "-c", str(self.config), "serve")
        program = Program(arguments)
        self.programs.append(program)
        return program

    def open(self, *command: str) -> tuple[Program, str]:
        """Start a door; return it and its address, when it is connected to the database."""
        program = self.start(*command)
        address = program.wait_for(r"listening on (\S+)")[1]
        program.wait_for("database session ingress is up")
        return program, address

    def passwd(self, *arguments: str, password: str = "") -> "subprocess.CompletedProcess[str]":
        command = [str(BIN / "pepsi-ingress"), "-c", str(self.config), "passwd", *arguments]
        return subprocess.run(command, input=password, capture_output=True, text=True, check=False, timeout=60)


@pytest.fixture
def house(tmp_path: Path, database: Database) -> Iterator[House]:
    made = House(tmp_path, database.dsn)
    yield made
    for program in made.programs:
        program.close()


def send(address: str, data: bytes = b"Subject: x\r\n\r\nbody\r\n") -> str:
    """Send a message; return the last answer."""
    with Client(address) as client:
        client.open_message()
        client.send(data + b".\r\n")
        return " ".join(map(str, client.reply()))


def test_a_message_stands_in_the_database_byte_for_byte_under_the_id_of_the_answer(house: House, database: Database):
    program, address = house.open()
    data = b"Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\nFrom: <a@there.example>\r\n\r\n\xff.\x01 \r\n\r\n"
    answer = send(address, data)
    number = int(answer.removeprefix("250 2.0.0 queued as "))
    ((stage, sender, recipients, subject, peer, login, state, message),) = database.rows(
        "SELECT stage, mail_from, recipients, subject, host(peer), auth_login, state, b.header_block || b.body "
        "FROM pepsi.workqueue JOIN pepsi.workqueue_body b USING (body_id) WHERE workqueue_id = %(number)s",
        number=number,
    )
    assert (stage, sender, recipients) == ("entry", "a@there.example", ["b@here.example"])
    assert (subject, peer, login, state) == ("Grüße", "127.0.0.1", None, {})
    field, end, rest = bytes(message).partition(b" +0000\r\n")
    assert field.startswith(b"Received: from c.example ([127.0.0.1])\r\n\tby mx.here.example with ESMTP id ")
    assert (end, rest) == (b" +0000\r\n", data)
    assert program.stop() == 0


def test_every_answered_message_of_many_sessions_is_there(house: House, database: Database):
    program, address = house.open()
    clients = [Client(address) for _ in range(20)]
    answers = []
    for turn in range(5):
        for client in clients:
            client.open_message()
            client.send(b"Subject: %d\r\n\r\n.\r\n" % turn)
        answers += [client.expect(250) for client in clients]
    for client in clients:
        client.socket.close()
    program.stop()
    ids = {int(answer.rpartition(" ")[2]) for answer in answers}
    assert len(ids) == 100
    assert {number for (number,) in database.rows("SELECT workqueue_id FROM pepsi.workqueue")} == ids


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_0_under_twistd_too(house: House, number: int):
    twistd = f"exec {BIN}/twistd -n --pidfile= pepsi-ingress --config {house.config} 1>&2"
    for command in ((), ("/bin/sh", "-c", twistd)):
        program, address = house.open(*command)
        assert send(address).startswith("250 ")
        program.kill(number)
        assert program.wait() == 0


def test_a_second_signal_does_not_wait_for_a_session_to_end(house: House):
    program, address = house.open()
    with Client(address) as client:
        client.open_message()
        program.kill(signal.SIGTERM)
        program.wait_for("once more to end at once")
        program.kill(signal.SIGTERM)
        assert program.wait() == 1


def test_a_stop_lets_the_message_under_way_in(house: House, database: Database):
    program, address = house.open()
    with Client(address) as client:
        client.open_message()
        program.kill(signal.SIGTERM)
        program.wait_for("waiting for 1 sessions")
        client.send(b"x\r\n.\r\n")
        client.expect(250, 421)
    assert program.wait() == 0
    assert database.value("SELECT count(*) FROM pepsi.workqueue") == 1


def test_what_keeps_it_from_starting_is_one_sentence_and_status_1(house: House):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        house.write(listen=f"tcp:{port}:interface=127.0.0.1")
        twistd = f"exec {BIN}/twistd -n --pidfile= pepsi-ingress --config {house.config} 1>&2"
        for command in ((), ("/bin/sh", "-c", twistd)):
            program = house.start(*command)
            assert program.wait() == 1
            program.wait_for(f"cannot listen on tcp:{port}")
            assert not any("Traceback" in line for line in program.said), program.said
    for more, reason in (
        ("MAX_MEMORRY = 1 GiB", "did you mean MAX_MEMORY"),
        ("CERTIFICATE_FILE = none.pem", "KEY_FILE"),
        ("PASSWORD_FILE = ./none", "PASSWORD_FILE"),
    ):
        house.write(more)
        program = house.start()
        assert program.wait() == 1
        program.wait_for(reason)
    assert house.start("pepsi-ingress", "frobnicate").wait() == 2


def test_who_was_given_a_password_may_log_in_and_relay(house: House, database: Database):
    certificate, key = make_certificate(house.directory)
    house.write(f"CERTIFICATE_FILE = {certificate}\nKEY_FILE = {key}\nPASSWORD_FILE = ./passwords\nRELAY_NETWORKS =")
    assert house.passwd("alice", password="s3cret\n").returncode == 0
    assert house.passwd("bob", password="other").returncode == 0
    assert house.passwd("--delete", "bob").returncode == 0
    wrong = house.passwd("a:b", password="x")
    assert (wrong.returncode, wrong.stderr.count("\n")) == (1, 1)
    _, address = house.open()
    host, _, port = address.partition(":")
    with smtplib.SMTP(host, int(port), timeout=30) as client:
        client.starttls()
        with pytest.raises(smtplib.SMTPAuthenticationError):
            client.login("bob", "other")
        client.login("alice", "s3cret")
        client.sendmail("a@here.example", ["b@there.example"], "x\r\n")
    ((login, sender_key, state),) = database.rows("SELECT auth_login, sender_key, state FROM pepsi.workqueue")
    assert (login, sender_key, state) == ("alice", "user:alice", {"local_origin": True})


def test_a_client_of_a_local_socket_is_the_user_that_runs_it(house: House, database: Database):
    path = house.directory / "smtp"
    house.write(listen=f"unix:{path}:mode=600")
    first, address = house.open()
    first.kill(signal.SIGKILL)
    first.wait()
    _, address = house.open()
    assert address == str(path)
    assert send(address).startswith("250 ")
    login = database.value("SELECT auth_login FROM pepsi.workqueue")
    assert login == house.directory.owner()


def test_while_the_server_is_down_mail_is_put_off_and_taken_again_when_it_is_back(
    tmp_path: Path, state_directory: Path
):
    server = PrivateServer(state_directory, fast=True)
    database = Database(server.start())
    install(database)
    house = House(tmp_path, database.dsn)
    try:
        program, address = house.open()
        assert send(address).startswith("250 ")
        server.stop()
        assert send(address).startswith("451 4.3.0")
        database = Database(server.start())
        until(lambda: send(address).startswith("250 "))
        assert program.stop() == 0
        assert database.value("SELECT count(*) FROM pepsi.workqueue") == 2
    finally:
        for program in house.programs:
            program.close()
        database.close()
        server.stop()


def log_in(path: Path) -> None:
    """Have a password checked at the door at *path*."""
    with Client(str(path)) as client:
        client.say(b"EHLO c.example", 250)
        client.say(b"AUTH PLAIN " + base64.b64encode(b"\0bob\0secret"), 235)
        client.say(b"QUIT", 221)


def test_it_ends_though_its_socket_is_gone_and_somebody_has_logged_in(house: House):
    path = house.directory / "smtp"
    house.write("PASSWORD_FILE = ./passwords", listen=f"unix:{path}")
    assert house.passwd("bob", password="secret\n").returncode == 0
    program, _ = house.open()
    log_in(path)
    path.unlink()
    assert program.stop() == 0
    assert not any("Traceback" in line or "Unhandled" in line for line in program.said), program.said


def test_after_a_kill_it_opens_again_whoever_has_its_process_id_now(house: House):
    path = house.directory / "smtp"
    house.write(listen=f"unix:{path}:mode=600")
    first, _ = house.open()
    first.kill()
    first.wait()
    # As a door of Twisted's leaves it: a link to a process that lives again.
    (house.directory / "smtp.lock").symlink_to(str(os.getpid()))
    program, _ = house.open()
    assert send(str(path)).startswith("250 ")
    assert path.stat().st_mode & 0o777 == 0o600
    assert program.stop() == 0
    assert not path.exists()


def test_a_terminal_that_is_closed_ends_it_in_good_order_however_often_it_says_so(house: House):
    program, address = house.open()
    with Client(address) as client:
        client.open_message()
        program.kill(signal.SIGHUP)
        program.wait_for("waiting for 1 sessions")
        program.kill(signal.SIGHUP)
        client.send(b"x\r\n.\r\n")
        client.expect(250, 421)
    assert program.wait() == 0


def test_under_nohup_it_outlives_its_terminal(house: House):
    program, address = house.open("/bin/sh", "-c", f"trap '' HUP; exec {BIN}/pepsi-ingress -c {house.config} serve")
    program.kill(signal.SIGHUP)
    assert send(address).startswith("250 ")
    assert program.stop() == 0


def takes_mail(path: Path) -> bool:
    """Whether a door that may just be opening at *path* stores a message."""
    with socket.socket(socket.AF_UNIX) as probe:
        if probe.connect_ex(str(path)) != 0:
            return False
    return send(str(path)).startswith("250 ")


def test_standard_descriptors_that_are_closed_are_not_taken_for_anything_else(house: House):
    path = house.directory / "smtp"
    house.write(listen=f"unix:{path}")
    for closed in ("<&-", "<&- >&-", "<&- >&- 2>&-"):
        command = f"exec {BIN}/pepsi-ingress -c {house.config} serve {closed}"
        program = house.start("/bin/sh", "-c", command)
        until(lambda: takes_mail(path))
        held = [Path(f"/proc/{program.pid}/fd/{number}").readlink() for number in range(len(closed.split()))]
        assert held == [Path(os.devnull)] * len(held)
        assert program.stop() == 0


def test_a_signal_that_comes_as_soon_as_it_listens_ends_it_in_good_order(house: House):
    path = house.directory / "smtp"
    house.write(listen=f"unix:{path}")
    for _ in range(3):
        program = house.start()
        program.wait_for("listening on")
        assert program.stop() == 0
        assert not path.exists()
