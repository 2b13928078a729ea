"""What the commands of operators' tools share: their surroundings, the database on the reactor, output."""
