"""A question with options in; the evidence that decides it, and the answer, out."""
