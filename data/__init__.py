"""Data folders, facts, questions and corpora, and the bundled data."""
