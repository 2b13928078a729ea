"""How many bytes of messages may be in memory at once, over all sessions. Pure."""


class Budget:
    """A number of bytes to be taken and given back."""

    def __init__(self, limit: int) -> None:
        self.room = limit
        """Bytes that are left."""

    def take(self, count: int) -> bool:
        """Take *count* bytes if they are left; return whether they were."""
        if count > self.room:
            return False
        self.room -= count
        return True

    def give(self, count: int) -> None:
        """Give *count* bytes back that were taken."""
        self.room += count
