"""``check``: whether a stage could begin to work, as far as that can be told without a database."""

from collections.abc import Mapping
from typing import Any

from pepsi.config.load import STAGE_PREFIX, Config, load, locate
from pepsi.errors import EX_CONFIG, EX_ERROR, ConfigError
from pepsi.stages.api import Stage
from pepsi.worker.arguments import Invocation
from pepsi.worker.environment import STAGE
from pepsi.worker.note import note
from pepsi.worker.section import options_of, problems_of, sections_that_run


def check(stage: type[Stage[Any]], invocation: Invocation, environ: Mapping[str, str]) -> int:
    """Check the section that is named, or else each that runs *stage*, and return the exit status.

    What is set in the database is not looked at.
    """
    try:
        config = load(locate(invocation.config, environ), own_keys=problems_of)
        named = invocation.section or environ.get(STAGE)
        names = (named,) if named else sections_that_run(stage, config)
        if not names:
            raise ConfigError(f"{config.path}: no stage has this program for its PROGRAM; name one with -s")
    except ConfigError as error:
        note(str(error))
        return EX_CONFIG
    return max(_checked(stage, config, name, invocation.options) for name in names)


def _checked(stage: type[Stage[Any]], config: Config, name: str, given: Mapping[str, str]) -> int:
    made = stage()
    try:
        made.open(options_of(stage, config, name, given))
    except ConfigError as error:
        note(str(error))
        return EX_CONFIG
    except OSError as error:
        note(f"{config.path}: [{STAGE_PREFIX}{name}]: {error}")
        return EX_ERROR
    made.close()
    print(f"{config.path}: [{STAGE_PREFIX}{name}] is in order")
    return 0
