"""A worker that does what the subject of each message says, and writes down what it began and ended.

Run as ``python puppet.py RECORD [-c FILE] worker``. The record gets a line ``begin ID PID`` and ``end ID PID`` for each
message, each by one write. While it is at a message it holds a lock that goes with the process: a second one that
begins with it meanwhile writes ``overlap ID PID``.
"""

import fcntl
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psycopg2

RECORD, DSN = sys.argv[1], os.environ["PUPPET_DSN"]
EPOCH = int(os.environ["PEPSI_EPOCH"])


def record(event: str, number: int) -> None:
    descriptor = os.open(RECORD, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(descriptor, b"%s %d %d\n" % (event.encode(), number, os.getpid()))
    os.close(descriptor)


def begin(locks: int, number: int) -> None:
    record("begin", number)
    try:
        fcntl.lockf(locks, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, number)
    except OSError:
        record("overlap", number)


def say(text: str) -> None:
    os.write(1, text.encode() + b"\n")


def act(cursor: "psycopg2.extensions.cursor", number: int, locks: int) -> str:
    cursor.execute("SELECT claim, stage, subject FROM pepsi.workqueue_load(%s, %s)", (number, EPOCH))
    row = cursor.fetchone()
    if row is None:
        return "0"
    claim, stage, subject = row
    begin(locks, number)
    verb, _, argument = subject.partition(" ")
    match verb:
        case "crash":
            os.kill(os.getpid(), signal.SIGKILL)
        case "exit":
            os._exit(int(argument))
        case "hang":
            time.sleep(3600)
        case "garble":
            return "not a status"
        case "claim-done":
            return "0"
        case "answer":
            return argument
        case "leave":
            record("child", subprocess.Popen(["sleep", argument]).pid)
            os._exit(3)
        case "late":
            seconds, _, answer = argument.partition(" ")
            time.sleep(float(seconds))
            return answer
        case "brood":
            record("child", subprocess.Popen(["sleep", argument]).pid)
            time.sleep(3600)
        case "await":
            while not Path(argument).exists():
                time.sleep(0.01)
        case "slow":
            time.sleep(float(argument))
        case "twice":
            say("0")
        case "shout":
            os.write(2, b"x" * int(argument) + b"\n")
    following = os.environ.get("PUPPET_NEXT_" + stage.replace("-", "_"))
    if following:
        cursor.execute("SELECT pepsi.workqueue_advance(%s, %s, %s)", (number, claim, following))
    else:
        cursor.execute("SELECT pepsi.workqueue_finish(%s, %s)", (number, claim))
    record("end", number)
    return "0"


def main() -> None:
    connection = psycopg2.connect(DSN)
    connection.autocommit = True
    locks = os.open(RECORD + ".locks", os.O_RDWR | os.O_CREAT, 0o600)
    with connection.cursor() as cursor:
        say(os.environ.get("PUPPET_READY", "ready"))
        for line in iter(sys.stdin.buffer.readline, b""):
            answer = act(cursor, int(line), locks)
            fcntl.lockf(locks, fcntl.LOCK_UN)
            say(answer)


main()
