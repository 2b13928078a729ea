"""``pepsi-settings``: one module a command, and what they share."""
