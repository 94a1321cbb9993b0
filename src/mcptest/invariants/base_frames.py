"""What every frame of a server must be: JSON-RPC 2.0 in UTF-8, one message at a time."""

from __future__ import annotations

from mcptest.core import jsonrpc
from mcptest.invariants.base_utf8 import encoding_fault
from mcptest.invariants.rule import Looking, Rule, at_levels
from mcptest.invariants.wording import seen, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.invariants.facts import Facts
    from mcptest.invariants.rule import Breaches
    from mcptest.invariants.said import Said

__all__ = ["FRAME_RULES"]


def _jsonrpc_member(said: Said, _: Facts) -> Breaches:
    message = said.message
    if isinstance(message, dict):
        if message.get("jsonrpc") == "2.0":
            return ()
        return [f'the member jsonrpc of a message must be "2.0" and is {seen(message, "jsonrpc")}']
    if said.kind == "batch" and message:
        # Its messages are looked at one by one.
        return None
    return [f"a message must be an object and is {shown(message)}"]


def _utf8(said: Said, _: Facts) -> Breaches:
    if said.kind != "noise":
        # It could be read, so it was UTF-8.
        return ()
    fault = encoding_fault(said.message)
    return [f"{fault}: {shown(said.message)}"] if fault else None


def _result_xor_error(said: Said, _: Facts) -> Breaches:
    message = said.message
    if said.kind == "result":
        return ()
    if not isinstance(message, dict) or (said.kind == "malformed" and "id" not in message):
        return None
    return [sentence for path, sentence in jsonrpc.breaches(message) if not path]


def _result_object(said: Said, _: Facts) -> Breaches:
    result = said.message["result"]
    if isinstance(result, dict):
        return ()
    answered = f" of {shown(said.method)}" if said.method else ""
    return [f"the result{answered} must be an object and is {shown(result)}"]


def _notification_no_id(said: Said, _: Facts) -> Breaches:
    if not said.method.startswith("notifications/"):
        return None
    if "id" not in said.message:
        return ()
    return [f"{shown(said.method)} must not have an id and has {shown(said.message['id'])}"]


def _no_batch(said: Said, _: Facts) -> Breaches:
    if said.kind != "batch":
        return ()
    return [f"a frame must be one message and is an array of {len(said.message):,}"]


def _no_requests(said: Said, _: Facts) -> Breaches:
    if said.kind != "request":
        return ()
    return [
        f"the server sent a request, {shown(said.message['method'])} with the id "
        f"{shown(said.message['id'])}; this revision has none from servers"
    ]


_ALL = at_levels("ABCDE")
_EVERY_FRAME = "the server sent nothing"

FRAME_RULES = (
    Rule(
        id="BASE-01",
        name="jsonrpc-member",
        category="base",
        property='every message of the server is an object whose member jsonrpc is "2.0"',
        levels=_ALL,
        topics=("server",),
        start=lambda: Looking(_jsonrpc_member),
        nothing=_EVERY_FRAME,
    ),
    Rule(
        id="BASE-02",
        name="utf8",
        category="base",
        property="every message of the server is UTF-8 without a byte order mark",
        levels=_ALL,
        topics=("server", "noise"),
        start=lambda: Looking(_utf8),
        nothing=_EVERY_FRAME,
    ),
    Rule(
        id="BASE-09",
        name="result-xor-error",
        category="base",
        property="every response has either a result or an error",
        levels=_ALL,
        topics=("result", "error", "malformed"),
        start=lambda: Looking(_result_xor_error),
        nothing="the server answered nothing",
    ),
    Rule(
        id="BASE-10",
        name="result-object",
        category="base",
        property="every result is an object",
        levels=_ALL,
        topics=("result",),
        start=lambda: Looking(_result_object),
        nothing="no request was answered with a result",
    ),
    Rule(
        id="BASE-14",
        name="notification-no-id",
        category="base",
        property="no notification of the server has an id",
        levels=_ALL,
        topics=("request", "notification"),
        start=lambda: Looking(_notification_no_id),
        nothing="the server sent no notification",
    ),
    Rule(
        id="BASE-17",
        name="no-batch-emit",
        category="base",
        property="the server sends one message at a time, never an array of them",
        levels=at_levels("CDE"),
        topics=("server",),
        start=lambda: Looking(_no_batch),
        nothing=_EVERY_FRAME,
    ),
    Rule(
        id="BASE-36",
        name="server-sends-no-requests",
        category="base",
        property="the server sends no requests",
        levels=at_levels("E"),
        topics=("server",),
        start=lambda: Looking(_no_requests),
        nothing=_EVERY_FRAME,
    ),
)
