"""Turn the text of a suite file into a plan."""
