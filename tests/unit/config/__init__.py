"""Tests of pepsi.config."""
