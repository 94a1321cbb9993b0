"""Where `_meta` stands in what a server says.

Only the places that the protocol has are looked at: a member of that name in arguments,
schemas or structured content is the server's own business.
"""

from __future__ import annotations

from mcptest.invariants.base_content import content_blocks, input_requests, objects_in
from mcptest.invariants.base_values import members

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcptest.invariants.base_content import Placed
    from mcptest.invariants.said import Said

__all__ = ["META_TOPICS", "metas"]

META_TOPICS = ("request", "notification", "result")

# The array of each result whose items have a `_meta` of their own.
_LISTED = {
    "tools/list": "tools",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
    "prompts/list": "prompts",
    "resources/read": "contents",
}


def metas(said: Said) -> Placed:
    """Every `_meta` that is an object, with its path."""
    return [
        (f"{path}._meta", meta)
        for path, holder in _holders(said)
        if isinstance(meta := holder.get("_meta"), dict)
    ]


def _holders(said: Said) -> Placed:
    if said.kind != "result":
        found = _of_request("params", said.params)
    else:
        result, listed = said.result, _LISTED.get(said.method)
        found = [("result", result)]
        if listed:
            found += objects_in(f"result.{listed}", result.get(listed), "_meta")
        for path, request in input_requests(said):
            found += _of_request(f"{path}.params", members(request.get("params")))
    for path, block in content_blocks(said):
        found.append((path, block))
        if isinstance(resource := block.get("resource"), dict):
            found.append((f"{path}.resource", resource))
    return found


def _of_request(path: str, params: dict[str, Any]) -> Placed:
    # Messages and tools are those of a request for sampling.
    return [
        (path, params),
        *objects_in(f"{path}.messages", params.get("messages"), "_meta"),
        *objects_in(f"{path}.tools", params.get("tools"), "_meta"),
    ]
