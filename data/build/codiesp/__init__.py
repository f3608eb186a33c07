"""CodiEsp's mentions, re-located in English text."""
