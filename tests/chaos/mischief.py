"""Does the faults to a running system."""

from collections.abc import Callable
from dataclasses import dataclass

import psycopg2

from tests.chaos.faults import Kind
from tests.chaos.on_network import OnNetwork
from tests.chaos.on_processes import OnProcesses
from tests.chaos.on_server import OnServer
from tests.chaos.outage import is_outage


@dataclass(slots=True)
class Mischief:
    """Knows how each kind of fault is done. *missed* counts those that found nothing to hit."""

    processes: OnProcesses
    server: OnServer
    network: OnNetwork
    missed: int = 0

    def do(self, kind: Kind) -> None:
        """Do something of *kind*, if there is something to do it to."""
        deeds: dict[Kind, Callable[[], bool]] = {
            Kind.WORKER_KILL: self.processes.kill_worker,
            Kind.WORKER_STOP: self.processes.stop_worker,
            Kind.DISPATCHER_KILL: self.processes.kill_dispatcher,
            Kind.DISPATCHER_STOP: self.processes.stop_dispatcher,
            Kind.SECOND: self.processes.second,
            Kind.CLOCK_STEP: self.processes.step,
            Kind.SERVER_KILL: self.server.kill_server,
            Kind.BACKEND_KILL: lambda: self.server.hit_backend(Kind.BACKEND_KILL),
            Kind.SESSION_END: lambda: self.server.hit_backend(Kind.SESSION_END),
            Kind.HELD_ROWS: self.server.hold,
            Kind.NOTIFY_STORM: self.server.storm,
            Kind.RELOAD: self.server.reload,
            Kind.BAD_CONFIG: self.server.break_config,
            Kind.CUT: self.network.cut,
            Kind.BLACKHOLE: self.network.silence,
            Kind.DELAY: self.network.slow,
            Kind.REFUSE: self.network.refuse,
        }
        try:
            hit = deeds[kind]()
        except psycopg2.Error as error:
            if not is_outage(error):
                raise
            hit = False
        if not hit:
            self.missed += 1
