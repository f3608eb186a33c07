"""The version of abduce, which results record."""

__version__ = "0.1.0"
