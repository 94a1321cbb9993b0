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


class InputRounds:
    """The requests that may have to be sent again, by the id of their newest round."""

    def __init__(self, script: ClientScript) -> None:
        self._script = script
        self._asked: dict[jsonrpc.IdKey, tuple[Message, object, int]] = {}
        self._count = 0

    def sent(self, request: Message) -> None:
        """A request has been sent for the first time."""
        key = jsonrpc.id_key(request["id"])
        if key not in self._asked:
            self._asked[key] = (request, request["id"], 1)

    def first_id(self, id: object) -> object:
        """The id under which somebody waits for the answer to this round; it is over."""
        _, first, _ = self._asked.pop(jsonrpc.id_key(id), ({}, id, 1))
        return first

    def next_round(self, id: object, answer: Message) -> Message | None:
        """The request again, with what the server wants to know; None when that cannot be told."""
        key = jsonrpc.id_key(id)
        result = answer.get("result")
        if key not in self._asked or not isinstance(result, dict):
            return None
        request, first, rounds = self._asked[key]
        if result.get("resultType") != _INPUT_REQUIRED or rounds >= MAX_ROUNDS:
            return None
        added = self._added(result)
        if added is None:
            return None
        del self._asked[key]
        self._count += 1
        params = request.get("params") or {}
        again = request | {"id": f"mcptest-round-{self._count}", "params": params | added}
        self._asked[jsonrpc.id_key(again["id"])] = (request, first, rounds + 1)
        return again

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
