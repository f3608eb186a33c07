"""Read documents as facts: filings, HTML pages, Markdown, CSV and Excel sheets (start at :mod:`.read`)."""
