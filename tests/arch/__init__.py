"""The tree itself: what is shipped, what imports what, what is written about it."""
