"""Split sessions into cases, with names, keys, ids and a comment for each.

A case goes from a request to its response with everything in between; requests that overlap
stay together. Progress and cancellations are kept with their request, and what the server sends
on its own with the messages before it. A request that is never answered is a case of its own.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import count

from mcptest.core.secrets import split_words
from mcptest.core.strict_json import dump_json
from mcptest.core.text import excerpt, plural, shorten
from mcptest.core.value_class import Record
from mcptest.formats.yaml.full import Tagged
from mcptest.protocol.jsonrpc import id_key, message_kind, params_of, tool_failure
from mcptest.traffic.reading import messages_in, method_of, opposite, progress_token
from mcptest.traffic.varying_values import ANY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcptest.protocol.jsonrpc import IdKey
    from mcptest.traffic.reading import Direction, Message, Session, TrafficMessage
    from mcptest.traffic.varying_values import Steps

    # Tags by the index of a message in its case and the path in that message. None keeps the
    # recorded value.
    Marks = dict[tuple[int, Steps], Tagged | None]

__all__ = [
    "Names",
    "RecordedCase",
    "case_comment",
    "case_name",
    "identifier",
    "mark_server_ids",
    "message_keys",
    "split_session",
]

_MAX_NAME = 100
_MAX_TARGET = 60
_MAX_IDENTIFIER = 40
_PROGRESS, _CANCELLED = "notifications/progress", "notifications/cancelled"


class RecordedCase(Record):
    """Messages that belong together.

    `pairs` has for each answered request the index of its message, its index in the batch (0 if
    it is not in one) and the index of its response.
    """

    messages: tuple[TrafficMessage, ...]
    pairs: tuple[tuple[int, int, int], ...] = ()
    is_unanswered: bool = False

    def parts(self, direction: Direction) -> list[Message]:
        """The messages in one direction, those of batches one by one."""
        return [
            part
            for each in self.messages
            if each.direction == direction
            for part in messages_in(each.message)
        ]


def split_session(session: Session) -> tuple[list[RecordedCase], list[str]]:
    """The cases of a session in order, and sentences about what is left out."""
    splitter = _Splitter(session.messages)
    for index in range(len(session.messages)):
        splitter.add(index)
    cases = [_make_ids_distinct(splitter.case(group)) for group in splitter.groups]
    ids = (shorten(dump_json(orphan.get("id")), 60) for orphan in splitter.orphans)
    return cases, [f"a response with id {id} answers no request and is left out" for id in ids]


class _Splitter:
    """Puts each message into a group; `orphans` are responses to no request.

    Messages are known by their index. A request is the index of its message and its index in
    the batch.
    """

    def __init__(self, messages: tuple[TrafficMessage, ...]) -> None:
        self._messages = messages
        # The requests in each message, the response to each of them, and the way back.
        self._requests: dict[int, list[int]] = {}
        self._response_to: dict[tuple[int, int], int] = {}
        self._request_of: dict[int, int] = {}
        self._pair_responses()
        # The group that continues, and how many responses it still waits for.
        self._current: list[int] = []
        self._awaited = 0
        self._group_of: dict[int, list[int]] = {}
        # The latest request with an id or a progress token.
        self._by_id: dict[tuple[Direction, IdKey], int] = {}
        self._by_token: dict[tuple[Direction, IdKey], int] = {}
        self.groups: list[list[int]] = []
        self.orphans: list[Message] = []

    def _pair_responses(self) -> None:
        unanswered: dict[Direction, dict[IdKey, list[tuple[int, int]]]] = {"in": {}, "out": {}}
        for index, each in enumerate(self._messages):
            for part, message in enumerate(messages_in(each.message)):
                kind, key = message_kind(message), id_key(message.get("id"))
                if kind == "request":
                    unanswered[each.direction].setdefault(key, []).append((index, part))
                    self._requests.setdefault(index, []).append(part)
                elif kind == "response" and ("result" in message or "error" in message):
                    waiting = unanswered[opposite(each.direction)]
                    if message.get("id") is None and key not in waiting and len(waiting) == 1:
                        # A server that cannot read the id of a request answers with null.
                        (key,) = waiting
                    if key in waiting:
                        request = waiting[key].pop(0)
                        if not waiting[key]:
                            del waiting[key]
                        self._response_to[request] = index
                        self._request_of[index] = request[0]

    def add(self, index: int) -> None:
        each = self._messages[index]
        first = messages_in(each.message)[0]
        if message_kind(first) != "response":
            group = self._choose_group(index, each, first)
            for message in messages_in(each.message):
                if message_kind(message) == "request":
                    self._by_id[each.direction, id_key(message["id"])] = index
                    if (token := progress_token(message)) is not None:
                        self._by_token[each.direction, id_key(token)] = index
        elif index in self._request_of:
            group = self._group_of[self._request_of[index]]
            self._awaited -= group is self._current
        else:
            self.orphans.append(first)
            return
        group.append(index)
        self._group_of[index] = group

    def _choose_group(self, index: int, each: TrafficMessage, first: Message) -> list[int]:
        """The group of a request or a notification."""
        # Progress and cancellations are kept with their request.
        related: int | None = None
        if "id" not in first and first["method"] == _PROGRESS:
            token = id_key(_param(first, "progressToken"))
            related = self._by_token.get((opposite(each.direction), token))
        elif "id" not in first and first["method"] == _CANCELLED:
            related = self._by_id.get((each.direction, id_key(_param(first, "requestId"))))
        if related is not None:
            return self._group_of[related]
        if self._awaited and each.direction == "in" and self._lacks_response(index):
            return self._new_group()
        if not self._continues_group(each, first):
            self._current = self._new_group()
        requests = self._requests.get(index, ())
        self._awaited += sum((index, part) in self._response_to for part in requests)
        return self._current

    def case(self, group: list[int]) -> RecordedCase:
        place = {index: at for at, index in enumerate(group)}
        return RecordedCase(
            messages=tuple(self._messages[index] for index in group),
            pairs=tuple(
                (place[index], part, place[self._response_to[index, part]])
                for index in group
                for part in self._requests.get(index, ())
                if (index, part) in self._response_to
            ),
            is_unanswered=any(
                self._messages[index].direction == "in" and self._lacks_response(index)
                for index in group
            ),
        )

    def _lacks_response(self, index: int) -> bool:
        requests = self._requests.get(index, ())
        return any((index, part) not in self._response_to for part in requests)

    def _new_group(self) -> list[int]:
        self.groups.append([])
        return self.groups[-1]

    def _continues_group(self, each: TrafficMessage, message: Message) -> bool:
        if not self._current:
            return False
        if self._awaited or each.direction == "out":
            return True
        opening = messages_in(self._messages[self._current[0]].message)[0]
        is_end_of_handshake = message.get("method") == "notifications/initialized"
        return is_end_of_handshake and opening.get("method") == "initialize"


# Ids


def _make_ids_distinct(case: RecordedCase) -> RecordedCase:
    """The case with another id wherever the client used one a second time."""
    requests = [
        (index, part, message["id"])
        for index, each in enumerate(case.messages)
        if each.direction == "in"
        for part, message in enumerate(messages_in(each.message))
        if message_kind(message) == "request"
    ]
    taken = {id_key(id) for _, _, id in requests}
    if len(taken) == len(requests):
        return case
    messages = list(case.messages)
    responses = {(index, part): response for index, part, response in case.pairs}
    seen: set[IdKey] = set()
    numbers = count(2)
    for index, part, id in requests:
        if id_key(id) in seen:
            candidates = (f"{id}-{n}" if isinstance(id, str) else n for n in numbers)
            fresh = next(each for each in candidates if id_key(each) not in taken)
            taken.add(id_key(fresh))
            changed = list(messages_in(messages[index].message))
            changed[part] = changed[part] | {"id": fresh}
            is_batch = isinstance(messages[index].message, list)
            messages[index] = messages[index].but(message=changed if is_batch else changed[0])
            if (index, part) in responses:
                at = responses[index, part]
                messages[at] = messages[at].but(message=messages[at].message | {"id": fresh})
        seen.add(id_key(id))
    return case.but(messages=tuple(messages))


def mark_server_ids(case: RecordedCase, names: Names) -> Marks:
    """Tags for the server's ids and progress tokens, and for where the client uses them."""
    marks: Marks = {}
    responses = {index: response for index, _, response in case.pairs}
    request_names: dict[IdKey, str] = {}
    for index, each in enumerate(case.messages):
        message = each.message
        if each.direction == "in":
            continue
        if message_kind(message) == "request":
            marks[index, ("id",)] = ANY
            if index in responses:
                name = names.unique(f"{identifier(method_of(message).partition('/')[0])}_id")
                request_names[id_key(message["id"])] = name
                marks[index, ("id",)] = Tagged(tag="bind", text=name)
                marks[responses[index], ("id",)] = Tagged(tag="ref", text=name)
        elif method_of(message) == _CANCELLED:
            known = request_names.get(id_key(_param(message, "requestId")))
            marks[index, ("params", "requestId")] = Tagged(tag="ref", text=known) if known else ANY
    _mark_tokens(case, names, marks)
    return marks


