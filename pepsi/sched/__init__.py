"""The dispatcher without the world: events in, commands out. Pure."""
