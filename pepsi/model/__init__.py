"""Frozen values that every layer shares. Pure: no clock, no chance, no I/O."""
