"""The cache: results of tool calls, kept on disk for the next run, one file for each call.

`read_write` reads and stores, `read_only` never stores, `refresh` always calls and stores.
"""

from __future__ import annotations

import contextlib
import hashlib
import os

from mcptest.coprocess.cassettes import canonical_json
from mcptest.core.record import ABSENT
from mcptest.core.strict_json import NotJsonError, dump_json, parse_json
from mcptest.core.text import visible
from mcptest.engine.files import read_regular, resolve_inside, why_not, write_all
from mcptest.protocol.jsonrpc import tool_failure
from mcptest.transport.files import open_beside, remove_leftovers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from mcptest.core.plan import ServerSpec

__all__ = ["Cache", "cache_folder", "server_key"]


_FOLDER = os.path.join(".mcptest", "cache")


def cache_folder(environment: Mapping[str, str]) -> str:
    """MCPTEST_CACHE_DIR, else a folder in this one."""
    return environment.get("MCPTEST_CACHE_DIR") or _FOLDER


def server_key(spec: ServerSpec) -> str:
    """A digest that identifies a server.

    Headers count by their names: a renewed token belongs to the same user.
    """
    http = spec.http
    where = [http.url, sorted(http.headers or {})] if http else []
    folder = os.path.abspath(spec.cwd or ".")
    parts = [list(spec.command), folder, spec.env or {}, where, spec.spec_version]
    return _digest(canonical_json(parts))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


class Cache:
    """The results of one server's tools, by tool and arguments. `warn` is called once at most."""

    def __init__(
        self, folder: str, server: str, warn: Callable[[str], None] = lambda text: None
    ) -> None:
        self._folder = folder
        self._server = server
        self._warn = warn
        self._has_warned = False
        self._is_clean = False
        self.mode = "off"

    @property
    def stores(self) -> bool:
        """Whether new results are stored."""
        return self.mode in ("read_write", "refresh")

    def find(self, tool: str, arguments: dict[str, Any]) -> Any:
        """The stored result of a call, ABSENT if there is none or the mode does not read."""
        if self.mode not in ("read_write", "read_only"):
            return ABSENT
        key = self._key(tool, arguments)
        try:
            kept = parse_json(read_regular(self._path(key)))
        except (OSError, NotJsonError, UnicodeDecodeError):
            return ABSENT
        # Torn and foreign files count as none.
        is_ours = isinstance(kept, dict) and set(kept) == {"key", "result"} and kept["key"] == key
        result = kept["result"] if isinstance(kept, dict) and is_ours else ABSENT
        return result if isinstance(result, dict) else ABSENT

    def keep(self, tool: str, arguments: dict[str, Any], result: dict[str, Any]) -> None:
        """Store a successful result; remove the stored one if the tool reports an error.

        A file that cannot be written is a warning, not an error.
        """
        if not self.stores:
            return
        key = self._key(tool, arguments)
        try:
            if tool_failure(result):
                self._refuse_links()
                self._drop(self._path(key))
            else:
                self._prepare_folder()
                self._store(self._path(key), {"key": key, "result": result})
        except (OSError, ValueError) as error:
            if not self._has_warned:
                self._has_warned = True
                folder = visible(self._folder)
                self._warn(f"results cannot be kept in the cache {folder}: {why_not(error)}")

    def _prepare_folder(self) -> None:
        self._refuse_links()
        os.makedirs(self._folder, exist_ok=True)
        if not self._is_clean:
            self._is_clean = True
            remove_leftovers(self._folder)

    def _refuse_links(self) -> None:
        """The default folder must be in this one; OSError if a link leads out of it."""
        if self._folder == _FOLDER:
            resolve_inside(self._folder, ".")

    def _store(self, path: str, kept: dict[str, Any]) -> None:
        """Replace the file at once, so that readers find the old result or the new one."""
        text = (dump_json(kept) + "\n").encode("utf-8", "backslashreplace")
        beside, fd = open_beside(path, cleans=False)
        try:
            write_all(fd, text)
            os.replace(beside, path)
        except OSError:
            self._drop(beside)
            raise
        finally:
            os.close(fd)

    def _drop(self, path: str) -> None:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            os.unlink(path)

    def _key(self, tool: str, arguments: dict[str, Any]) -> str:
        return canonical_json([self._server, tool, arguments])

    def _path(self, key: str) -> str:
        return os.path.join(self._folder, f"{_digest(key)[:40]}.json")
