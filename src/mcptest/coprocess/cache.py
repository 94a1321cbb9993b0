"""Results of tool calls, kept on disk for the next run: one file for each call.

`read_write` reads and stores, `read_only` never stores, `refresh` always calls and stores.
"""

from __future__ import annotations

import contextlib
import hashlib
import os

from mcptest.coprocess.tape import key_of
from mcptest.core.outcome import ABSENT
from mcptest.core.strict_json import NotJsonError, dump_json, parse_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

__all__ = ["CACHE_MODES", "Cache", "cache_folder"]

CACHE_MODES = ("off", "read_write", "read_only", "refresh")


def cache_folder(environment: Mapping[str, str]) -> str:
    """Where results are kept: what MCPTEST_CACHE_DIR says, else a folder here."""
    return environment.get("MCPTEST_CACHE_DIR") or os.path.join(".mcptest", "cache")


class Cache:
    """The results of one server's tools, by tool and arguments."""

    def __init__(self, folder: str, command: tuple[str, ...]) -> None:
        self._folder = folder
        self._command = command
        self.mode = "off"

    def find(self, tool: str, arguments: dict[str, Any]) -> Any:
        """What is kept for a call, ABSENT when nothing is or nothing is wanted."""
        if self.mode not in ("read_write", "read_only"):
            return ABSENT
        key = key_of(self._command, tool, arguments)
        try:
            with open(self._path(key), encoding="utf-8") as file:
                kept = parse_json(file.read())
        except (OSError, NotJsonError, UnicodeDecodeError):
            # A file that is not what we wrote is as good as none.
            return ABSENT
        is_ours = isinstance(kept, dict) and kept.get("key") == key and "result" in kept
        return kept["result"] if isinstance(kept, dict) and is_ours else ABSENT

    def keep(self, tool: str, arguments: dict[str, Any], result: object) -> None:
        """Store a result; a disk that is full costs the next run a call, and nobody a test."""
        if self.mode not in ("read_write", "refresh"):
            return
        key = key_of(self._command, tool, arguments)
        path = self._path(key)
        beside = f"{path}.{os.getpid()}.tmp"
        with contextlib.suppress(OSError):
            os.makedirs(self._folder, exist_ok=True)
            with open(beside, "w", encoding="utf-8", errors="backslashreplace") as file:
                file.write(dump_json({"key": key, "result": result}) + "\n")
            os.replace(beside, path)

    def _path(self, key: str) -> str:
        name = hashlib.sha256(key.encode("utf-8", "backslashreplace")).hexdigest()[:40]
        return os.path.join(self._folder, f"{name}.json")