def _mark_tokens(case: RecordedCase, names: Names, marks: Marks) -> None:
    client_tokens = {_token_key(message) for message in case.parts("in")}
    progress = [message for message in case.parts("in") if method_of(message) == _PROGRESS]
    used_tokens = {id_key(_param(message, "progressToken")) for message in progress}
    token_names: dict[IdKey, str] = {}
    for index, each in enumerate(case.messages):
        message = each.message
        is_progress = isinstance(message, dict) and method_of(message) == _PROGRESS
        token = id_key(_param(message, "progressToken")) if is_progress else None
        if each.direction == "in":
            if token in token_names:
                tag = Tagged(tag="ref", text=token_names[token])
                marks[index, ("params", "progressToken")] = tag
        elif is_progress:
            # The client sends its token again as it was, so it comes back as it was.
            marks[index, ("params", "progressToken")] = None if token in client_tokens else ANY
        elif (token := _token_key(message)) is not None:
            if token in used_tokens and token not in token_names:
                token_names[token] = names.unique("progress_token")
            name = token_names.get(token)
            tag = Tagged(tag="bind", text=name) if name else ANY
            marks[index, ("params", "_meta", "progressToken")] = tag


def _param(message: Message, name: str) -> object:
    return params_of(message).get(name)


def _token_key(message: Message) -> IdKey | None:
    token = progress_token(message)
    return None if token is None else id_key(token)


