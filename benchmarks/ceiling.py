"""What the database itself carries: Pepsi's own statements, run by plain connections with nothing around them.

This process claims, and two others work. In threads of one process the three would share one interpreter's lock.
"""

import multiprocessing
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from multiprocessing.connection import Connection as Pipe
from multiprocessing.connection import wait

from benchmarks.arena import connect
from benchmarks.filling import STAGE
from pepsi.db import claims, messages, sync
from pepsi.db.statement import named
from pepsi.model import claim
from pepsi.model.message import Need
from pepsi.sched.commands import Claim, Want

WORKERS = 2
AHEAD = 4
"""Batches that a worker is given before it has answered for the first of them."""
EPOCH = 1


def move_all(dsn: str, pipes: list[Pipe], queue_limit: int) -> tuple[float, int]:
    """Move all waiting rows through; return the seconds from the first claim to the last row's end, and how many."""
    # As the dispatcher's session for claims: a claim that a crash of the server takes back is made again.
    with closing(connect(dsn, synchronous_commit=False)) as connection:
        out = dict.fromkeys(pipes, 0)
        wants = (Want(stage=STAGE, capacity=queue_limit),)
        number = moved = 0
        more = True
        begun = time.perf_counter()
        while more or any(out.values()):
            for pipe in pipes:
                while more and out[pipe] < AHEAD:
                    number += 1
                    command = Claim(token=claim.pack(EPOCH, number), fair=False, wants=wants)
                    rows = sync.run(connection, claims.claim(command))
                    more = len(rows) == queue_limit
                    if rows:
                        pipe.send([row[0] for row in rows])
                        out[pipe] += 1
            answered = wait([pipe for pipe in pipes if out[pipe]]) if any(out.values()) else []
            for pipe in pipes:
                while pipe in answered and pipe.poll():
                    moved += pipe.recv()
                    out[pipe] -= 1
        return time.perf_counter() - begun, moved


@contextmanager
def workers(dsn: str) -> Iterator[list[Pipe]]:
    """Run the workers for the length of a block; gives the pipe of each, once they are connected."""
    context = multiprocessing.get_context("spawn")
    pipes: list[Pipe] = []
    processes = []
    for _ in range(WORKERS):
        ours, theirs = context.Pipe()
        process = context.Process(target=_work, args=(dsn, theirs), daemon=True)
        process.start()
        theirs.close()
        pipes.append(ours)
        processes.append(process)
    try:
        for pipe in pipes:
            pipe.recv()
        yield pipes
    finally:
        for pipe in pipes:
            pipe.close()
        for process in processes:
            process.join()


def _work(dsn: str, pipe: Pipe) -> None:
    with closing(connect(dsn, synchronous_commit=False)) as connection:
        sync.run(connection, messages.prepare(Need.METADATA))
        pipe.send(0)
        while True:
            try:
                ids = pipe.recv()
            except EOFError:
                return
            rows = sync.run(connection, messages.load(ids))
            finish = named("finish_messages", ids=[row[0] for row in rows], claims=[row[1] for row in rows])
            pipe.send(len(sync.run(connection, finish)))
