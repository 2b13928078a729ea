"""Load and faults at random on a running system, and an oracle that judges what became of the mail."""