# Names


class Names:
    """Distinct names: the second of its kind gets a number."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._last: dict[str, int] = {}

    def unique(self, name: str, form: str = "{name}_{number}") -> str:
        """The name, or the name with the next free number."""
        number = self._last.get(name, 1)
        candidate = name
        while candidate in self._taken:
            number += 1
            candidate = form.format(name=name, number=number)
        self._last[name] = number
        self._taken.add(candidate)
        return candidate


def case_name(case: RecordedCase) -> str:
    """A name for a case by the requests of the client."""
    sent = case.parts("in")
    requests = [message for message in sent if message_kind(message) == "request"]
    titles = [_title(message) for message in requests or sent[:1]]
    if not titles:
        return f"the server begins with {_title(messages_in(case.messages[0].message)[0])}"
    more = f" and {len(titles) - 2} more" if len(titles) > 2 else ""
    return shorten(" and ".join(titles[:2]) + more, _MAX_NAME)


def _title(message: Message) -> str:
    method = method_of(message) or "a message"
    return f"{_show(method)} {_show(_target(message))}".strip()


def _target(message: Message) -> str:
    """The name of the tool or prompt, or the URI of the resource, that a request is about."""
    named = (_param(message, "name"), _param(message, "uri"))
    return next((each for each in named if isinstance(each, str)), "")


def _show(text: str) -> str:
    return excerpt(text, _MAX_TARGET)


def message_keys(case: RecordedCase) -> list[str]:
    """The keys of a case's messages: `in` and `out`, or longer ones to tell several apart."""
    names = Names()
    counts = Counter(each.direction for each in case.messages)
    keys = []
    for each in case.messages:
        if counts[each.direction] == 1:
            word = ""
        elif isinstance(each.message, list):
            word = "_batch"
        elif method := method_of(each.message):
            word = f"_{identifier(method.rpartition('/')[2])}"
        else:
            word = "_error" if "error" in each.message else "_answer"
        keys.append(names.unique(f"{each.direction}{word}"))
    return keys


def identifier(text: str) -> str:
    """A text as an identifier of letters, digits and underscores."""
    words = re.sub(r"[^A-Za-z0-9]+", "_", "_".join(split_words(text))).strip("_")
    words = words[:_MAX_IDENTIFIER].strip("_")
    return words if words and not words[0].isdigit() else f"value_{words}".strip("_")


# Comments

_ACTIONS = {
    "initialize": "opens the session",
    "ping": "asks whether the server is there",
    "tools/list": "asks for the tools",
    "tools/call": "calls the tool {}",
    "resources/list": "asks for the resources",
    "resources/templates/list": "asks for the resource templates",
    "resources/read": "reads {}",
    "resources/subscribe": "subscribes to {}",
    "resources/unsubscribe": "unsubscribes from {}",
    "prompts/list": "asks for the prompts",
    "prompts/get": "gets the prompt {}",
    "completion/complete": "asks for completions",
    "logging/setLevel": "sets the level of the log",
}


def case_comment(case: RecordedCase) -> str:
    """A sentence about a case: what the client does, the outcome, and what else is sent."""
    sent = case.parts("in")
    requests = [message for message in sent if message_kind(message) == "request"]
    notifications = [message for message in sent if message_kind(message) == "notification"]
    if len(requests) == 1:
        method, target = method_of(requests[0]), _target(requests[0])
        action = _ACTIONS.get(method, "")
        if not action or ("{}" in action and not target):
            action = f"sends {_show(method) or 'a message'}"
        action = action.replace("{}", _show(target))
        sentence = f"The client {action}, {_outcome(case)}"
    elif requests:
        sentence = f"The client makes {len(requests)} requests at a time"
    elif notifications:
        sentence = f"The client sends {_show(method_of(notifications[0])) or 'a message'}"
    else:
        sentence = "The server speaks first"
    kinds = [message_kind(each.message) for each in case.messages if each.direction == "out"]
    own = []
    if notified := kinds.count("notification"):
        own.append(plural(notified, "notification"))
    if asked := kinds.count("request"):
        own.append(f"{plural(asked, 'request')} of its own")
    return f"{sentence}; the server sends {' and '.join(own)}." if own else f"{sentence}."


def _outcome(case: RecordedCase) -> str:
    responses: list[Any] = [
        case.messages[response].message
        for index, _, response in case.pairs
        if case.messages[index].direction == "in"
    ]
    if not responses:
        return "and gets no answer"
    if "error" in responses[0]:
        return "which is refused"
    result = responses[0].get("result")
    is_failure = isinstance(result, dict) and bool(tool_failure(result))
    return "which fails" if is_failure else "and is answered"
