"""The ICD-10-CM inventory from the official release files."""
