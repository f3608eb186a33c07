"""Already-tagged facts, indexed: the nearest ones vote."""
