"""Turn the events of a run into terminal text, JSON and JUnit XML."""
