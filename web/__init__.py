"""Pages for a browser: built scripts and styles, combined into self-contained files."""
