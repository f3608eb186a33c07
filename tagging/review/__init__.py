"""Looking through tags: what a person decides, kept safe, shown on a page, written out and read back."""
