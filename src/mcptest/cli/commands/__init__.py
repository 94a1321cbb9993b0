"""The commands of `mcptest`: one module each. `registry` lists them."""
