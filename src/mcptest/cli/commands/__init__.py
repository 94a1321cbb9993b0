"""The commands of `mcptest`: one module each. `mcptest.cli.registry` lists them."""
