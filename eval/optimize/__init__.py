"""Compile programs with DSPy's optimizers."""
