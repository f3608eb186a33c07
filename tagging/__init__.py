"""A document, a file of facts or a note in; the concept of each fact out, with confidence and evidence."""
