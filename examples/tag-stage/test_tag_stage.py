"""How a stage is tested: no database, no dispatcher, no file."""

from dataclasses import replace

import pytest
from tag_stage import Tag

from pepsi.stages.api import Changes, ConfigError
from pepsi.testing import assert_advances, assert_fails, changed, message, run


def test_the_tag_comes_before_the_subject() -> None:
    before = message("From: anna@example.org", "Subject: hello")
    outcome = run(Tag, before, TAG="[friends]", NEXT_STAGE="inbox")
    assert_advances(outcome, to="inbox")
    assert changed(before, outcome).header_block == b"From: anna@example.org\r\nSubject: [friends] hello\r\n\r\n"


def test_a_message_without_a_subject_gets_one() -> None:
    before = message("From: anna@example.org")
    after = changed(before, run(Tag, before, NEXT_STAGE="inbox"))
    assert after.header_block == b"Subject: [list]\r\nFrom: anna@example.org\r\n\r\n"


def test_a_tag_that_is_there_already_is_not_put_there_again() -> None:
    outcome = run(Tag, message("Subject: Re: [list] hello"), NEXT_STAGE="inbox")
    assert_advances(outcome, to="inbox", changes=Changes())


def test_a_message_whose_header_has_no_end_is_refused() -> None:
    cut_short = replace(message(), header_block=b"Subject: x\r\n")
    assert_fails(run(Tag, cut_short, NEXT_STAGE="inbox"), because="no end of its header")


def test_a_tag_that_cannot_stand_in_a_header_is_an_error_of_the_configuration() -> None:
    with pytest.raises(ConfigError, match="expected TAG to be ASCII"):
        run(Tag, message(), TAG="[Grüße]", NEXT_STAGE="inbox")
