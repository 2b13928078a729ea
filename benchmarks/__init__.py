"""How fast Pepsi is, measured: ``python -m benchmarks --help``. Part of the checkout, not of an installation."""
