"""What has become known in a session so far, for the rules that need it.

The facts change as things are said, before the rules are asked about them: a rule that looks at
the answer to `initialize` knows the version that was agreed on in it.
"""

from __future__ import annotations

from itertools import islice

from mcptest.core import jsonrpc
from mcptest.core.revisions import REVISIONS
from mcptest.core.text import show_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from mcptest.invariants.said import Said

    Members = dict[str, Any]

__all__ = ["LETTERS", "META_CAPABILITIES", "META_VERSION", "Facts"]

# The letters under which tables of rules speak of the revisions.
LETTERS = dict(zip(REVISIONS, "ABCDE", strict=True))
_HANDSHAKE_LETTERS = frozenset("ABCD")

# Nobody offers more; whoever does is judged by the first ones.
_MAX_TOOLS = 10_000

# So many ids of calls that were skipped are remembered.
_MAX_SKIPPED = 10_000

META_VERSION = "io.modelcontextprotocol/protocolVersion"
META_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"


class Facts:
    """One session, as far as it is known.

    `letters` are the revisions it can be: one once it is known, all with a handshake before.
    `capabilities` is what the server declared; `block` what the capture says of it, None when
    the session never completed a handshake.
    """

    def __init__(self) -> None:
        self.version = ""
        self.letters = _HANDSHAKE_LETTERS
        self.block: object = None
        self.label = ""
        self.transport = ""
        self.exit_status = ""
        self.is_stderr_utf8: bool | None = None
        self.client_capabilities: Members = {}
        self.capabilities: Members = {}
        self.is_initialised = False
        # Grows whenever something becomes known that rules may go by.
        self.epoch = 0
        # Requests without an answer yet, by id: those of the client and those of the server.
        self.open: dict[jsonrpc.IdKey, Members] = {}
        self.server_open: dict[jsonrpc.IdKey, Members] = {}
        # Plain calls with plain answers that nobody was asked about one by one, the latest ones.
        self.skipped: dict[jsonrpc.IdKey, None] = {}
        # The ids that were written for requests, by those under which they were sent.
        self.written_ids: Mapping[jsonrpc.IdKey, object] = {}
        # Every tool that a list has shown, by name.
        self.tools: dict[str, Members] = {}

    def skip(self, ids: Iterable[object]) -> None:
        """Calls with these ids were made and answered."""
        self.skipped |= dict.fromkeys(map(jsonrpc.id_key, ids))
        surplus = len(self.skipped) - _MAX_SKIPPED
        for key in [*islice(self.skipped, max(0, surplus))]:
            del self.skipped[key]

    def name_id(self, id: object) -> str:
        """The id of a request of the client, as its author knows it."""
        key = jsonrpc.id_key(id)
        written = self.written_ids.get(key, id)
        is_same = jsonrpc.id_key(written) == key
        return show_json(id) if is_same else f"{show_json(written)} (sent as {show_json(id)})"

    def note_block(self, block: object) -> None:
        """The capabilities that the capture names for the whole session."""
        self.block = block
        self.epoch += 1
        if isinstance(block, dict) and not self.capabilities:
            self.capabilities = block

    def note_version(self, version: object) -> None:
        """The revision that the capture names for the whole session."""
        if not self.version:
            self._settle(version)

    @property
    def is_stdio(self) -> bool:
        """Whether the session is known to have gone over stdio."""
        return (self.transport or self.label).startswith("stdio")

    @property
    def is_stateless(self) -> bool:
        """Whether this is the era without a handshake."""
        return self.letters == {"E"}

    def _settle(self, version: object) -> None:
        if isinstance(version, str) and version in LETTERS and version != self.version:
            self.epoch += 1
            self.version = version
            self.letters = frozenset(LETTERS[version])

    def take(self, said: Said) -> None:
        """Learn from what is said, before it is judged."""
        if not isinstance(said.message, dict):
            return
        if said.is_client:
            self._take_client(said)
        elif said.kind in ("result", "error"):
            self._take_answer(said)
        elif said.kind == "request":
            self.server_open[jsonrpc.id_key(said.message.get("id"))] = said.message

    def _take_client(self, said: Said) -> None:
        if said.kind == "notification":
            self.is_initialised |= said.method == "notifications/initialized"
        elif said.kind == "request":
            self.open[jsonrpc.id_key(said.message.get("id"))] = said.message
            meta = said.params.get("_meta")
            if said.method == "initialize":
                # Also after a try without a handshake: from here on there is one.
                self.version, self.letters = "", _HANDSHAKE_LETTERS
                self.epoch += 1
                self._declare(said.params.get("capabilities"))
            elif isinstance(meta, dict) and META_VERSION in meta:
                self._settle(meta[META_VERSION])
                self._declare(meta.get(META_CAPABILITIES))

    def _declare(self, capabilities: object) -> None:
        self.epoch += 1
        self.client_capabilities = capabilities if isinstance(capabilities, dict) else {}

    def _take_answer(self, said: Said) -> None:
        if said.method in ("initialize", "server/discover") and said.kind == "result":
            self._settle(said.result.get("protocolVersion"))
            self.epoch += 1
            declared = said.result.get("capabilities")
            self.capabilities = declared if isinstance(declared, dict) else {}
        elif said.method == "tools/list":
            self.epoch += 1
            tools = said.result.get("tools")
            for tool in tools if isinstance(tools, list) else ():
                name = tool.get("name") if isinstance(tool, dict) else None
                if isinstance(name, str) and (len(self.tools) < _MAX_TOOLS or name in self.tools):
                    self.tools[name] = tool

    def forget(self, said: Said) -> None:
        """Close what this answers, after it has been judged."""
        if said.kind in ("result", "error") and isinstance(said.message, dict):
            held = self.server_open if said.is_client else self.open
            key = jsonrpc.id_key(said.message.get("id"))
            if key not in held and said.message.get("id") is None and len(held) == 1:
                key = next(iter(held))
            held.pop(key, None)
