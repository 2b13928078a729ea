"""``pepsi-queue``: one module a command, and what they share."""
