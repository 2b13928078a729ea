"""The configuration file: one declaration for each key, all errors of a file at once."""
