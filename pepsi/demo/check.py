"""Whether what arrived is what was sent, byte for byte. Pure.

On its way a message is given trace fields, and each stands above all that was there before (RFC 5321, section 4.4).
Anything else that differs is damage.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

TRACE = (b"received", b"return-path", b"delivered-to")
"""The fields that hosts add at the top, in lower case."""

_FIELD = re.compile(rb"([!-9;-~]+)[ \t]*:[^\r\n]*\r\n(?:[ \t][^\r\n]*\r\n)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What became of messages that were to arrive somewhere: names of those sent, and a sentence for each surprise."""

    intact: tuple[str, ...]
    lost: tuple[str, ...]
    surprises: tuple[str, ...]

    @property
    def good(self) -> bool:
        """Whether everything arrived, nothing was changed, and nothing came twice."""
        return not self.lost and not self.surprises


def compare(sent: Mapping[str, tuple[bytes, int]], arrived: Iterable[bytes]) -> Findings:
    """Compare messages by name, each with the number of copies that are due, to those that *arrived* in any order."""
    due = {name: copies for name, (_, copies) in sent.items()}
    # Where one was sent that is another with trace fields above it, what arrived is more likely the longer one.
    longest_first = sorted(sent, key=lambda name: len(sent[name][0]), reverse=True)
    unknown = []
    surprises = []
    for message in arrived:
        names = [name for name in longest_first if is_intact(sent[name][0], message)]
        if not names:
            unknown.append(message)
        elif open_ones := [name for name in names if due[name] > 0]:
            due[open_ones[0]] -= 1
        else:
            surprises.append(f"{names[0]} arrived more often than it was sent")
    missing = {name: sent[name][0] for name, copies in due.items() if copies > 0}
    surprises += [_damage(missing, message) for message in unknown]
    return Findings(
        intact=tuple(name for name in sent if name not in missing),
        lost=tuple(missing),
        surprises=tuple(surprises),
    )


def report(places: Mapping[str, Findings]) -> tuple[str, ...]:
    """Return lines that tell what was found at each of *places*."""
    lines = []
    for place, findings in places.items():
        lines.append(f"{place}: {len(findings.intact)} of {len(findings.intact) + len(findings.lost)} byte for byte")
        lines += [f"  {name} is lost" for name in findings.lost]
        lines += [f"  {surprise}" for surprise in findings.surprises]
    return tuple(lines)


def is_intact(original: bytes, arrived: bytes) -> bool:
    """Whether *arrived* is *original* with nothing but trace fields added at the top."""
    return arrived.endswith(original) and _is_trace(arrived[: len(arrived) - len(original)])


def _is_trace(lines: bytes) -> bool:
    at = 0
    while at < len(lines):
        field = _FIELD.match(lines, at)
        if field is None or field[1].lower() not in TRACE:
            return False
        at = field.end()
    return True


def _damage(missing: Mapping[str, bytes], arrived: bytes) -> str:
    """Say what is wrong with a message that is none of those sent, by the one that it has the longest end in common."""
    if not missing:
        return f"a message of {len(arrived)} bytes arrived that was never sent"
    name = max(missing, key=lambda name: _common_end(missing[name], arrived))
    common = _common_end(missing[name], arrived)
    if common == len(missing[name]):
        return f"{name} arrived with more than trace fields above it: {arrived[:60]!r}"
    return (
        f"{name} arrived changed: {common} bytes before its end "
        f"{missing[name][: len(missing[name]) - common][-20:]!r} became {arrived[: len(arrived) - common][-20:]!r}"
    )


def _common_end(one: bytes, other: bytes) -> int:
    """Return how many bytes at the end of both are the same."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[len(one) - middle :] == other[len(other) - middle :]:
            low = middle
        else:
            high = middle - 1
    return low
