"""Load suite files (mcptest.yaml) into a plan."""
