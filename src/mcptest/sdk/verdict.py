"""What a tool call brought: strictly a verdict, or the server's own answer read as one. Pure."""

from __future__ import annotations

from mcptest.core.record import Record
from mcptest.protocol.jsonrpc import tool_failure
from mcptest.sdk.errors import ContractError, quote_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Verdict", "read_verdict"]

# Whoever reads a traceback in a test of their own has no use for what is in here.
__tracebackhide__ = True

_FIELDS = ("success", "data", "text", "error", "duration_ms")
# Whoever has this member is a verdict; without it, it is the server's answer as it was.
_MARK = "success"
_UNLESS = 'unless it is the server that says "success": mcptest call shows its answer'


class Verdict(Record):
    """A tool's answer. `raw` is what the server said, or what stands for it.

    `data` is its structured content, `text` its blocks of text, joined by newlines.
    """

    success: bool
    data: Any = None
    text: str | None = None
    error: str | None = None
    duration_ms: float = 0.0
    raw: dict[str, Any] = {}  # noqa: RUF012  # nothing of a record changes


def read_verdict(result: object, took_ms: float) -> Verdict:
    """The verdict in a result of `mcp.call`; `ContractError` when it is neither shape."""
    if not isinstance(result, dict):
        raise ContractError(f"contract drift: the result of mcp.call is {quote_json(result)}")
    if _MARK in result:
        return _declared(result)
    text = _text_of(result.get("content"))
    error = tool_failure(result, text or "the tool reported an error")
    return Verdict(
        success=not error,
        data=result.get("structuredContent"),
        text=text,
        error=error or None,
        duration_ms=took_ms,
        raw=result,
    )


def _declared(result: dict[str, Any]) -> Verdict:
    surplus = [key for key in result if key not in _FIELDS]
    if surplus:
        raise _drift(f"a verdict has no field {quote_json(surplus[0])}")
    missing = [key for key in _FIELDS if key not in result]
    if missing:
        raise _drift(f'a verdict without "{missing[0]}"')
    success, text, error = result["success"], result["text"], result["error"]
    took_ms = result["duration_ms"]
    is_right = (
        isinstance(success, bool)
        and (text is None or isinstance(text, str))
        and (error is None or isinstance(error, str))
        and isinstance(took_ms, (int, float))
        and not isinstance(took_ms, bool)
    )
    if not is_right:
        raise _drift(f"{quote_json(result)} is no verdict")
    return Verdict(
        success=success,
        data=result["data"],
        text=text,
        error=error,
        duration_ms=took_ms,
        raw=_standing_for(result),
    )


def _drift(message: str) -> ContractError:
    return ContractError(f"contract drift: {message}; {_UNLESS}")


def _standing_for(verdict: dict[str, Any]) -> dict[str, Any]:
    """The answer that a verdict would have come of, for paths that look into it."""
    text = verdict["text"] if verdict["text"] is not None else verdict["error"]
    raw: dict[str, Any] = {"content": [] if text is None else [{"type": "text", "text": text}]}
    if verdict["data"] is not None:
        raw["structuredContent"] = verdict["data"]
    return {**raw, "isError": not verdict["success"]}


def _text_of(content: object) -> str | None:
    blocks = content if isinstance(content, list) else []
    texts = [
        block["text"]
        for block in blocks
        if isinstance(block, dict)
        and block.get("type") == "text"
        and isinstance(block.get("text"), str)
    ]
    return "\n".join(texts) if texts else None
