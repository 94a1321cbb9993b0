"""`python -m mcptest` is the `mcptest` command."""

import sys

from mcptest.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
