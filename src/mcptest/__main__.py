"""`python -m mcptest` is the `mcptest` command."""

from mcptest.cli.main import command

if __name__ == "__main__":
    command()
