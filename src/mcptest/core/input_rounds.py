"""Answer results that ask for more input, and ask again. Pure.

In the stateless era a server cannot ask its client anything. It answers a request with what it
wants to know, and the client sends the request again, under a new id, with the answers and with
the server's own state unchanged. Who waits for the answer sees only the last one, under the id
that was first used.
"""

from __future__ import annotations

from mcptest.core import jsonrpc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcptest.core.client_script import ClientScript

    Message = dict[str, Any]

__all__ = ["MAX_ROUNDS", "InputRounds"]

# A server that is never content is left with its question.
MAX_ROUNDS = 10

_INPUT_REQUIRED = "input_required"


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

    def __init__(self, script: ClientScript) -> None:
        self._script = script
        self._asked: dict[jsonrpc.IdKey, _Asked] = {}
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
        if result.get("resultType") != _INPUT_REQUIRED or asked.rounds >= MAX_ROUNDS:
            return None
        added = self._added(result)
        if added is None:
            return None
        del self._asked[key]
        self._count += 1
        newest = f"mcptest-round-{self._count}"
        params = asked.request.get("params") or {}
        self._asked[jsonrpc.id_key(newest)] = _Asked(
            asked.request, asked.first, newest, asked.rounds + 1
        )
        return asked.request | {"id": newest, "params": params | added}

    def _added(self, result: Message) -> Message | None:
        """What the next round says more than the first."""
        wanted = result.get("inputRequests") or {}
        if not isinstance(wanted, dict) or not (wanted or "requestState" in result):
            return None
        if not all(_can_be_asked(each, self._script) for each in wanted.values()):
            return None
        answers = {key: self._script.answer_to(each["method"]) for key, each in wanted.items()}
        if any(answer is None for answer in answers.values()):
            return None
        added: Message = {"inputResponses": answers} if wanted else {}
        if "requestState" in result:
            added["requestState"] = result["requestState"]
        return added


def _can_be_asked(wanted: object, script: ClientScript) -> bool:
    return isinstance(wanted, dict) and script.has_answer_to(wanted.get("method"))
