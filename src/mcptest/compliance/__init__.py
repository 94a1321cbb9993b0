"""Active conformance checks of a live server."""
