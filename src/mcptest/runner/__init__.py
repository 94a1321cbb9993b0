"""Find suites, drive servers and emit the events of a run."""
