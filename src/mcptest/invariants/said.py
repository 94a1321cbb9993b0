"""One thing that was said in a session, with what must be known to judge it."""

from __future__ import annotations

from mcptest.core import jsonrpc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    Kind = Literal["request", "notification", "result", "error", "malformed", "noise", "batch"]

__all__ = ["Said", "kind_of"]


class Said:
    """A frame, or a line of noise, in the order of the session.

    `message` is the value as it came (text for noise). `method` is its own, or, for an answer,
    that of the request it answers. `request` is that request, None when none is open under its
    id. `exchange` is the place of the exchange it belongs to, -1 before the first. `http` is how
    it came over HTTP, as captures have it, and empty elsewhere.
    """

    __slots__ = ("exchange", "http", "is_client", "kind", "message", "method", "ms", "request")

    def __init__(
        self,
        message: Any,
        *,
        is_client: bool,
        kind: Kind,
        method: str = "",
        request: dict[str, Any] | None = None,
        exchange: int = -1,
        ms: float | None = None,
        http: dict[str, Any] | None = None,
    ) -> None:
        self.message = message
        self.is_client = is_client
        self.kind = kind
        self.method = method
        self.request = request
        self.exchange = exchange
        self.ms = ms
        self.http = http or {}

    @property
    def params(self) -> dict[str, Any]:
        """The params of a request or notification, {} when there are none."""
        found = self.message.get("params") if isinstance(self.message, dict) else None
        return found if isinstance(found, dict) else {}

    @property
    def result(self) -> dict[str, Any]:
        """The result of an answer, {} when it is none or no object."""
        found = self.message.get("result") if isinstance(self.message, dict) else None
        return found if isinstance(found, dict) else {}

    @property
    def error(self) -> dict[str, Any]:
        """The error of an answer, {} when it is none or no object."""
        found = self.message.get("error") if isinstance(self.message, dict) else None
        return found if isinstance(found, dict) else {}

    @property
    def asked(self) -> dict[str, Any]:
        """The params of the request that this answers, {} when there are none."""
        found = self.request.get("params") if self.request else None
        return found if isinstance(found, dict) else {}


def kind_of(message: object) -> Kind:
    """What a value means to be; an answer with both members counts as an error."""
    if isinstance(message, list):
        return "batch"
    kind = jsonrpc.message_kind(message)
    if kind == "response":
        assert isinstance(message, dict)
        if "error" in message:
            return "error"
        return "result" if "result" in message else "malformed"
    return kind
