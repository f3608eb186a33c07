"""Experiments: their files, and how each family runs them."""
