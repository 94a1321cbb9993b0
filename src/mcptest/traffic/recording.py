"""Recorded traffic as data: who said which message, in order, session by session."""

from __future__ import annotations

from mcptest.core import jsonrpc
from mcptest.core.diagnostics import Diagnostic
from mcptest.core.errors import FormatError
from mcptest.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal, TypeGuard

    # As in case files: "in" goes from the client to the server, "out" comes back.
    Direction = Literal["in", "out"]
    Message = dict[str, Any]
    Steps = tuple[str | int, ...]

__all__ = ["Recording", "Session", "Spoken", "is_message", "mistake", "opposite", "parts_of"]

_MEMBERS = frozenset(["jsonrpc", "id", "method", "params", "result", "error"])


class Spoken(Record):
    """One message and who said it; a list where a client sent a batch.

    `others` is what was said in its place in further recordings of the same conversation.
    """

    direction: Direction
    message: Any
    others: tuple[Any, ...] = ()


class Session(Record):
    """What one client and one server said to each other, from beginning to end."""

    messages: tuple[Spoken, ...]
    label: str = ""


class Recording(Record):
    """What was found in one file; `notes` are sentences about what was not."""

    file: str
    sessions: tuple[Session, ...]
    notes: tuple[str, ...] = ()


def opposite(direction: Direction) -> Direction:
    """The other side."""
    return "out" if direction == "in" else "in"


def parts_of(message: Any) -> list[Message]:
    """The messages of a batch, or the one message."""
    return message if isinstance(message, list) else [message]


def is_message(value: object) -> TypeGuard[Message]:
    """Whether a JSON value is meant as a JSON-RPC message, and not as an entry of a log."""
    if not isinstance(value, dict) or jsonrpc.message_kind(value) == "malformed":
        return False
    if not isinstance(value.get("method", ""), str):
        return False
    if "jsonrpc" in value:
        return True
    # Some leave the version out; nothing else may be there then.
    is_answer = "id" in value and ("result" in value or "error" in value)
    return (is_answer or "method" in value) and _MEMBERS.issuperset(value)


def mistake(code: str, file: str, message: str, help: str = "", **place: Any) -> FormatError:
    """The one thing that is wrong with a file."""
    return FormatError([Diagnostic(code=code, file=file, message=message, help=help, **place)])
