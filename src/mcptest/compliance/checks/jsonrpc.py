"""Checks of the base protocol (BASE): ids, unknown methods, notifications, malformed messages."""

from __future__ import annotations

from mcptest.compliance.check import PASSED, Check, could_not_run, not_applicable, violated
from mcptest.core.strict_json import dump_json
from mcptest.core.text import excerpt
from mcptest.protocol import jsonrpc
from mcptest.protocol.revisions import (
    FIRST_STATELESS,
    HANDSHAKE_REVISIONS,
    HEADER_MISMATCH,
    META_CAPABILITIES,
    VERSION_KEY,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.compliance.check import Outcome
    from mcptest.compliance.raw_connection import Answer, Peer
    from mcptest.compliance.run import Run

__all__ = ["CHECKS"]

_BATCH_REVISION = "2025-03-26"

# Legal ids that programs have mixed up: zero and negative, the largest exact integer of
# JavaScript, and strings that are empty, look like numbers, are not ASCII, or long.
_IDS = (0, -7, 2**53 - 1, "", "1", "ü", "x" * 5_000)

# What each capability needs beside the method.
_NEEDED = {
    "tools": ("tools/call", "name"),
    "resources": ("resources/read", "uri"),
    "prompts": ("prompts/get", "name"),
}


def _show(value: object) -> str:
    return excerpt(dump_json(value), 80)


def _echoes_ids(peer: Peer, run: Run) -> Outcome:
    for id in _IDS:
        peer.clear_evidence()
        answer = peer.request_or_silence(peer.message(peer.harmless_method, id=id))
        if answer.message is None:
            strays = [each for each in answer.others if "method" not in each and "id" in each]
            seen = f"a response with the id {_show(strays[0]['id'])}" if strays else answer.problem
            return violated(f"a request with the id {_show(id)} got {seen}")
    return PASSED


def _leaves_notifications_alone(peer: Peer, run: Run) -> Outcome:
    for method, params in (
        # Known to every server, and about a request of its own that it never sent.
        ("notifications/progress", {"progressToken": f"none-{run.suffix}", "progress": 1}),
        ("notifications/progress", {"progressToken": [1], "progress": "much"}),
        (f"notifications/mcptest-{run.suffix}", {}),
    ):
        peer.clear_evidence()
        # Some of these are wrong on purpose.
        peer.send(jsonrpc.notification(method, params))
        replies = peer.unasked_responses(peer.settle())
        if replies:
            return violated(
                f"the notification {method} got the response {_show(replies[0])}; a message "
                "without an id must not be answered, even if it is unknown or malformed"
            )
    return PASSED


def _answers_batches(peer: Peer, run: Run) -> Outcome:
    first, second = peer.message("ping"), peer.message("ping")
    wanted = [jsonrpc.id_key(each["id"]) for each in (first, second)]
    note = jsonrpc.notification(f"notifications/mcptest-{run.suffix}")
    sent = peer.send([first, note, second])
    messages = [*sent.others, *([sent.message] if sent.message else []), *peer.settle().others]
    seen = [jsonrpc.id_key(each.get("id")) for each in messages if "method" not in each]
    missing = sum(id not in seen for id in wanted)
    if not missing:
        return PASSED
    return violated(f"of a batch of two requests and a notification, {missing} got no response")


def _refuses_unknown_methods(peer: Peer, run: Run) -> Outcome:
    answer = peer.request_or_silence(peer.message(f"mcptest/unknown-{run.suffix}"))
    if answer.code == jsonrpc.METHOD_NOT_FOUND:
        return PASSED
    return violated(
        f"a request with an unknown method must get error -32601 (method not found); the server "
        f"answered with {answer.describe()}"
    )


def _refuses_missing_params(peer: Peer, run: Run) -> Outcome:
    methods = [needed for capability, needed in _NEEDED.items() if peer.has(capability)]
    weak = PASSED
    for method, member in methods:
        peer.clear_evidence()
        message = peer.message(method)
        answer = peer.request_or_silence(message | {"params": message.get("params", {})})
        if not answer.is_refused:
            return violated(f"{method} without {member} got {answer.describe()}; expected an error")
        if answer.code not in (jsonrpc.INVALID_PARAMS, HEADER_MISMATCH, None):
            weak = violated(
                f"{method} without {member} should get error -32602 (invalid params); the server "
                f"answered with {answer.describe()}",
                level="SHOULD",
            ).with_evidence(peer)
    return weak if methods else not_applicable("the server has no tools, resources or prompts")


def _survives_parse_errors(peer: Peer, run: Run) -> Outcome:
    answer = peer.send_bytes(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"')
    if peer.transport == "stdio":
        answer = peer.settle()
        if answer.message is None:
            return violated(f"after a line that is not JSON, a request got {answer.problem}")
    messages = [*answer.others, *([answer.message] if answer.message else [])]
    codes = [each["error"].get("code") for each in messages if isinstance(each.get("error"), dict)]
    if jsonrpc.PARSE_ERROR in codes or answer.status >= 400:
        return PASSED
    seen = f"error {', '.join(map(str, codes))}" if codes else "nothing"
    if peer.transport == "http" and not codes:
        seen = answer.describe() or seen
    return violated(
        "something that is not JSON should get error -32700 (parse error); the "
        f"server answered with {seen}",
        level="SHOULD",
    ).but(is_shared=not codes and peer.transport == "stdio")


def _refuses_odd_ids(peer: Peer, run: Run) -> Outcome:
    weak = PASSED
    for id in (1.5, None, True):
        peer.clear_evidence()
        message = {**peer.message(peer.harmless_method, id=0), "id": id}
        answer = _answer_to_odd_id(peer, message, id)
        if peer.is_lost:
            if run.has_failed("BASE-20", "failed"):
                return weak if weak != PASSED else _ENDS_AT_MALFORMED
            return violated(f"after a request with the id {_show(id)} the server {peer.end_status}")
        if answer.is_refused or weak != PASSED:
            continue
        if answer.status == 202:
            return violated(
                f"a request with the id {_show(id)} got HTTP status 202, as if it were a "
                "notification; it must get an error"
            )
        weak = violated(
            f"a request with the id {_show(id)}, which is neither a string nor an integer, should "
            f"get error -32600 (invalid request); the server answered with {answer.describe()}",
            level="SHOULD",
        ).with_evidence(peer)
        if answer.message is not None:
            seen = f", with the id {_show(answer.message.get('id'))}"
            weak = weak.but(message=weak.message + seen)
        # Servers on stdio drop what they cannot read.
        weak = weak.but(is_shared=answer.message is None and peer.transport == "stdio")
    return weak


_ENDS_AT_MALFORMED = could_not_run("the server ends at a malformed message, as BASE-20 reports")


def _answer_to_odd_id(peer: Peer, message: dict[str, object], id: object) -> Answer:
    """The answer to a request whose id may come back as it is, or as null, or not at all."""
    sent = peer.send(message)
    later = sent if peer.transport == "http" else peer.settle().but(message=None)
    for each in later.others:
        if "method" not in each and ("error" in each or "result" in each):
            return later.but(message=each)
    return later.but(problem=later.problem or "nothing")


def _refuses_requests_without_meta(peer: Peer, run: Run) -> Outcome:
    if peer.settle().result is None:
        return violated("a complete request got no result before the one without _meta was sent")
    return _refuses_without(peer, run, *peer.meta)


def _refuses_without(peer: Peer, run: Run, *keys: str) -> Outcome:
    """Send a request whose metadata lacks these keys: it must be refused with -32602."""
    method = "tools/list" if peer.has("tools") else "server/discover"
    meta = {key: value for key, value in peer.meta.items() if key not in keys}
    message = peer.message(method, {"_meta": meta} if meta else {}, meta=False)
    answer = peer.request_or_silence(message, is_judged=False)
    what = "_meta" if not meta else f"{keys[0]} in its _meta"
    if answer.code == jsonrpc.INVALID_PARAMS:
        return PASSED
    is_old = answer.result is not None and "resultType" not in answer.result
    if is_old and VERSION_KEY in keys and run.offer(HANDSHAKE_REVISIONS[-1]).version:
        return not_applicable("the server takes it for a request of a revision with a handshake")
    return violated(
        f"{method} without {what} must get error -32602 (invalid params); the "
        f"server answered with {answer.describe()}"
    )


CHECKS = {
    "BASE-07 response-id-echo": Check(
        property="a response has the id of its request, in value and type",
        run=_echoes_ids,
        explains=("BASE-08", "HTTP-04"),
        section="basic#Responses",
    ),
    "BASE-15 no-reply-to-notification": Check(
        property="notifications get no response, not even unknown and malformed ones",
        run=_leaves_notifications_alone,
        explains=("BASE-08", "CANC-01"),
        transport="stdio",
        phase="malformed",
        section="basic#Notifications",
    ),
    "BASE-16 batch-receive": Check(
        property="every request of a batch gets a response",
        run=_answers_batches,
        since=_BATCH_REVISION,
        until=_BATCH_REVISION,
        phase="malformed",
        is_shared=True,
        section="basic#Batching",
    ),
    "BASE-18 method-not-found": Check(
        property="an unknown method gets error -32601, and the server keeps running",
        run=_refuses_unknown_methods,
        explains=("BASE-27", "LIFE-22"),
        section="basic#Messages",
        older_sections={"2024-11-05": "basic/messages#Requests"},
    ),
    "BASE-19 invalid-params": Check(
        property="a request without a required parameter gets an error",
        run=_refuses_missing_params,
        explains=("BASE-27",),
        section="basic#Messages",
        older_sections={"2024-11-05": "basic/messages#Requests"},
    ),
    "BASE-20 parse-error": Check(
        property="input that is not JSON gets error -32700, and the server keeps running",
        run=_survives_parse_errors,
        phase="malformed",
        section="basic#Messages",
        older_sections={"2024-11-05": "basic/messages#Requests"},
    ),
    "BASE-32 stateless-context": Check(
        property="a request without _meta is refused, even after a complete one",
        run=_refuses_requests_without_meta,
        since=FIRST_STATELESS,
        transport="stdio",
        phase="malformed",
        section="basic#Statelessness",
    ),
    "BASE-33 meta-version-required": Check(
        property="a request without protocolVersion in its _meta gets error -32602",
        run=lambda peer, run: _refuses_without(peer, run, VERSION_KEY),
        since=FIRST_STATELESS,
        phase="malformed",
        explains=("BASE-32",),
        section="basic#_meta",
    ),
    "BASE-34 meta-capabilities-required": Check(
        property="a request without clientCapabilities in its _meta gets error -32602",
        run=lambda peer, run: _refuses_without(peer, run, META_CAPABILITIES),
        since=FIRST_STATELESS,
        phase="malformed",
        section="basic#_meta",
    ),
    "BASE-42 request-id-checked": Check(
        property="a request whose id is neither a string nor an integer gets an error",
        run=_refuses_odd_ids,
        phase="malformed",
        section="basic#Requests",
    ),
}
