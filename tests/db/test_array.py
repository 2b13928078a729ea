"""Arrays that are passed as text arrive as they were."""

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pepsi.db import array
from tests.support_database import Database

TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)))


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(TEXTS))
@example(["", "NULL", "null", "{}", ",", '"', "\\", '\\"', " x ", "\n", "%s", "'"])
@example(["plain", ""])
def test_texts_arrive_as_they_were(database: Database, values: list[str]) -> None:
    assert database.value("SELECT %(values)s::text[]", values=array.texts(values)) == values


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(-(2**63), 2**63 - 1)), st.lists(st.floats(allow_nan=False)))
def test_numbers_arrive_as_they_were(database: Database, whole: list[int], real: list[float]) -> None:
    assert database.value("SELECT %(values)s::bigint[]", values=array.numbers(whole)) == whole
    assert database.value("SELECT %(values)s::double precision[]", values=array.numbers(real)) == real
