"""Pages for a browser: built scripts and styles, and what puts them into one self-contained file."""
