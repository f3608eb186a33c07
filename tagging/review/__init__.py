"""Review of tags: decisions are stored safely, shown on a page, exported and read back."""
