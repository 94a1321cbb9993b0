"""Ids within one case: the client's are all different, the server's are known when they come."""

from __future__ import annotations

from itertools import count

from mcptest.core.jsonrpc import id_key, message_kind
from mcptest.traffic.directions import token_of
from mcptest.traffic.naming import method_of, word_of
from mcptest.traffic.recording import parts_of
from mcptest.traffic.tag import ANY, Tag

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcptest.core.jsonrpc import IdKey
    from mcptest.traffic.naming import Names
    from mcptest.traffic.passages import Passage
    from mcptest.traffic.recording import Message, Steps

    # What stands at a place of the messages of a passage; None keeps what was recorded.
    Marks = dict[tuple[int, Steps], Tag | None]

__all__ = ["marks_of_server", "with_own_ids"]

_TOKEN: Steps = ("params", "_meta", "progressToken")
_PROGRESS, _CANCELLED = "notifications/progress", "notifications/cancelled"


def with_own_ids(passage: Passage) -> Passage:
    """The passage with another id wherever the client used one a second time."""
    fresh = _fresh_ids(passage)
    if not fresh:
        return passage
    messages = list(passage.messages)
    answers = {(asked, part): answer for asked, part, answer in passage.pairs}
    for (index, part), id in fresh.items():
        if (index, part) in answers:
            at = answers[index, part]
            messages[at] = messages[at].but(message=messages[at].message | {"id": id})
        spoken = messages[index]
        changed: Any = [
            message | {"id": id} if place == part else message
            for place, message in enumerate(parts_of(spoken.message))
        ]
        is_batch = isinstance(spoken.message, list)
        messages[index] = spoken.but(message=changed if is_batch else changed[0])
    return passage.but(messages=tuple(messages))


def _fresh_ids(passage: Passage) -> dict[tuple[int, int], object]:
    seen: set[IdKey] = set()
    fresh: dict[tuple[int, int], object] = {}
    asked = [
        (index, part, message["id"])
        for index, spoken in enumerate(passage.messages)
        if spoken.direction == "in"
        for part, message in enumerate(parts_of(spoken.message))
        if message_kind(message) == "request"
    ]
    taken = {id_key(id) for _, _, id in asked}
    numbers = count(2)
    for index, part, id in asked:
        if id_key(id) in seen:
            candidates = (f"{id}-{n}" if isinstance(id, str) else n for n in numbers)
            fresh[index, part] = next(each for each in candidates if id_key(each) not in taken)
            taken.add(id_key(fresh[index, part]))
        seen.add(id_key(id))
    return fresh


def marks_of_server(passage: Passage, names: Names) -> Marks:
    """Where the server's own ids and tokens stand, and where the client uses them."""
    marks: Marks = {}
    answer_to = {
        asked: answer
        for asked, _, answer in passage.pairs
        if passage.messages[asked].direction == "out"
    }
    tokens = _Tokens(passage)
    requests: dict[IdKey, str] = {}
    for index, spoken in enumerate(passage.messages):
        if spoken.direction == "in":
            tokens.mark_use(index, spoken.message, marks)
            continue
        message = spoken.message
        kind = message_kind(message)
        if kind == "request" and index in answer_to:
            name = names.unique(f"{word_of(method_of(message).partition('/')[0])}_id")
            requests[id_key(message["id"])] = name
            marks[index, ("id",)] = Tag(name="bind", text=name)
            marks[answer_to[index], ("id",)] = Tag(name="ref", text=name)
        elif kind == "request":
            marks[index, ("id",)] = ANY
        elif method_of(message) == _CANCELLED:
            known = requests.get(id_key(_param(message, "requestId")))
            marks[index, ("params", "requestId")] = Tag(name="ref", text=known) if known else ANY
        tokens.mark(index, message, names, marks)
    return marks


class _Tokens:
    """Progress tokens: which the client gave away, which the server did."""

    def __init__(self, passage: Passage) -> None:
        said = [
            (spoken.direction, part)
            for spoken in passage.messages
            for part in parts_of(spoken.message)
        ]
        self._of_client = {_token_key(part) for side, part in said if side == "in"}
        self._used = {
            id_key(_param(part, "progressToken"))
            for side, part in said
            if side == "in" and method_of(part) == _PROGRESS
        }
        self._names: dict[IdKey, str] = {}

    def mark(self, index: int, message: Message, names: Names, marks: Marks) -> None:
        """What the server says: its own tokens, and progress under the client's."""
        if method_of(message) == _PROGRESS:
            is_clients = id_key(_param(message, "progressToken")) in self._of_client
            # The client's token is sent again as it was, and comes back.
            marks[index, ("params", "progressToken")] = None if is_clients else ANY
        elif (key := _token_key(message)) is not None:
            if key in self._used and key not in self._names:
                self._names[key] = names.unique("progress_token")
            name = self._names.get(key)
            marks[index, _TOKEN] = Tag(name="bind", text=name) if name else ANY

    def mark_use(self, index: int, message: Any, marks: Marks) -> None:
        """Progress that the client tells under a token of the server."""
        if isinstance(message, dict) and method_of(message) == _PROGRESS:
            name = self._names.get(id_key(_param(message, "progressToken")))
            if name:
                marks[index, ("params", "progressToken")] = Tag(name="ref", text=name)


def _param(message: Message, name: str) -> object:
    params = message.get("params")
    return params.get(name) if isinstance(params, dict) else None


def _token_key(message: Message) -> IdKey | None:
    token = token_of(message)
    return None if token is None else id_key(token)
