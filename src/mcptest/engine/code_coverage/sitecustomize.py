"""Loaded by each Python server that `mcptest run --server-coverage` starts, and by no other.

Python imports a module of this name, if it finds one, before any program. This one starts
coverage.py, where the server's own Python has it, and then imports the next module of this name.
"""

from __future__ import annotations

import os
import sys

__all__: list[str] = []


def _start() -> None:
    try:
        import coverage  # noqa: PLC0415  # it may not be there
    except ImportError:
        # Standard error belongs to the server, so this is reported where the files would be.
        # The names and the first line are those of __init__.py.
        note = os.path.join(os.environ["MCPTEST_SERVER_COVERAGE"], ".mcptest-no-coverage-py")
        try:
            with open(note, "x", encoding="utf-8") as file:
                file.write(f"# written by mcptest\n{sys.executable}\n")
        except FileExistsError:
            # Another server of this run has said so.
            pass
    else:
        coverage.process_startup()


def _import_next() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    kept = sys.path[:]
    sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) != here]
    ours = sys.modules.pop("sitecustomize", None)
    try:
        __import__("sitecustomize")
    except ImportError:
        if ours:
            sys.modules["sitecustomize"] = ours
    finally:
        sys.path[:] = kept


if os.environ.get("MCPTEST_SERVER_COVERAGE"):
    _start()
    _import_next()
