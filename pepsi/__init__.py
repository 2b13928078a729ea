"""Pepsi, a programmable mail system: messages are rows, stages are programs, one dispatcher drives them."""

__version__ = "0.1.0"
