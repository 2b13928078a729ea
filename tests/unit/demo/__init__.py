"""The pure part of the demo."""
