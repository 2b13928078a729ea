"""What the door says is always one well-formed reply."""

import re

from hypothesis import given
from hypothesis import strategies as st

from pepsi.ingress import replies
from pepsi.ingress.replies import Reply


@given(st.text(max_size=2000), st.integers(200, 599))
def test_a_reply_is_one_line_of_ascii_within_the_limit_whatever_is_in_it(text: str, code: int):
    wire = replies.reply(code, text).wire
    assert re.fullmatch(rb"[2-5][0-9]{2} [ -~]*\r\n", wire) and len(wire) <= 512


def test_every_refusal_has_an_enhanced_code_of_its_own_class():
    known = [value for value in vars(replies).values() if isinstance(value, Reply) and value.refuses]
    assert len(known) > 40
    for reply in known:
        assert re.match(rf"{reply.code} {str(reply.code)[0]}\.\d\.\d", str(reply)), reply


def test_whatever_closes_the_session_says_421_or_another_code_that_ends_it():
    closing = {value.code for value in vars(replies).values() if isinstance(value, Reply) and value.closes}
    assert closing <= {221, 421, 500, 503, 554}


def test_the_answer_to_ehlo_has_a_line_for_each_keyword():
    assert replies.hello("mx", ["A", "B"]).wire == b"250-mx\r\n250-A\r\n250 B\r\n"
    assert replies.hello("mx").wire == b"250 mx\r\n"
