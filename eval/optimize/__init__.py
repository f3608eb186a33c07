"""Programs compiled with the optimizers of DSPy."""
