"""Files that are loaded by the server under test, to collect its code coverage."""
