"""Find suites, drive servers, judge answers and emit the events of a run."""
