"""Twisted and txpostgres with their holes stopped: connections, timers, logging."""
