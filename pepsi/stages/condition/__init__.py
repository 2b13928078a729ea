"""The parts that conditions are made of."""
