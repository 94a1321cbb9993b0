"""A contract with a handshake of its own, and a server that cannot run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from console import mcptest

if TYPE_CHECKING:
    from pathlib import Path


def test_a_server_that_never_answered_is_described_once(tmp_path: Path) -> None:
    documents = [
        {
            "case": f"case {id}",
            "in": {"jsonrpc": "2.0", "id": id, "method": "initialize", "params": {}},
            "out": {"jsonrpc": "2.0", "id": id, "result": {}},
        }
        for id in (1, 2)
    ]
    text = "\n---\n".join(map(json.dumps, documents))
    (tmp_path / "c.cases.yaml").write_text(text, encoding="utf-8")
    ended = mcptest(tmp_path, "run", "c.cases.yaml", "--server-command", "python3 nope.py")
    said = " ".join((ended.out + ended.err).split())
    assert ended.code == 3
    assert "the server ended (exit status 2) before it read initialize" in said
    assert "last answer" not in said
    assert said.count("can't open file") == 1
