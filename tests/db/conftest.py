"""What tests of the database share."""

import pytest

from tests.db.queue import Queue
from tests.support_database import Database


@pytest.fixture
def queue(database: Database) -> Queue:
    """The queue of the test's own database."""
    return Queue(database)
