"""Experiments: metrics, statistics, runs, reports and optimizers."""
