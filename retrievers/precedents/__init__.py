"""An index of already-tagged facts; the nearest ones vote."""
