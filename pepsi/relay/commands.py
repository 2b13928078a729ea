"""The commands that carry an envelope, and what keeps a message from being offered to a host at all. Pure."""

from pepsi.relay.addresses import is_sendable
from pepsi.relay.answers import Answer, refused
from pepsi.relay.extensions import Extensions
from pepsi.relay.letter import Letter

DATA = b"DATA\r\n"
RSET = b"RSET\r\n"
QUIT = b"QUIT\r\n"


def mail(letter: Letter, extensions: Extensions) -> bytes:
    """Return the MAIL command for *letter*, with the parameters that the host understands."""
    words = [f"MAIL FROM:<{letter.sender}>"]
    if "SIZE" in extensions:
        words.append(f"SIZE={len(letter.data)}")
    if letter.eight_bit and "8BITMIME" in extensions:
        words.append("BODY=8BITMIME")
    if "SMTPUTF8" in extensions and _needs_utf8(letter):
        words.append("SMTPUTF8")
    if "DSN" in extensions:
        words += [f"RET={letter.dsn.ret}"] * bool(letter.dsn.ret)
        words += [f"ENVID={letter.dsn.envid}"] * bool(letter.dsn.envid)
    return _line(words)


def rcpt(recipient: str, letter: Letter, extensions: Extensions) -> bytes:
    """Return the RCPT command for *recipient* of *letter*."""
    words = [f"RCPT TO:<{recipient}>"]
    if "DSN" in extensions:
        notify, orcpt = letter.dsn.notify.get(recipient), letter.dsn.orcpt.get(recipient)
        words += [f"NOTIFY={notify}"] * bool(notify)
        words += [f"ORCPT={orcpt}"] * bool(orcpt)
    return _line(words)


def unsendable(letter: Letter) -> dict[str, Answer]:
    """Return the refusals that no host could mend: recipients, or all of them, that no command can carry."""
    if not is_sendable(letter.sender) and letter.sender:
        return dict.fromkeys(letter.recipients, refused("5.1.7", "the sender's address cannot be sent over SMTP"))
    if b"\0" in letter.data:
        return dict.fromkeys(letter.recipients, refused("5.6.0", "the message holds NUL octets"))
    bad = refused("5.1.3", "the address cannot be sent over SMTP")
    return {recipient: bad for recipient in letter.recipients if not is_sendable(recipient)}


def beyond(letter: Letter, extensions: Extensions, *, force_8bit: bool = False) -> dict[str, Answer]:
    """Return the refusals for what this host cannot take, going by its *extensions*.

    With *force_8bit* a message with 8-bit text is sent to a host that never promised to carry it.
    """
    whole = _beyond_whole(letter, extensions, force_8bit)
    if whole is not None:
        return dict.fromkeys(letter.recipients, whole)
    if "SMTPUTF8" in extensions:
        return {}
    lacking = refused("5.6.7", "the address needs SMTPUTF8, which the host lacks")
    return {recipient: lacking for recipient in letter.recipients if not recipient.isascii()}


def _beyond_whole(letter: Letter, extensions: Extensions, force_8bit: bool) -> Answer | None:
    limit = extensions.size_limit
    if limit is not None and len(letter.data) > limit:
        return refused("5.3.4", f"the message has {len(letter.data)} bytes, the host takes {limit}")
    if "SMTPUTF8" not in extensions:
        if not letter.sender.isascii():
            return refused("5.6.7", "the sender's address needs SMTPUTF8, which the host lacks")
        if letter.utf8_header:
            return refused("5.6.9", "the header needs SMTPUTF8, which the host lacks")
    if letter.eight_bit and "8BITMIME" not in extensions and not force_8bit:
        return refused("5.6.3", "the message holds 8-bit text, and the host does not offer 8BITMIME")
    return None


def _needs_utf8(letter: Letter) -> bool:
    return letter.utf8_header or not all(address.isascii() for address in (letter.sender, *letter.recipients))


def _line(words: list[str]) -> bytes:
    return " ".join(words).encode() + b"\r\n"
