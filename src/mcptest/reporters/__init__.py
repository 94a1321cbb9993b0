"""Turn the events of a run into text for the terminal, JSON, JUnit XML, HTML and other formats."""
