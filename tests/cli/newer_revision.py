"""`mcptest` as it will be once the protocol has another revision: `newer_revision.py COMMAND…`.

The table of revisions gets one more row, 2027-03-01, which is stateless like 2026-07-28, and
nothing else is changed.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

NEWER = "2027-03-01"
_ROW = f"""
        Revision(
            version="{NEWER}", is_stateless=True, server_may_ask=False, has_get_stream=False
        ),
"""
_END_OF_TABLE = "\n    )\n}\n"


def add_revision() -> None:
    """Import the module with the table from a copy of its source that has the row."""
    name = "mcptest.protocol.revisions"
    spec = importlib.util.find_spec(name)
    assert spec
    assert spec.origin
    source = Path(spec.origin).read_text(encoding="utf-8")
    assert source.count(_END_OF_TABLE) == 1
    source = source.replace(_END_OF_TABLE, _ROW + _END_OF_TABLE)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    exec(compile(source, spec.origin, "exec"), module.__dict__)  # our own source


if __name__ == "__main__":
    add_revision()

    from mcptest.cli.main import main

    sys.exit(main())
