"""Runs: rows over examples, recorded in a folder."""
