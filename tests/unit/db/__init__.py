"""Tests of pepsi.db that need no database."""
