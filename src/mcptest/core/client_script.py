"""Answer what a server asks its client (roots, sampling, elicitation) from a script. Pure.

A script that has run out is no reason to be silent: the server is told so by an error.
"""

from __future__ import annotations

from mcptest.core import jsonrpc
from mcptest.core.plan import ClientSpec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Message = dict[str, Any]

__all__ = ["ClientScript"]


class ClientScript:
    """The answers of one session; it remembers how far each list of them has been used."""

    def __init__(self, spec: ClientSpec) -> None:
        self._answers = spec.answers or {}
        self._used: dict[str, int] = {}

    def reply_to(self, asked: Message) -> Message:
        """The response that a request of the server gets."""
        method, id = asked["method"], asked["id"]
        if method == "ping":
            return jsonrpc.result_response(id, {})
        if method not in self._answers:
            message = f"the client does not offer {method}"
            return jsonrpc.error_response(id, jsonrpc.METHOD_NOT_FOUND, message)
        body = self._next(method)
        if body is None:
            message = f"the client's script has no further answer to {method}"
            return jsonrpc.error_response(id, jsonrpc.INTERNAL_ERROR, message)
        return {"jsonrpc": "2.0", "id": id} | body

    def has_answer_to(self, method: object) -> bool:
        """Whether the script says anything about a method."""
        return isinstance(method, str) and method in self._answers

    def answer_to(self, method: str) -> object | None:
        """The next result for a method; None when there is none left, or it is an error."""
        body = self._next(method)
        return body.get("result") if body else None

    def _next(self, method: str) -> Message | None:
        script: Any = self._answers[method]
        if isinstance(script, dict):
            return script
        at = self._used.get(method, 0)
        self._used[method] = at + 1
        return script[at] if at < len(script) else None
