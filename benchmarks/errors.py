"""What can go wrong with a benchmark itself."""

from pepsi.errors import PepsiError


class BenchmarkError(PepsiError):
    """It could not be measured: something ended, got stuck, or did not do the work."""
