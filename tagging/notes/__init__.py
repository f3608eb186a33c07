"""Codes for the mentions of a clinical note."""
