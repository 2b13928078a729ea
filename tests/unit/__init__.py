"""Pure code: no clock, no socket, no file."""
