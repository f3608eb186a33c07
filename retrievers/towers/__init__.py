"""Two towers: loci and concepts as vectors in one space, learned from already-tagged facts."""
