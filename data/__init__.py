"""Data folders, facts, questions and corpora, as they are read; what is bundled."""
