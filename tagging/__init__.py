"""Tag a document, a file of facts or a note: the concept of each fact, with confidence and evidence."""
