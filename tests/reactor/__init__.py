"""Twisted code, on fake clocks and processes and on the real reactor."""
