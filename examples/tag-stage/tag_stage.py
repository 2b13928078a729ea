"""A stage that puts a tag in front of the Subject: ``PROGRAM = pepsi-stage tag`` once this package is installed."""

import re
import sys
from dataclasses import dataclass

from pepsi.stages.api import Advance, Changes, Message, Need, OnwardOptions, Outcome, Refuse, Stage, text
from pepsi.worker.program import run


@dataclass(frozen=True, slots=True, kw_only=True)
class TagOptions(OnwardOptions):
    """The keys of the stage's section, beside those of every stage."""

    tag: str = text("[list]", doc="What to put in front of the Subject.")

    def __post_init__(self) -> None:
        if not self.tag.isascii():
            raise ValueError("expected TAG to be ASCII, for it goes into a header as it is")


class Tag(Stage[TagOptions]):
    """Puts TAG in front of the Subject, unless it is in there already."""

    name = "tag"
    needs = Need.HEADERS
    Options = TagOptions

    def process(self, message: Message, options: TagOptions) -> Outcome:
        """Change the first Subject, or add one."""
        header_block = message.header_block or b""
        if options.tag in message.subject:
            return Advance(stage=options.next_stage)
        if not header_block.endswith(b"\r\n\r\n"):
            raise Refuse("the message has no end of its header")
        tag = options.tag.encode()
        found = re.search(rb"(?im)^Subject:[ \t]*", header_block)
        if found is None:
            tagged = b"Subject: " + tag + b"\r\n" + header_block
        else:
            tagged = header_block[: found.end()] + tag + b" " + header_block[found.end() :]
        return Advance(stage=options.next_stage, changes=Changes(header_block=tagged))


if __name__ == "__main__":
    sys.exit(run(Tag))
