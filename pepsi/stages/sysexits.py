"""What the exit status of a command says about a message, by the conventions of sysexits.h. Pure."""

from collections.abc import Collection

from pepsi.config.kind import Kind
from pepsi.config.option import Option
from pepsi.relay.answers import Answer, Verdict

EX_TEMPFAIL = 75

_MEANINGS = {
    64: ("5.3.0", "wrong usage"),
    65: ("5.6.0", "unusable message"),
    66: ("5.3.0", "no input"),
    67: ("5.1.1", "no such user"),
    68: ("5.1.2", "no such host"),
    69: ("5.3.0", "unavailable"),
    70: ("5.3.0", "internal error"),
    71: ("5.3.0", "system error"),
    72: ("5.3.0", "system file missing"),
    73: ("5.3.0", "cannot create output"),
    74: ("5.3.0", "input/output error"),
    EX_TEMPFAIL: ("4.3.0", "try later"),
    76: ("5.5.0", "protocol error"),
    77: ("5.7.1", "not allowed"),
    78: ("5.3.5", "wrong configuration"),
}
"""The status (RFC 3463) of a refusal, and words, by exit status."""

USUAL_REFUSALS = "65 67 68 77"
"""Those that speak of the message, its sender or its recipient. All the others speak of this host, and what is wrong
with it is no reason to send mail back: it is tried again, and someone can mend it meanwhile."""


def answer_of(program: str, status: int, said: str, refusals: Collection[int]) -> Answer:
    """Return what it means for a recipient that *program* ended with *status*, negative for a signal.

    *refusals* are the exit statuses that refuse the message for good; *said* is what the program wrote.
    """
    if status == 0:
        return Answer(verdict=Verdict.DELIVERED, status="2.0.0")
    code, words = _MEANINGS.get(status, ("5.3.0", ""))
    ended = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
    detail = ": ".join(filter(None, (f"{program} {ended}{f' ({words})' if words else ''}", said)))
    if status in refusals:
        return Answer(verdict=Verdict.REFUSED, status=code, detail=detail)
    return Answer(verdict=Verdict.RETRY, status=f"4{code[1:]}", detail=detail)


def _parse(text: str) -> tuple[int, ...]:
    statuses = []
    for word in text.split():
        if not (word.isascii() and word.isdecimal()) or not 1 <= int(word) <= 255:
            raise ValueError(f"expected exit statuses from 1 to 255, not {word}")
        if int(word) == EX_TEMPFAIL:
            raise ValueError(f"expected statuses without {EX_TEMPFAIL}, which always means another try")
        statuses.append(int(word))
    return tuple(statuses)


exit_statuses: Option[tuple[int, ...]] = Option(
    Kind(
        name="exit statuses",
        syntax="Numbers from 1 to 255 with white space between them; none at all is allowed.",
        parse=_parse,
        render=lambda statuses: " ".join(map(str, statuses)),
    )
)
"""Declares a key whose value is a set of exit statuses."""
