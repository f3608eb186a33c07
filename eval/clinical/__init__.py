"""The clinical domain's own files: the ICD-10-CM release, CodiEsp, and tagging of notes."""
