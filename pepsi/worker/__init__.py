"""The stage program's side of the pipe: one blocking loop, no Twisted."""
