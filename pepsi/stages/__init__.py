"""The shipped stages, one file each, and all that a stage may import."""
