"""The parts of a worker that need neither a database nor a process."""
