"""The report of a conformance run in every format."""
