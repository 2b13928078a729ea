"""The stage ``discard``: the end of the road for mail that nobody wants."""

from pepsi.stages.api import Finish, Message, Options, Outcome, Stage


class Discard(Stage[Options]):
    """Ends a message without a word to anybody. It is counted as any finished message."""

    name = "discard"
    fusable = True

    def process(self, message: Message, options: Options) -> Outcome:
        """Finish."""
        return Finish()
