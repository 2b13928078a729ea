"""Finding stages by name."""

import pytest

from pepsi.errors import StageError
from pepsi.stages.discard import Discard
from pepsi.stages.registry import find, load, names


def test_a_shipped_stage_is_found_by_its_name() -> None:
    assert find("discard") is Discard
    assert {"if", "discard"} <= set(names())


def test_an_unknown_name_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(StageError, match=r"no stage is called 'diskard'; there are .*discard, if"):
        find("diskard")


@pytest.mark.parametrize("target", ["pepsi.no_such_module:Stage", "pepsi.stages.discard:NoSuchClass", "pepsi.errors"])
def test_a_stage_that_is_not_where_its_entry_point_says_is_an_error(target: str) -> None:
    with pytest.raises(StageError, match="cannot be loaded"):
        load(target)


@pytest.mark.parametrize("target", ["pepsi.errors:PepsiError", "pepsi.stages.registry:find"])
def test_what_is_no_stage_is_refused(target: str) -> None:
    with pytest.raises(StageError, match="is not a stage"):
        load(target)
