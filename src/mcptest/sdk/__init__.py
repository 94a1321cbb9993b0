"""The Python SDK: a server under test from a test of your own. `mcptest.connect` is the door."""
