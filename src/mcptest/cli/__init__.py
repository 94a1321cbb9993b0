"""Parse arguments, call one function, choose the exit code."""
