"""A dispatcher, and mail whose recipients have set different things."""

from tests.support_program import Program, until
from tests.system.conftest import Theatre

COUNT = 20
SORT = "PROGRAM = pepsi-stage-if\nCONDITION = size > 1 GB\nTHEN_STAGE = {0}\nELSE_STAGE = {1}"


def started(theatre: Theatre, fusion: str) -> Program:
    """Start a dispatcher that would not look at the queue again for an hour if nothing tells it that it should."""
    theatre.write_config(
        dispatch="POLL_INTERVAL = 1 h",
        first=SORT.format("others", "second"),
        second=SORT.format("wanted", "others"),
        wanted=f"PROGRAM = pepsi-stage-discard\nFUSION = {fusion}",
        others=f"PROGRAM = pepsi-stage-discard\nFUSION = {fusion}",
    )
    return theatre.dispatcher()


def put(theatre: Theatre) -> None:
    theatre.database.rows(
        "SELECT pepsi.workqueue_inject('first', 's@s.org', '{a@x.org,b@x.org,c@y.org}', 'Subject: s') "
        "FROM generate_series(1, %(count)s)",
        count=COUNT,
    )


def counts(theatre: Theatre) -> dict[str, int]:
    return dict(theatre.database.rows("SELECT stage, messages::int FROM pepsi.stage_stats"))


def test_rows_that_were_split_off_run_at_once_though_nobody_was_told_of_them(theatre: Theatre) -> None:
    dispatcher = started(theatre, "yes")
    theatre.database.rows("INSERT INTO pepsi.settings VALUES ('b@x.org', 'second', 'CONDITION', 'size > 0')")
    put(theatre)
    theatre.wait_until_empty()
    wanted = {"wanted": COUNT, "others": COUNT, "second": 2 * COUNT, "first": COUNT}
    until(lambda: counts(theatre) == wanted)
    dispatcher.stop()


def test_what_is_set_while_mail_flows_counts_for_the_next_message(theatre: Theatre) -> None:
    dispatcher = started(theatre, "no")
    put(theatre)
    theatre.wait_until_empty()
    theatre.database.rows("INSERT INTO pepsi.settings VALUES ('*', 'second', 'CONDITION', 'size > 0')")
    put(theatre)
    theatre.wait_until_empty()
    until(lambda: counts(theatre) == {"first": 2 * COUNT, "second": 2 * COUNT, "others": COUNT, "wanted": COUNT})
    dispatcher.stop()
