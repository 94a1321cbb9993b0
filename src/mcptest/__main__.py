"""`python -m mcptest` is the `mcptest` command."""

from mcptest.cli.start import mcptest_command

if __name__ == "__main__":
    mcptest_command()
