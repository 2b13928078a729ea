"""The options that a stage works with for one message: those of its section, and upon them what correspondents set.

Pure but for its cache: it asks nobody, and the same message gives the same answer each time. So it can be asked, too,
what a stage would be given that is not yet at work.
"""

import functools
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from pepsi.config.load import Config
from pepsi.config.option import declared
from pepsi.config.options import StageOptions
from pepsi.errors import ConfigError
from pepsi.model.message import Message
from pepsi.model.settings import NOTHING_WANTED, Group, Overrides, Wanted, correspondents
from pepsi.stages.api import Refuse, Stage
from pepsi.worker.section import options_of

O = TypeVar("O", bound=StageOptions)  # noqa: E741

NEVER = frozenset(("PROGRAM", "PARALLELISM", "QUEUE_LIMIT", "MAX_MESSAGES", "MAX_RUNTIME", "FUSION"))
"""Keys that are of a stage and its workers, not of a message: no correspondent has them, whatever a stage declares."""

CACHED = 256
"""Sets of overrides whose options are kept. What comes again and again is parsed once."""

Groups = tuple[Group, ...]


def overridable(options: type[StageOptions]) -> frozenset[str]:
    """Return the keys of a stage with these *options* that can be set for single correspondents."""
    return frozenset(option.key for option in declared(options) if option.per_address) - NEVER


class Layers(Generic[O]):
    """The options of the stage *name*: *options* where nobody has set anything.

    *parse* returns those with the keys that it is given upon them. It raises ConfigError where the two together are
    wrong.
    """

    def __init__(self, name: str, options: O, parse: Callable[[Mapping[str, str]], O]) -> None:
        self.name = name
        self.options = options
        self.keys = overridable(type(options))
        self._parse = parse
        self._cached = functools.lru_cache(CACHED)(self._layered)

    def resolve(self, message: Message) -> O | Groups | None:
        """Return the options for *message*, or its recipients by groups if it must be split before the stage runs.

        None if that cannot be told: the settings that were loaded are not those of the correspondents that it has got
        since, or not of this stage. Raises Refuse if what is set makes the section unusable: then the fault is not this
        host's.
        """
        if not self.keys:
            return self.options
        whose = correspondents(message.mail_from, message.recipients, message.state)
        if not message.settings.tell(self.name, whose):
            return None
        groups = message.settings.groups(self.name, whose, self.keys)
        return self._with(groups[0].overrides) if len(groups) == 1 else groups

    def _with(self, overrides: Overrides) -> O:
        if not overrides:
            return self.options
        options = self._cached(overrides)
        if options is None:
            # What is wrong with the value could tell the value, which is between its owner and the operator.
            keys = ", ".join(key for key, _ in overrides)
            raise Refuse(
                f"what is set by address of {keys} for the stage {self.name} cannot be used; "
                "'pepsi-settings explain' shows it"
            )
        return options

    def _layered(self, overrides: Overrides) -> O | None:
        try:
            return self._parse(dict(overrides))
        except ConfigError:
            return None


def layers_of(stage: type[Stage[Any]], config: Config, name: str) -> Layers[StageOptions]:
    """Return the options of *stage* at work for the section of the stage *name*. Raises ConfigError."""
    return Layers(name, options_of(stage, config, name), functools.partial(options_of, stage, config, name))


def wanted(keys: Mapping[str, frozenset[str]]) -> Wanted:
    """Return which settings to load where *keys* can be set, by the name of the stage."""
    stages = tuple(name for name, some in keys.items() if some)
    return Wanted(stages, tuple(sorted(frozenset[str]().union(*keys.values())))) if stages else NOTHING_WANTED
