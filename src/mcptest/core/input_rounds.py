"""Answer results that ask for more input, and ask again. Pure.

In the stateless era a server cannot ask its client anything. It answers a request with what it
wants to know, and the client sends the request again, under a new id, with the answers and with
the server's own state unchanged. Who waits for the answer sees only the last one, under the id
that was first used.

A call is over with a result that is `complete`, or does not say what it is. Of any other there is
a reason why no further round was sent.
"""

from __future__ import annotations

from mcptest.core import jsonrpc
from mcptest.core.strict_json import dump_json
from mcptest.core.text import shorten, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcptest.core.client_script import ClientScript

    Message = dict[str, Any]

__all__ = ["MAX_INPUTS", "MAX_ROUNDS", "InputRounds", "why_open"]

# A server that is never content is left with its question.
MAX_ROUNDS = 10
# So is one that asks for more at once than anybody would be asked.
MAX_INPUTS = 100

_COMPLETE = "complete"
_INPUT_REQUIRED = "input_required"
_TASK = "task"


def why_open(result: Message) -> str:
    """Why a result is not the end of a call, by what it says itself; "" when it is."""
    kind = result.get("resultType", _COMPLETE)
    if kind == _COMPLETE:
        return ""
    if kind == _TASK:
        return "it goes on as a task, and tasks are not followed"
    if kind == _INPUT_REQUIRED:
        return "the server asks for input that it was not given"
    return f"resultType is {_quoted(kind)}, which means nothing"


class _UnansweredError(Exception):
    """Why what a server wants to know is not told to it."""


class _Asked:
    """A request as it was first sent, under which id, and how often by now."""

    __slots__ = ("first", "newest", "request", "rounds")

    def __init__(self, request: Message, first: object, newest: object, rounds: int) -> None:
        self.request = request
        self.first = first
        self.newest = newest
        self.rounds = rounds


class InputRounds:
    """The requests that may have to be sent again, by the id of their newest round."""

    def __init__(self, script: ClientScript, salt: str = "") -> None:
        self._script = script
        # A part of the ids of rounds that no server can guess before they are sent.
        self._salt = salt
        self._asked: dict[jsonrpc.IdKey, _Asked] = {}
        self._reasons: dict[jsonrpc.IdKey, str] = {}
        self._count = 0

    def sent(self, request: Message) -> None:
        """A request has been sent for the first time."""
        id = request["id"]
        known = self._asked.get(jsonrpc.id_key(id))
        if known is None or known.rounds == 1:
            self._asked[jsonrpc.id_key(id)] = _Asked(request, id, id, 1)

    def first_id(self, id: object) -> object:
        """The id under which somebody waits for the answer to this round."""
        asked = self._asked.get(jsonrpc.id_key(id))
        return asked.first if asked else id

    def newest_id(self, first: object) -> object:
        """The id of the newest round of what was first sent under this one."""
        key = jsonrpc.id_key(first)
        for asked in self._asked.values():
            if asked.rounds > 1 and jsonrpc.id_key(asked.first) == key:
                return asked.newest
        return first

    def over(self, id: object) -> None:
        """No further round follows this one."""
        self._asked.pop(jsonrpc.id_key(id), None)

    def next_round(self, id: object, answer: Message) -> Message | None:
        """The request again, with what the server wants to know; None when that cannot be told."""
        key = jsonrpc.id_key(id)
        result = answer.get("result")
        if key not in self._asked or not isinstance(result, dict):
            return None
        asked = self._asked[key]
        try:
            added = self._next(asked, result)
        except _UnansweredError as error:
            self._reasons[jsonrpc.id_key(asked.first)] = str(error)
            return None
        if added is None:
            return None
        del self._asked[key]
        self._count += 1
        newest = f"mcptest-round-{self._count}{self._salt}"
        params = asked.request.get("params") or {}
        self._asked[jsonrpc.id_key(newest)] = _Asked(
            asked.request, asked.first, newest, asked.rounds + 1
        )
        return asked.request | {"id": newest, "params": params | added}

    def unfinished(self, first: object) -> str:
        """Why the last answer to a call is not the end of it, told once; "" when it is."""
        return self._reasons.pop(jsonrpc.id_key(first), "")

    def _next(self, asked: _Asked, result: Message) -> Message | None:
        """What the next round says more than the first; None when the call is over."""
        kind = result.get("resultType", _COMPLETE)
        if kind == _COMPLETE:
            return None
        if kind != _INPUT_REQUIRED:
            raise _UnansweredError(why_open(result))
        if asked.rounds >= MAX_ROUNDS:
            raise _UnansweredError(f"the server still asks for input after {MAX_ROUNDS} rounds")
        return self._added(result)

    def _added(self, result: Message) -> Message:
        wanted = result.get("inputRequests")
        wanted = {} if wanted is None else wanted
        if not isinstance(wanted, dict):
            raise _UnansweredError("inputRequests must be an object and is something else")
        if not (wanted or "requestState" in result):
            raise _UnansweredError("the server asks for input and does not say for which")
        if len(wanted) > MAX_INPUTS:
            many = f"{len(wanted):,} inputs at once"
            raise _UnansweredError(f"the server asks for {many}; up to {MAX_INPUTS} are answered")
        methods = {key: self._method(key, each) for key, each in wanted.items()}
        added: Message = {}
        if wanted:
            added["inputResponses"] = {key: self._answer(each) for key, each in methods.items()}
        if "requestState" in result:
            added["requestState"] = result["requestState"]
        return added

    def _method(self, key: str, wanted: object) -> str:
        method = wanted.get("method") if isinstance(wanted, dict) else None
        if not isinstance(method, str):
            raise _UnansweredError(f"inputRequests has no method under {_quoted(key)}")
        if not self._script.has_answer_to(method):
            raise _UnansweredError(f"no stub answers {_plain(method)}")
        return method

    def _answer(self, method: str) -> object:
        answer = self._script.answer_to(method)
        if answer is None:
            raise _UnansweredError(f"the stubs have no further result for {_plain(method)}")
        return answer


def _plain(method: str) -> str:
    return visible(shorten(method, 80))


def _quoted(value: object) -> str:
    return visible(shorten(dump_json(value), 80))
