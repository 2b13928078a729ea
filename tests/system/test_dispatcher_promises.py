"""Promises that the dispatcher does not keep yet. Whoever mends one takes its mark away."""

import pytest

from tests.system.conftest import Theatre


@pytest.mark.xfail(strict=True, reason="the exit status of a refusal by the database is that of other programs, 69")
def test_a_start_that_the_database_refuses_ends_with_1(theatre: Theatre) -> None:
    theatre.database.rows("ALTER TABLE pepsi.dispatcher_epoch RENAME TO elsewhere")
    refused = theatre.dispatcher(wait=False)
    assert refused.wait() == 1
