"""``try``: a stage run on a message in a file, without a database, and what would become of the message."""

import random
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pepsi.config.load import Config, load, locate
from pepsi.errors import EX_CONFIG, EX_ERROR, ConfigError
from pepsi.stages.api import Stage
from pepsi.worker.arguments import Invocation
from pepsi.worker.environment import STAGE
from pepsi.worker.note import note
from pepsi.worker.picture import picture
from pepsi.worker.rehearsal import message_of, rehearse
from pepsi.worker.section import options_alone, options_of, sections_that_run


def attempt(stage: type[Stage[Any]], invocation: Invocation, environ: Mapping[str, str]) -> int:
    """Run *stage* on the file and print what becomes of the message; return the exit status.

    The keys of a section are used when one is named, or a configuration file; else only those of the command line.
    Whatever else than Refuse and TryLater the stage raises is raised.
    """
    try:
        if invocation.config is None and invocation.section is None:
            name, options = stage.name, options_alone(stage, invocation.options)
        else:
            config = load(locate(invocation.config, environ))
            name = invocation.section or environ.get(STAGE) or _only_section(stage, config)
            options = options_of(stage, config, name, invocation.options)
        data = sys.stdin.buffer.read() if invocation.operand == "-" else Path(invocation.operand).read_bytes()
        message = message_of(
            data,
            stage=name,
            mail_from=invocation.sender,
            recipients=invocation.recipients,
            state=invocation.state,
        )
        outcome = rehearse(stage, options, message, random.random)
    except ConfigError as error:
        note(str(error))
        return EX_CONFIG
    except OSError as error:
        note(str(error))
        return EX_ERROR
    print("\n".join(picture(message, outcome)))
    return 0


def _only_section(stage: type[Stage[Any]], config: Config) -> str:
    names = sections_that_run(stage, config)
    if len(names) != 1:
        found = f"{', '.join(names)} have" if names else "no stage has"
        raise ConfigError(f"{config.path}: {found} this program for PROGRAM; name one with -s")
    return names[0]
