"""The built pages, written by `make pages`. The sources are in `web/src`."""
