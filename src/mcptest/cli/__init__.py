"""The command line: parse arguments, call one command, return its exit code."""
