"""What can go wrong only when several servers are behind one client.

Of each session only what is compared is kept.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations, islice

from mcptest.core.results import Conflict
from mcptest.core.text import join_words, list_names
from mcptest.protocol import jsonrpc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

__all__ = ["Member", "find_conflicts"]

# Ids, and names of tools, that are kept of one session.
MAX_KEPT = 100_000
_SHOWN = 5

# Many sessions that all begin with id 1 collide in a great number of pairs.
MAX_COLLISIONS = 100


class Member:
    """What is kept of one session to compare it with the others."""

    def __init__(self, label: str, transport: str) -> None:
        self.label = label
        self.transport = transport
        self.ids: dict[jsonrpc.IdKey, object] = {}
        self.tools: dict[str, None] = {}
        # The name in serverInfo: several servers may share a label.
        self.own_name = ""

    def add_exchange(self, request: Any, response: Any) -> None:
        """An exchange of the session; a batch is several of them."""
        if isinstance(request, list):
            for part in request:
                self.add_exchange(part if isinstance(part, dict) else None, None)
            return
        if not isinstance(request, dict) or "method" not in request:
            return
        if request["method"] == "initialize" and isinstance(response, dict):
            self._introduce(response.get("result"))
        if "id" in request and len(self.ids) < MAX_KEPT:
            self.ids[jsonrpc.id_key(request["id"])] = request["id"]
        if request["method"] == "tools/list" and isinstance(response, dict):
            self._list(response.get("result"))

    def _introduce(self, result: Any) -> None:
        info = result.get("serverInfo") if isinstance(result, dict) else None
        name = info.get("name") if isinstance(info, dict) else None
        self.own_name = name if isinstance(name, str) else ""

    @property
    def identity(self) -> tuple[str, str]:
        """Sessions of the same server have the same identity."""
        return self.label, self.own_name

    def _list(self, result: Any) -> None:
        tools = result.get("tools") if isinstance(result, dict) else None
        for tool in tools if isinstance(tools, list) else ():
            name = tool.get("name") if isinstance(tool, dict) else None
            if isinstance(name, str) and len(self.tools) < MAX_KEPT:
                self.tools[name] = None

    @property
    def name(self) -> str:
        """The server's name in its label: what follows `stdio://` and the like."""
        return self.label.partition("://")[2] or self.label


def find_conflicts(members: list[Member]) -> list[Conflict]:
    """Every clash between two or more of the sessions, names first."""
    return [*_overlaps(members), *islice(_collisions(members), MAX_COLLISIONS)]


def _overlaps(members: list[Member]) -> Iterator[Conflict]:
    owners: dict[str, dict[tuple[str, str], None]] = {}
    for member in members:
        prefixes = (f"{member.name}__", f"{member.own_name or member.name}__")
        for tool in member.tools:
            if not tool.startswith(prefixes):
                owners.setdefault(tool, {})[member.identity] = None
    for tool, servers in owners.items():
        if len(servers) > 1:
            labels = _labels(servers)
            yield Conflict(
                kind="tool_overlap",
                message=f"the tool {tool} is offered by {join_words(labels)}: a client that does "
                "not name the server with it cannot tell whose it is",
                servers=tuple(labels),
                what=(tool,),
            )


def _labels(servers: dict[tuple[str, str], None]) -> list[str]:
    """How the servers are called; where labels are the same, with the names they have."""
    counts = Counter(label for label, _ in servers)
    return [label if counts[label] == 1 else f"{label} ({name})" for label, name in servers]


def _collisions(members: list[Member]) -> Iterator[Conflict]:
    for one, other in combinations(members, 2):
        if one.transport and other.transport and one.transport != other.transport:
            continue
        if one.ids.keys().isdisjoint(other.ids):
            continue
        shared = [id for key, id in one.ids.items() if key in other.ids]
        if shared:
            shown = list_names([jsonrpc.describe_id(id) for id in shared], _SHOWN)
            yield Conflict(
                kind="id_collision",
                message=f"{one.label} and {other.label} both got requests with {shown}: on "
                "one shared transport their answers could not be told apart",
                servers=(one.label, other.label),
                what=tuple(shared[:_SHOWN]),
            )
