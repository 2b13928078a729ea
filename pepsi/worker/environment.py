"""What the dispatcher tells a worker through the environment."""

from collections.abc import Mapping

from pepsi.config.values import is_stage
from pepsi.errors import ConfigError

STAGE = "PEPSI_STAGE"
"""The name of the stage whose section the worker works for: several can have one program."""
EPOCH = "PEPSI_EPOCH"
"""The number of this start of the dispatcher: a worker that outlived its dispatcher is known by it."""


def stage_and_epoch(environ: Mapping[str, str]) -> tuple[str, int]:
    """Return both. Raises ConfigError if they are not there."""
    name, epoch = environ.get(STAGE, ""), environ.get(EPOCH, "")
    if not is_stage(name):
        raise ConfigError(f"${STAGE} must name a stage: the dispatcher sets it for the workers that it starts")
    if not (epoch.isascii() and epoch.isdecimal() and len(epoch) < 20):
        raise ConfigError(f"${EPOCH} must be a number: the dispatcher sets it for the workers that it starts")
    return name, int(epoch)
