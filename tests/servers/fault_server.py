"""An MCP server that misbehaves in one named way.

Usage: python3 -S -E fault_server.py MODE [ARG…]; the mode "good" has no fault at all. The
other modes are the functions of the `faults_in_*` modules, underscores written as dashes.
Standard library only, and little of it: a test suite starts hundreds of these.
"""

from __future__ import annotations

import sys

from good_server import MODES

# Looked through in this order, and only until the mode is found: imports take time.
MODULES = ("faults_in_bytes", "faults_in_messages", "faults_in_life", "faults_in_flow")


def main(mode: str, *arguments: str) -> None:
    for module in MODULES:
        if mode in MODES:
            break
        __import__(module)
    if mode not in MODES:
        sys.exit(f"fault_server: there is no mode {mode!r}; there are: {', '.join(sorted(MODES))}")
    MODES[mode](*arguments)


if __name__ == "__main__":
    main(*(sys.argv[1:] or ["good"]))
