"""What is known of a session so far, for the rules that need it.

The facts are updated before the rules judge an entry: a rule that judges the answer to
`initialize` knows the version that was agreed on in it.
"""

from __future__ import annotations

from itertools import islice

from mcptest.protocol import jsonrpc
from mcptest.protocol.revisions import HANDSHAKE_REVISIONS, REVISIONS, VERSION_KEY
from mcptest.rules.rule import members, show

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from mcptest.rules.rule import Entry

    Members = dict[str, Any]

__all__ = ["META_CAPABILITIES", "Facts"]

META_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"

# Bounds of memory: further tools, and the oldest of the skipped calls, are not remembered.
_MAX_TOOLS = 10_000
_MAX_SKIPPED = 10_000


class Facts:
    """One session, as far as it is known.

    It can be of any revision from `oldest` to `newest`: both are `version` once that is known,
    and all revisions with a handshake before. `capabilities` is what the server declared; `block`
    is what the capture has for it, None when the session never completed a handshake.
    """

    def __init__(self) -> None:
        self.version = ""
        self.oldest, self.newest = HANDSHAKE_REVISIONS[0], HANDSHAKE_REVISIONS[-1]
        self.block: object = None
        self.label = ""
        self.transport = ""
        self.exit_status = ""
        self.is_stderr_utf8: bool | None = None
        self.client_capabilities: Members = {}
        self.capabilities: Members = {}
        self.is_initialised = False
        # Grows whenever something becomes known that a verdict may depend on.
        self.epoch = 0
        # Requests without an answer yet, by id: those of the client and those of the server.
        self.open: dict[jsonrpc.IdKey, Members] = {}
        self.server_open: dict[jsonrpc.IdKey, Members] = {}
        # The latest plain calls with plain answers that were counted and not judged.
        self.skipped: dict[jsonrpc.IdKey, None] = {}
        # The ids that a test file has for its requests, by those under which they were sent.
        self.written_ids: Mapping[jsonrpc.IdKey, object] = {}
        # Every tool that a list has shown, by name.
        self.tools: dict[str, Members] = {}

    @property
    def is_stdio(self) -> bool:
        return (self.transport or self.label).startswith("stdio")

    @property
    def is_stateless(self) -> bool:
        """True if the session is of a revision without a handshake."""
        return REVISIONS[self.newest].is_stateless

    @property
    def may_have_tasks(self) -> bool:
        """True if tasks may be a part of the protocol itself in this session."""
        return any(
            revision.has_tasks
            for version, revision in REVISIONS.items()
            if self.oldest <= version <= self.newest
        )

    def name_id(self, id: object) -> str:
        """The id of a request of the client, as the author of the test knows it."""
        key = jsonrpc.id_key(id)
        written = self.written_ids.get(key, id)
        is_same = jsonrpc.id_key(written) == key
        return show(id) if is_same else f"{show(written)} (sent as {show(id)})"

    def skip(self, ids: Iterable[object]) -> None:
        """Calls with these ids were made and answered."""
        self.skipped |= dict.fromkeys(map(jsonrpc.id_key, ids))
        surplus = len(self.skipped) - _MAX_SKIPPED
        for key in [*islice(self.skipped, max(0, surplus))]:
            del self.skipped[key]

    def set_block(self, block: object) -> None:
        """The capabilities that the capture has for the whole session."""
        self.block = block
        self.epoch += 1
        if isinstance(block, dict) and not self.capabilities:
            self.capabilities = block

    def set_version(self, version: object) -> None:
        """The revision that the capture has for the whole session, unless a message names it."""
        if not self.version:
            self._agree_on(version)

    def update(self, entry: Entry) -> None:
        """Learn from an entry, before it is judged."""
        if not isinstance(entry.message, dict):
            return
        if entry.is_client:
            self._update_from_client(entry)
        elif entry.kind in ("result", "error"):
            self._update_from_answer(entry)
        elif entry.kind == "request":
            self.server_open[jsonrpc.id_key(entry.message.get("id"))] = entry.message

    def close(self, entry: Entry) -> None:
        """Close the request that this answers, after it has been judged."""
        if entry.kind in ("result", "error") and isinstance(entry.message, dict):
            held = self.server_open if entry.is_client else self.open
            key = jsonrpc.id_key(entry.message.get("id"))
            if key not in held and entry.message.get("id") is None and len(held) == 1:
                key = next(iter(held))
            held.pop(key, None)

    def _agree_on(self, version: object) -> None:
        if isinstance(version, str) and version in REVISIONS and version != self.version:
            self.epoch += 1
            self.version = self.oldest = self.newest = version

    def _update_from_client(self, entry: Entry) -> None:
        if entry.kind == "notification":
            self.is_initialised |= entry.method == "notifications/initialized"
        elif entry.kind == "request":
            self.open[jsonrpc.id_key(entry.message.get("id"))] = entry.message
            meta = entry.params.get("_meta")
            if entry.method == "initialize":
                # Also after a request of a stateless revision: from here on there is a handshake.
                self.version = ""
                self.oldest, self.newest = HANDSHAKE_REVISIONS[0], HANDSHAKE_REVISIONS[-1]
                self._declare(entry.params.get("capabilities"))
            elif isinstance(meta, dict) and VERSION_KEY in meta:
                self._agree_on(meta[VERSION_KEY])
                self._declare(meta.get(META_CAPABILITIES))

    def _declare(self, capabilities: object) -> None:
        self.epoch += 1
        self.client_capabilities = members(capabilities)

    def _update_from_answer(self, entry: Entry) -> None:
        if entry.method in ("initialize", "server/discover") and entry.kind == "result":
            self._agree_on(entry.result.get("protocolVersion"))
            self.epoch += 1
            self.capabilities = members(entry.result.get("capabilities"))
        elif entry.method == "tools/list":
            self.epoch += 1
            tools = entry.result.get("tools")
            for tool in tools if isinstance(tools, list) else ():
                name = tool.get("name") if isinstance(tool, dict) else None
                if isinstance(name, str) and (len(self.tools) < _MAX_TOOLS or name in self.tools):
                    self.tools[name] = tool
