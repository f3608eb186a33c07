"""Experiments: their files, and how a family runs them."""
