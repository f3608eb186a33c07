"""The version of abduce, for what is written beside results."""

__version__ = "0.1.0"
