"""Real worker processes."""
