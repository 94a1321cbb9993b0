"""Folders with the config of a client, and a server that writes down how it was started."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

FILES = Path(__file__).parent / "files"
SERVER = Path(__file__).parents[2] / "servers" / "surroundings_server.py"
SECRET = "Zx9-canary-4711"


def copy_example(name: str, folder: Path) -> Path:
    """The example of a client with the server beside it."""
    target = folder / name
    shutil.copytree(FILES / name, target)
    shutil.copy(SERVER, target / "server.py")
    return target


def write_client(folder: Path, servers: dict[str, Any], name: str = ".mcp.json") -> Path:
    """A config with these servers, and the server beside it."""
    return write_text(folder, json.dumps({"mcpServers": servers}, indent=1), name)


def write_text(folder: Path, text: str, name: str = ".mcp.json") -> Path:
    shutil.copy(SERVER, folder / "server.py")
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def local(**keys: Any) -> dict[str, Any]:
    """A server that is started."""
    return {"command": "python3", "args": ["server.py"], **keys}


def seen_in(folder: Path) -> dict[str, Any]:
    """How the server was started."""
    seen: dict[str, Any] = json.loads((folder / "seen.json").read_text(encoding="utf-8"))
    return seen
