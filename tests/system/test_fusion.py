"""A dispatcher, and workers that do the work of several stages in one pass."""

import pytest

from tests.support_program import until
from tests.system.conftest import Theatre

COUNT = 60


def sections(fusion: str) -> dict[str, str]:
    """Return three stages in a row; the last one is left to workers of its own unless *fusion* says yes."""
    choice = "PROGRAM = pepsi-stage-if\nCONDITION = size > 0\nTHEN_STAGE = {0}\nELSE_STAGE = {0}"
    return {
        "first": choice.format("second"),
        "second": choice.format("third"),
        "third": f"PROGRAM = pepsi-stage-discard\nFUSION = {fusion}",
    }


@pytest.mark.parametrize(("fusion", "passes"), [("yes", COUNT), ("no", 2 * COUNT)])
def test_a_chain_is_one_pass_and_one_message_at_each_of_its_stages(theatre: Theatre, fusion: str, passes: int) -> None:
    theatre.write_config(**sections(fusion))
    dispatcher = theatre.dispatcher()
    theatre.inject(stage="first", count=COUNT)
    theatre.wait_until_empty()
    counted = "SELECT stage, messages::int FROM pepsi.stage_stats ORDER BY stage"
    until(lambda: theatre.database.rows(counted) == [("first", COUNT), ("second", COUNT), ("third", COUNT)])
    assert theatre.database.value("SELECT stages_executed FROM pepsi.dispatch_stats") == passes
    dispatcher.stop()
