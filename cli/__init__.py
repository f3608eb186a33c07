"""The command line: one file per command; the only place that draws in a terminal."""
