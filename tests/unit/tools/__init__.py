"""Tests of pepsi.tools."""
