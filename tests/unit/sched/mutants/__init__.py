"""Bugs that the tests of the dispatcher's decisions are shown to catch: ``python -m tests.unit.sched.mutants``."""
