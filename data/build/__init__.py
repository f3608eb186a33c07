"""Builds files of the data layout from official releases; run once per release."""
