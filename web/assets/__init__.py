"""The built pages: what `make pages` writes. The sources are in `web/src`."""
