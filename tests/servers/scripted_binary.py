"""Put the fake binary of protocol/coprocess where an SDK looks for the real one.

An entry is the members of an answer ("id" and "jsonrpc" are added unless they are there), a text
that is a whole line, or one of the other things that the fake binary can do. The first one answers
the handshake, the next ones what follows; the last one is used again. `hello(2)` is the answer to a
handshake.
"""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["ENOUGH", "SILENCE", "hello", "scripted"]

FAKE = Path(__file__).parents[2] / "protocol" / "coprocess" / "fake_binary.py"

SILENCE = {"silence": True}
ENOUGH = {"exit": 7, "stderr": "fake: I have had enough\n"}
_OTHERS = ("silence", "exit", "all", "half", "wait_ms", "frame")


def hello(version: int) -> dict[str, Any]:
    return {"result": {"protocol_version": version, "binary_version": "9.9"}}


def scripted(folder: Path, *entries: object) -> dict[str, str]:
    """The variables with which an SDK finds a binary that answers so."""
    first, *rest = map(_action, entries or (hello(2),))
    answers = {"coprocess/handshake": first, "mcp.shutdown": {"result": {}}}
    if rest:
        answers["*"] = rest  # type: ignore[assignment]  # one after the other
    path = folder / "fake-binary.json"
    path.write_text(json.dumps({"answers": answers}), encoding="utf-8")
    command = [sys.executable, "-S", "-E", str(FAKE)]
    return {"MCPTEST_BIN": shlex.join(command), "FAKE_BINARY_SCRIPT": str(path)}


def _action(entry: Any) -> dict[str, Any]:
    if isinstance(entry, str):
        return {"frame": entry}
    if any(key in entry for key in _OTHERS):
        return dict(entry)
    kind = "error" if "error" in entry else "result"
    if kind not in entry:
        # Neither is a mistake that must be written by hand.
        return {"frame": json.dumps({"jsonrpc": "2.0", "id": 2, **entry})}
    members = {key: value for key, value in entry.items() if key != kind}
    return {kind: entry[kind]} | ({"with": members} if members else {})
