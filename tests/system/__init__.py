"""All of it together."""
