"""Changes of the configuration in the small world."""

from collections.abc import Mapping

from pepsi.model.stage import StageSpec
from pepsi.sched import events
from tests.unit.sched.world import World


def reconfigure(world: World, specs: Mapping[str, StageSpec]) -> None:
    """Let the stages be *specs* from now on."""
    _send_out(world)
    world.specs = dict(specs)
    world.tell(events.ConfigChanged(specs))


def renew(world: World) -> None:
    """Let every worker be replaced."""
    _send_out(world)
    world.tell(events.WorkersOutdated())


def _send_out(world: World) -> None:
    world.reconfigured = True
    for child in [*world.children.values(), *world.graves.values()]:
        if not child.asked and not child.doomed and not world.stopping:
            child.outgoing = True
