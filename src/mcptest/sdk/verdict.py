"""The verdict of a tool call: as the binary declares it, or derived from the server's answer."""

from __future__ import annotations

from mcptest.core.record import Record
from mcptest.protocol.jsonrpc import tool_failure
from mcptest.sdk.errors import ContractError, quote_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Verdict", "read_verdict"]

# pytest leaves the frames of this module out of tracebacks.
__tracebackhide__ = True

_FIELDS = ("success", "data", "text", "error", "duration_ms")
_UNLESS = 'unless it is the server that says "success": mcptest call shows its answer'


class Verdict(Record):
    """The outcome of a tool call. `raw` is the server's answer, or one made from a verdict.

    `data` is its structured content, `text` its text blocks joined by newlines.
    """

    success: bool
    data: Any = None
    text: str | None = None
    error: str | None = None
    duration_ms: float = 0.0
    raw: dict[str, Any] = {}  # noqa: RUF012  # records are not changed


def read_verdict(result: object, took_ms: float) -> Verdict:
    """The verdict in a result of `mcp.call`; `ContractError` if it has neither shape."""
    if not isinstance(result, dict):
        raise ContractError(f"contract drift: the result of mcp.call is {quote_json(result)}")
    # Only a verdict has this member.
    if "success" in result:
        return _read_declared(result)
    text = _join_text(result.get("content"))
    error = tool_failure(result, text or "the tool reported an error")
    return Verdict(
        success=not error,
        data=result.get("structuredContent"),
        text=text,
        error=error or None,
        duration_ms=took_ms,
        raw=result,
    )


def _read_declared(result: dict[str, Any]) -> Verdict:
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
        raise _drift(f"{quote_json(result)} is not a verdict")
    return Verdict(
        success=success,
        data=result["data"],
        text=text,
        error=error,
        duration_ms=took_ms,
        raw=_build_answer(result),
    )


def _drift(message: str) -> ContractError:
    return ContractError(f"contract drift: {message}; {_UNLESS}")


def _build_answer(verdict: dict[str, Any]) -> dict[str, Any]:
    """An answer with this verdict, for paths that look into it."""
    text = verdict["text"] if verdict["text"] is not None else verdict["error"]
    raw: dict[str, Any] = {"content": [] if text is None else [{"type": "text", "text": text}]}
    if verdict["data"] is not None:
        raw["structuredContent"] = verdict["data"]
    return {**raw, "isError": not verdict["success"]}


def _join_text(content: object) -> str | None:
    blocks = content if isinstance(content, list) else []
    texts = [
        block["text"]
        for block in blocks
        if isinstance(block, dict)
        and block.get("type") == "text"
        and isinstance(block.get("text"), str)
    ]
    return "\n".join(texts) if texts else None
