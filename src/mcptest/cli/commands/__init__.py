"""The commands of `mcptest`: one module each. `mcptest.cli.main` lists them."""
