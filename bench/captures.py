"""Captures of any size, for measuring how long judging them takes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

__all__ = ["write_capture"]

OPENING: list[dict[str, Any]] = [
    {
        "request": {
            "jsonrpc": "2.0",
            "id": 0,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "bench", "version": "1"},
            },
        },
        "response": {
            "jsonrpc": "2.0",
            "id": 0,
            "result": {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "echo", "version": "1"},
            },
        },
    },
    {"request": {"jsonrpc": "2.0", "method": "notifications/initialized"}},
]


def write_capture(folder: Path, megabytes: int) -> Path:
    """One session of tool calls, about that large."""
    path = folder / f"capture-{megabytes}.json"
    with path.open("w", encoding="utf-8") as file:
        head = {"server_label": "stdio://echo", "server_capabilities": {"tools": {}}}
        file.write(json.dumps(head)[:-1] + ', "exchanges": [')
        file.write(", ".join(map(json.dumps, OPENING)))
        written, number = 0, 0
        while written < megabytes * 1_000_000:
            number += 1
            written += file.write(", " + json.dumps(_call(number)))
        file.write("]}\n")
    return path


def _call(number: int) -> dict[str, Any]:
    text = f"hello {number} " + "and so on " * 20
    params = {"name": "echo", "arguments": {"text": text}}
    result = {"content": [{"type": "text", "text": text}], "isError": False}
    return {
        "request": {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params},
        "response": {"jsonrpc": "2.0", "id": number, "result": result},
    }
