"""Answer questions with options, with the evidence for the answer."""
