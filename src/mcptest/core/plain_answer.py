"""The answer that most calls of most tools get: a few blocks of text, and nothing else. Pure."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeGuard

    Message = dict[str, object]

__all__ = ["is_plain_answer"]


def is_plain_answer(message: object) -> TypeGuard[Message]:
    """Whether this is a response whose result is blocks of text, with `isError` at most."""
    # Three members, and these three: sets would say the same, and take longer.
    if type(message) is not dict or len(message) != 3 or message.get("jsonrpc") != "2.0":
        return False
    result = message.get("result")
    if type(result) is not dict or "id" not in message:
        return False
    content = result.get("content")
    if type(content) is not list or not content or not _has_only_content(result):
        return False
    for block in content:
        if type(block) is not dict or len(block) != 2:
            return False
        if block.get("type") != "text" or type(block.get("text")) is not str:
            return False
    return True


def _has_only_content(result: Message) -> bool:
    return len(result) == 1 or (len(result) == 2 and type(result.get("isError")) is bool)
