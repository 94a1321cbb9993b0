"""Checks of Streamable HTTP in both eras, and of sessions (HTTP-01 to 37, 42 to 47, 55, and 56).

Foreign values of `Origin` and `Host` are sent to this machine only, unless the user asks for more.
"""

from __future__ import annotations

import base64
import re
import time
from functools import partial
from itertools import pairwise

from mcptest.compliance.check import (
    PASSED,
    Check,
    UndecidedError,
    could_not_run,
    not_applicable,
    violated,
)
from mcptest.compliance.checks.prompts import argument_names
from mcptest.compliance.raw_connection import HttpPeer
from mcptest.core.text import excerpt
from mcptest.core.value_class import Record
from mcptest.explore.arguments import sample_arguments
from mcptest.protocol import jsonrpc
from mcptest.protocol.framing import encode_line
from mcptest.protocol.http_messages import SseDecoder, SseEvent, param_headers
from mcptest.protocol.revisions import (
    FIRST_STATELESS,
    HANDSHAKE_REVISIONS,
    HEADER_MISMATCH,
    META_CAPABILITIES,
    REVISIONS,
    UNSUPPORTED_VERSION,
    VERSION_KEY,
)
from mcptest.transport.http.connection import listening_addresses

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcptest.compliance.check import Outcome, Probe
    from mcptest.compliance.raw_connection import Answer, Peer
    from mcptest.compliance.run import Run
    from mcptest.transport.http.probe import HttpReply

    Message = dict[str, Any]

__all__ = ["CHECKS", "first_reply", "http_peer", "refuses_foreign"]


_HANDSHAKE_END = HANDSHAKE_REVISIONS[-1]
_FIRST_STREAMABLE = "2025-03-26"
_VERSION_HEADER_SINCE = "2025-06-18"
# From this revision on, a foreign Origin gets exactly this status.
_FORBIDDEN_SINCE = "2025-11-25"
_FORBIDDEN = 403

_FOREIGN = "evil.example"
_SESSIONS = 20
# The ids of fewer sessions may look like numbers of a counter by chance.
_LEAST_SESSIONS = 6
# The largest step between session ids that are counted: other clients open sessions meanwhile.
_MAX_STEP = 16
_EVERYWHERE = ("0.0.0.0", "::")


def http_peer(peer: Peer) -> HttpPeer:
    """The connection of a check that is for HTTP alone."""
    assert isinstance(peer, HttpPeer), "the check is for HTTP"
    return peer


def first_reply(
    client: HttpPeer,
    peer: HttpPeer,
    run: Run,
    *,
    headers: dict[str, str] | None = None,
    host: str = "",
    query: str = "",
) -> HttpReply:
    """The answer to the first request of another client; `peer` has the evidence.

    If it opens a session, that is ended again.
    """
    if REVISIONS[run.version].is_stateless:
        client.version = run.version
        message = client.message("server/discover")
    else:
        params = client.initialize_params(run.version)
        message = jsonrpc.request(client.next_id(), "initialize", params)
    address = peer.client.address
    if query:
        mark = "&" if "?" in address.target else "?"
        address = address.but(target=f"{address.target}{mark}{query}")
    sent = client.default_headers(message) | (headers or {})
    reply = peer.exchange("POST", sent, encode_line(message), host=host, address=address)
    client.session_id = reply.header("mcp-session-id")
    client.end()
    return reply


def refuses_foreign(peer: Peer, run: Run, host: str = "") -> Outcome:
    """Judge the answer to a foreign Origin, with a foreign Host or without."""
    if run.is_remote and not run.settings.remote_probes:
        reason = "the server is on another machine, which gets no foreign Origin or Host unasked"
        return could_not_run(f"{reason}: --remote-probes", needs="--remote-probes")
    peer = http_peer(peer)
    origin = {"Origin": f"http://{_FOREIGN}"}
    reply = first_reply(peer.other_client(), peer, run, headers=origin, host=host)
    also = f" and Host: {host}" if host else ""
    if reply.status and reply.status < 400:
        return violated(
            f"a request with Origin: http://{_FOREIGN}{also} was served with HTTP status "
            f"{reply.status}; any web page that a user visits can talk to this server (DNS "
            "rebinding), so a foreign Origin must be refused with 403"
        )
    if run.version >= _FORBIDDEN_SINCE and reply.status != _FORBIDDEN and not host:
        return violated(
            f"a foreign Origin must get HTTP status 403; the server answered with "
            f"{reply.status or reply.error}"
        )
    return PASSED


def _get(peer: HttpPeer) -> HttpReply:
    """The status and the headers of a GET for an event stream; the stream is not read."""
    headers = peer.default_headers(None) | {"Accept": "text/event-stream", "Content-Type": None}
    return peer.exchange_head("GET", headers)


def _has_one_endpoint(peer: Peer, run: Run) -> Outcome:
    reply = _get(http_peer(peer))
    if not reply.status:
        return could_not_run(f"GET got no answer, which HTTP-07 reports: {reply.error}")
    if reply.status != 404:
        return PASSED
    return violated(
        "GET on the endpoint that serves POST got HTTP status 404; the same path must answer GET "
        "with an event stream or with 405"
    )


def _answers_get(peer: Peer, run: Run) -> Outcome:
    reply = _get(http_peer(peer))
    if reply.status in (404, 405) or (reply.status == 200 and reply.is_event_stream):
        return PASSED
    kind = excerpt(reply.header("content-type"), 60) or "no type"
    return violated(
        "GET with Accept: text/event-stream must get an event stream or HTTP status 405; the "
        f"server answered with {reply.status or reply.error} and {kind}"
    )


def _accepts_notifications(peer: Peer, run: Run) -> Outcome:
    method = "notifications/cancelled"
    answer = peer.notify(method, {"requestId": f"never-sent-{run.suffix}"})
    assert answer.reply, "there is one over HTTP"
    if answer.status == 202 and not answer.reply.body.strip():
        return PASSED
    if answer.status >= 400:
        return not_applicable(f"the server refuses {method} with HTTP status {answer.status}")
    body = "a body" if answer.reply.body.strip() else "no body"
    return violated(
        f"a notification that is accepted must get HTTP status 202 and no body; {method} got "
        f"{answer.status or answer.problem} and {body}"
    )


def _refuses_bad_notifications(peer: Peer, run: Run) -> Outcome:
    for message in (
        {"jsonrpc": "2.0", "method": 5},
        {"jsonrpc": "1.0", "method": f"notifications/mcptest-{run.suffix}"},
    ):
        peer.clear_evidence()
        answer = peer.send(message)
        seen = [*answer.others, *([answer.message] if answer.message else [])]
        if not answer.status:
            return could_not_run(f"a message that the server cannot accept got {answer.problem}")
        if answer.status < 300 and any("error" in each for each in seen):
            return violated(
                f"a message that the server cannot accept got HTTP status {answer.status} with an "
                "error in the body; it must get an HTTP error status such as 400"
            )
    return PASSED


# Sessions


def _session_peer(peer: Peer) -> HttpPeer:
    """The connection, if the server has opened a session on it; else UndecidedError."""
    peer = http_peer(peer)
    if not peer.session_id:
        raise UndecidedError(not_applicable("the server gives no session ids"))
    return peer


def _gives_random_sessions(peer: Peer, run: Run) -> Outcome:
    peer = _session_peer(peer)
    ids = []
    for _ in range(_SESSIONS):
        client = peer.other_client()
        client.open(run.version)
        ids.append(client.session_id)
        client.end()
    # It may limit how many sessions are opened.
    ids = [id for id in ids if id]
    if len(ids) < _LEAST_SESSIONS:
        return could_not_run(
            f"the server opened {len(ids)} of {_SESSIONS} sessions; their ids show something from "
            f"{_LEAST_SESSIONS} on"
        )
    shown = excerpt(", ".join(ids[:3]), 120)
    if len(set(ids)) < len(ids):
        return violated(f"{len(ids)} sessions got only {len(set(ids))} different ids: {shown}")
    if _are_counted(ids):
        return violated(f"session ids are consecutive numbers, so they can be guessed: {shown}")
    return PASSED


def _are_counted(ids: list[str]) -> bool:
    """True if ids differ only in a number at their end, which grows by small, even steps."""
    stem = ids[0].rstrip("0123456789")
    numbers = [id.removeprefix(stem) for id in ids]
    # Random ids may end in digits, too.
    if not all(re.fullmatch("[0-9]{1,15}", number) for number in numbers):
        return False
    steps = {int(later) - int(earlier) for earlier, later in pairwise(numbers)}
    return len(steps) == 1 and 0 < steps.pop() <= _MAX_STEP


def _ends_sessions(peer: Peer, run: Run) -> Outcome:
    client = _session_peer(run.connect(run.version))
    client.clear_evidence()
    deleted = client.exchange("DELETE", client.default_headers(None) | {"Content-Type": None})
    if deleted.status >= 400 or not deleted.status:
        return not_applicable(f"the server answers DELETE with HTTP status {deleted.status}")
    answer = client.request("ping")
    client.session_id = ""
    if answer.status == 404:
        return PASSED
    return violated(
        "a request in a session that was ended with DELETE must get HTTP status 404, so that the "
        f"client begins a new one; the server answered with {answer.describe()}"
    ).with_evidence(client)


def _refuses_unknown_sessions(peer: Peer, run: Run) -> Outcome:
    peer = _session_peer(peer)
    for session, what in ((run.unknown_name("session"), "an unknown"), (None, "no")):
        peer.clear_evidence()
        answer = peer.request("ping", headers={"Mcp-Session-Id": session})
        # A server that serves requests without an id does not require one.
        if answer.status < 400 and (session or answer.result is None):
            return violated(
                f"a request with {what} session id should get HTTP status "
                f"{'404' if session else '400'}; the server answered with {answer.describe()}"
            )
    return PASSED


def _checks_the_version_header(peer: Peer, run: Run) -> Outcome:
    answer = peer.request("ping", headers={"MCP-Protocol-Version": "1999-01-01"})
    if answer.status == 400:
        return PASSED
    return violated(
        "a request with MCP-Protocol-Version: 1999-01-01 must get HTTP status 400; the server "
        f"answered with {answer.describe()}"
    )


def _needs_no_version_header(peer: Peer, run: Run) -> Outcome:
    answer = peer.request("ping", headers={"MCP-Protocol-Version": None})
    if answer.result is not None:
        return PASSED
    return violated(
        "a request without MCP-Protocol-Version should be served, in the revision that was agreed "
        f"on; the server answered with {answer.describe()}"
    )


# Processes and the older transport


def _listens_on_loopback(peer: Peer, run: Run) -> Outcome:
    address = http_peer(peer).client.address
    if run.is_remote:
        return not_applicable("the server is on another machine")
    found = listening_addresses(address.port)
    if not found:
        return not_applicable("the sockets of this machine cannot be read")
    if not set(found) & set(_EVERYWHERE):
        return PASSED
    return violated(
        f"the server listens on all interfaces ({', '.join(found)}, port {address.port}), so that "
        "others in the network reach it; a local server should listen on 127.0.0.1"
    )


def _names_the_endpoint(peer: Peer, run: Run) -> Outcome:
    peer = http_peer(peer)
    probe = peer.client.start("GET", (("Accept", "text/event-stream"),))
    deadline, decoder = peer.limit.deadline(peer.timeout_s), SseDecoder()
    events: list[object] = []
    while not events and time.monotonic() < deadline and (piece := probe.read(deadline)):
        events += decoder.feed(piece)
    reply = probe.reply
    probe.close()
    if not events:
        peer.limit.check()
    if not reply.is_event_stream:
        return not_applicable("the server does not have the older transport of two endpoints")
    first = events[0] if events else None
    if isinstance(first, SseEvent) and first.name == "endpoint" and first.data.strip():
        return PASSED
    seen = f"an event named {first.name}" if isinstance(first, SseEvent) else "nothing"
    return violated(f"the first event of the stream must be named endpoint; the server sent {seen}")


# The stateless era: headers that repeat the body, and statuses.
#
# What is sent with wrong headers is harmless if it is served all the same: lists, and reading what
# the server lists. Tools are called only if they may be.


def _judge_mismatch(answer: Answer, what: str) -> Outcome:
    """A request whose headers contradict its body must get 400 and -32020."""
    if answer.status == 400 and answer.code == HEADER_MISMATCH:
        return PASSED
    return violated(
        f"{what} must get HTTP status 400 and error -32020 (header mismatch); the server answered "
        f"with {answer.describe()}"
    )


# The version and the method


def _compares_the_version(peer: Peer, run: Run) -> Outcome:
    header = {"MCP-Protocol-Version": HANDSHAKE_REVISIONS[-1]}
    answer = peer.request("server/discover", headers=header, is_judged=False)
    outcome = _judge_mismatch(answer, "a version header that differs from the version in _meta")
    return outcome if answer.result is not None else _unless_both_eras(outcome, run)


def _unless_both_eras(outcome: Outcome, run: Run) -> Outcome:
    """No verdict on a server that takes a request for one of the other era."""
    if outcome == PASSED or not run.offer(HANDSHAKE_REVISIONS[-1]).version:
        return outcome
    return not_applicable("the server takes it for a request of a revision with a handshake")


def _needs_the_version(peer: Peer, run: Run) -> Outcome:
    header = {"MCP-Protocol-Version": None}
    answer = peer.request("server/discover", headers=header, is_judged=False)
    return _unless_both_eras(_judge_mismatch(answer, "a request without the version header"), run)


def _compares_the_method(sent: str | None, what: str) -> Probe:
    """The check of a request whose header Mcp-Method has this value instead of the method."""

    def check(peer: Peer, run: Run) -> Outcome:
        header = {"Mcp-Method": sent}
        answer = peer.request("server/discover", headers=header, is_judged=False)
        return _judge_mismatch(answer, what)

    return check


def _ignores_case_of_names(peer: Peer, run: Run) -> Outcome:
    peer = http_peer(peer)
    message = peer.message("server/discover")
    headers = peer.default_headers(message)
    method = headers.pop("Mcp-Method")
    reply = peer.exchange("POST", headers | {"mCp-MeThOd": method}, encode_line(message))
    if reply.status == 200:
        return PASSED
    return violated(
        "the header mCp-MeThOd must be taken for Mcp-Method: names of headers have no case; the "
        f"server answered with HTTP status {reply.status or reply.error}"
    )


# Names


class _Named(Record):
    """A harmless request that names something, and the name in its header."""

    method: str
    params: Message
    name: str


def _require_named(peer: Peer, run: Run) -> _Named:
    """A request that names something. UndecidedError if there is none without an effect."""
    for resource in peer.list_all("resources") or ():
        if isinstance(resource.get("uri"), str):
            uri = resource["uri"]
            return _Named(method="resources/read", params={"uri": uri}, name=uri)
    for prompt in peer.list_all("prompts") or ():
        required = argument_names(prompt, is_required=True)
        if isinstance(prompt.get("name"), str) and not required:
            name = prompt["name"]
            return _Named(method="prompts/get", params={"name": name}, name=name)
    for tool in run.callable_tools(peer):
        arguments = sample_arguments(tool.get("inputSchema")).arguments
        params = {"name": tool["name"], "arguments": arguments}
        return _Named(method="tools/call", params=params, name=tool["name"])
    reason = "the server has nothing that can be read or called without an effect"
    raise UndecidedError(not_applicable(reason))


def _needs_the_name(peer: Peer, run: Run) -> Outcome:
    named = _require_named(peer, run)
    header = {"Mcp-Name": None}
    answer = peer.request(named.method, named.params, headers=header, is_judged=False)
    return _judge_mismatch(answer, f"{named.method} without the header Mcp-Name")


def _compares_the_name(peer: Peer, run: Run) -> Outcome:
    named = _require_named(peer, run)
    other = {"Mcp-Name": run.unknown_name("name")}
    answer = peer.request(named.method, named.params, headers=other, is_judged=False)
    return _judge_mismatch(answer, f"{named.method} with another name in the header Mcp-Name")


def _encode(text: str) -> str:
    return f"=?base64?{base64.b64encode(text.encode()).decode('ascii')}?="


def _decodes_names(peer: Peer, run: Run) -> Outcome:
    named = _require_named(peer, run)
    right = {"Mcp-Name": _encode(named.name)}
    answer = peer.request(named.method, named.params, headers=right, is_judged=False)
    if answer.code == HEADER_MISMATCH or answer.status == 400:
        return violated(
            "a header Mcp-Name with the right name in Base64 (=?base64?…?=) must be accepted; the "
            f"server answered with {answer.describe()}"
        )
    wrong = {"Mcp-Name": _encode(run.unknown_name("name"))}
    answer = peer.request(named.method, named.params, headers=wrong, is_judged=False)
    return _judge_mismatch(answer, "a header Mcp-Name with another name in Base64")


# Statuses


def _judge_status(answer: Answer, code: int, status: int, other: str) -> Outcome:
    if answer.code != code:
        return not_applicable(
            f"the server does not answer with error {code}; {other} is about that"
        )
    if answer.status == status:
        return PASSED
    return violated(
        f"error {code} must come with HTTP status {status}; the server sent status {answer.status}"
    )


def _refuses_versions_with_400(peer: Peer, run: Run) -> Outcome:
    params = {"_meta": {VERSION_KEY: "1999-01-01"}}
    answer = peer.request("server/discover", params, is_judged=False)
    return _judge_status(answer, UNSUPPORTED_VERSION, 400, "LIFE-18")


def _refuses_methods_with_404(peer: Peer, run: Run) -> Outcome:
    answer = peer.request(f"mcptest/unknown-{run.suffix}", is_judged=False)
    return _judge_status(answer, jsonrpc.METHOD_NOT_FOUND, 404, "BASE-18")


def _refuses_missing_meta_with_400(peer: Peer, run: Run) -> Outcome:
    for key, other in ((VERSION_KEY, "BASE-33"), (META_CAPABILITIES, "BASE-34")):
        peer.clear_evidence()
        meta = {name: value for name, value in peer.meta.items() if name != key}
        message = peer.message("server/discover", {"_meta": meta}, meta=False)
        answer = peer.request_or_silence(message, is_judged=False)
        outcome = _judge_status(answer, jsonrpc.INVALID_PARAMS, 400, other)
        if outcome != PASSED:
            return outcome
    return PASSED


# Arguments of tools in headers


class _Mirrored(Record):
    """A call of a tool whose argument is repeated in a header."""

    params: Message
    header: str
    value: str
    argument: str


def _require_mirrored(peer: Peer, run: Run) -> _Mirrored:
    """A call of a tool with an argument with `x-mcp-header`. UndecidedError if there is none."""
    for tool in run.callable_tools(peer):
        schema = tool.get("inputSchema")
        properties = schema.get("properties") if isinstance(schema, dict) else None
        for name, part in properties.items() if isinstance(properties, dict) else ():
            if not isinstance(part, dict) or "x-mcp-header" not in part:
                continue
            arguments = sample_arguments(schema).arguments
            if part.get("type") == "string" and not isinstance(arguments.get(name), str):
                arguments = {**arguments, name: "mcptest"}
            headers = param_headers({"properties": {name: part}}, arguments)
            for header, value in headers.items():
                params = {"name": tool["name"], "arguments": arguments}
                return _Mirrored(params=params, header=header, value=value, argument=name)
    reason = "no tool that may be called has an argument with x-mcp-header"
    raise UndecidedError(not_applicable(reason))


def _call_with(peer: Peer, call: _Mirrored, value: str | None) -> Answer:
    header = {call.header: value}
    return peer.request("tools/call", call.params, headers=header, is_judged=False)


def _compares_arguments(peer: Peer, run: Run) -> Outcome:
    call = _require_mirrored(peer, run)
    answer = _call_with(peer, call, f"{call.value}-other")
    return _judge_mismatch(answer, f"a header {call.header} that differs from the argument")


def _needs_argument_headers(peer: Peer, run: Run) -> Outcome:
    call = _require_mirrored(peer, run)
    answer = _call_with(peer, call, None)
    if answer.is_refused:
        return PASSED
    return violated(
        f"a call with the argument {call.argument} and without the header {call.header} must be "
        f"refused; the server answered with {answer.describe()}"
    )


def _needs_no_headers_of_absent_arguments(peer: Peer, run: Run) -> Outcome:
    call = _require_mirrored(peer, run)
    arguments = {k: v for k, v in call.params["arguments"].items() if k != call.argument}
    params, header = call.params | {"arguments": arguments}, {call.header: None}
    answer = peer.request("tools/call", params, headers=header, is_judged=False)
    if answer.code != HEADER_MISMATCH:
        return PASSED
    return violated(
        f"a call without the argument {call.argument} needs no header {call.header}; the server "
        f"answered with {answer.describe()}"
    )


def _refuses_bad_header_values(peer: Peer, run: Run) -> Outcome:
    call = _require_mirrored(peer, run)
    for value in ("=?base64?%%%?=", "\xfc\xf6\xe4"):
        peer.clear_evidence()
        answer = _call_with(peer, call, value)
        if not answer.is_refused:
            return violated(
                f"a header {call.header} that is not ASCII, or not valid Base64, must be refused; "
                f"the server answered with {answer.describe()}"
            )
    return PASSED


def _decodes_arguments(peer: Peer, run: Run) -> Outcome:
    call = _require_mirrored(peer, run)
    answer = _call_with(peer, call, _encode(call.value))
    if not answer.is_refused:
        return PASSED
    return violated(
        f"a header {call.header} with the argument in Base64 (=?base64?…?=) must be accepted; the "
        f"server answered with {answer.describe()}"
    )


# Sessions are gone


def _has_no_sessions(peer: Peer, run: Run) -> Outcome:
    peer = http_peer(peer)
    headers = {"Mcp-Session-Id": run.unknown_name("session"), "Last-Event-ID": "1"}
    answer = peer.request("server/discover", headers=headers, is_judged=False)
    if answer.result is None:
        return violated(
            "the headers Mcp-Session-Id and Last-Event-ID mean nothing in this revision and should "
            f"be ignored; the server answered with {answer.describe()}"
        )
    if answer.reply and answer.reply.header("mcp-session-id"):
        return violated("the server gives a session id, which this revision does not have")
    if run.offer(HANDSHAKE_REVISIONS[-1]).version:
        # GET and DELETE are for its clients of the other era.
        return PASSED
    for method in ("GET", "DELETE"):
        peer.clear_evidence()
        defaults = peer.default_headers(None) | {"Content-Type": None}
        reply = peer.exchange_head(method, defaults)
        if reply.status != 405:
            return violated(
                f"{method}, which this revision does not have, should get HTTP status 405; the "
                f"server answered with {reply.status or reply.error}"
            )
    return PASSED


_http_check = partial(Check, transport="http")
_handshake_check = partial(_http_check, since=_FIRST_STREAMABLE, until=_HANDSHAKE_END)


def _stateless_check(property: str, run: Probe, **more: Any) -> Check:
    return _http_check(property=property, run=run, since=FIRST_STATELESS, **more)


CHECKS = {
    "HTTP-01 single-endpoint": _handshake_check(
        property="GET and POST are served on one path",
        run=_has_one_endpoint,
        section="basic/transports#Streamable HTTP",
        stateless_section="basic/transports/streamable-http#Sending Messages",
    ),
    "HTTP-02 origin-validated": _http_check(
        property="a request with a foreign Origin is refused",
        run=refuses_foreign,
        explains=("AUTH-21",),
        section="basic/transports#Security Warning",
        stateless_section="basic/transports/streamable-http#Security & Endpoint",
    ),
    "HTTP-05 notification-202": _http_check(
        property="an accepted notification gets status 202 and no body",
        run=_accepts_notifications,
        since=_FIRST_STREAMABLE,
        section="basic/transports#Sending Messages to the Server",
        stateless_section="basic/transports/streamable-http#Sending Messages",
    ),
    "HTTP-06 notification-reject-status": _http_check(
        property="a message that cannot be accepted gets an HTTP error status",
        run=_refuses_bad_notifications,
        since=_FIRST_STREAMABLE,
        phase="malformed",
        section="basic/transports#Sending Messages to the Server",
        stateless_section="basic/transports/streamable-http#Sending Messages",
    ),
    "HTTP-07 get-sse-or-405": _handshake_check(
        property="GET gets an event stream or status 405",
        run=_answers_get,
        section="basic/transports#Listening for Messages from the Server",
    ),
    "HTTP-12 session-id-entropy": _handshake_check(
        property="session ids are unique, and not consecutive numbers",
        run=_gives_random_sessions,
        level="SHOULD",
        section="basic/transports#Session Management",
    ),
    "HTTP-13 session-terminated-404": _handshake_check(
        property="a request in a session that was ended gets status 404",
        run=_ends_sessions,
        phase="own",
        section="basic/transports#Session Management",
    ),
    "HTTP-14 session-unknown": _handshake_check(
        property="requests with an unknown session id, or without one, are refused",
        run=_refuses_unknown_sessions,
        level="SHOULD",
        section="basic/transports#Session Management",
    ),
    "HTTP-17 version-header-400": _http_check(
        property="an unknown version in the header gets status 400",
        run=_checks_the_version_header,
        since=_VERSION_HEADER_SINCE,
        until=_HANDSHAKE_END,
        section="basic/transports#Protocol Version Header",
    ),
    "HTTP-18 version-header-absent": _http_check(
        property="a request without the version header is served",
        run=_needs_no_version_header,
        since=_VERSION_HEADER_SINCE,
        until=_HANDSHAKE_END,
        level="SHOULD",
        section="basic/transports#Protocol Version Header",
    ),
    "HTTP-55 bind-localhost": _http_check(
        property="a local server listens on the loopback interface only",
        run=_listens_on_loopback,
        level="SHOULD",
        section="basic/transports#Security Warning",
        stateless_section="basic/transports/streamable-http#Security & Endpoint",
    ),
    "HTTP-56 old-sse-endpoint-event": _http_check(
        property="the first event of the older transport names the endpoint",
        run=_names_the_endpoint,
        until="2024-11-05",
        section="basic/transports#HTTP with SSE",
    ),
    "HTTP-26 header-version-mismatch": _stateless_check(
        "a version header that differs from _meta gets 400 and -32020",
        _compares_the_version,
        section="basic/transports/streamable-http#Protocol Version Header",
    ),
    "HTTP-27 header-version-missing": _stateless_check(
        "a request without the version header gets 400 and -32020",
        _needs_the_version,
        section="basic/transports/streamable-http#Protocol Version Header",
    ),
    "HTTP-28 mcp-method-missing": _stateless_check(
        "a request without Mcp-Method gets 400 and -32020",
        _compares_the_method(None, "a request without the header Mcp-Method"),
        section="basic/transports/streamable-http#Standard Request Headers",
    ),
    "HTTP-29 mcp-method-mismatch": _stateless_check(
        "another method in Mcp-Method gets 400 and -32020",
        _compares_the_method("tools/list", "a header Mcp-Method that differs from the method"),
        section="basic/transports/streamable-http#Server Validation",
    ),
    "HTTP-30 mcp-name-missing": _stateless_check(
        "a request that names something, without Mcp-Name, gets 400 and -32020",
        _needs_the_name,
        section="basic/transports/streamable-http#Standard Request Headers",
    ),
    "HTTP-31 mcp-name-mismatch": _stateless_check(
        "another name in Mcp-Name gets 400 and -32020",
        _compares_the_name,
        section="basic/transports/streamable-http#Server Validation",
    ),
    "HTTP-32 mcp-name-base64": _stateless_check(
        "Mcp-Name may be in Base64",
        _decodes_names,
        section="basic/transports/streamable-http#Value Encoding",
    ),
    "HTTP-33 header-name-case": _stateless_check(
        "the names of headers have no case",
        _ignores_case_of_names,
        section="basic/transports/streamable-http#Case Sensitivity",
    ),
    "HTTP-34 header-value-case": _stateless_check(
        "the value of Mcp-Method has its case",
        _compares_the_method(
            "SERVER/DISCOVER", "a header Mcp-Method in other case than the method"
        ),
        section="basic/transports/streamable-http#Case Sensitivity",
    ),
    "HTTP-35 unsupported-version-400": _stateless_check(
        "error -32022 comes with status 400",
        _refuses_versions_with_400,
        section="basic/transports/streamable-http#Protocol Version Header",
    ),
    "HTTP-36 unknown-method-404": _stateless_check(
        "error -32601 comes with status 404",
        _refuses_methods_with_404,
        section="basic/transports/streamable-http#Protocol Version Header",
    ),
    "HTTP-37 meta-missing-400": _stateless_check(
        "missing metadata is refused with status 400",
        _refuses_missing_meta_with_400,
        section="basic/transports/streamable-http#Standard Request Headers",
    ),
    "HTTP-42 param-header-mismatch": _stateless_check(
        "a header that differs from the argument gets 400 and -32020",
        _compares_arguments,
        section="basic/transports/streamable-http#Server Behavior for Custom Headers",
    ),
    "HTTP-43 param-header-missing": _stateless_check(
        "an argument without its header is refused",
        _needs_argument_headers,
        section="basic/transports/streamable-http#Server Behavior for Custom Headers",
    ),
    "HTTP-44 param-header-not-expected": _stateless_check(
        "an absent argument needs no header",
        _needs_no_headers_of_absent_arguments,
        section="basic/transports/streamable-http#Server Behavior for Custom Headers",
    ),
    "HTTP-45 param-header-invalid-chars": _stateless_check(
        "headers that are not ASCII or not Base64 are refused",
        _refuses_bad_header_values,
        section="basic/transports/streamable-http#Value Encoding",
    ),
    "HTTP-46 param-header-base64": _stateless_check(
        "the header of an argument may be in Base64",
        _decodes_arguments,
        section="basic/transports/streamable-http#Value Encoding",
    ),
    "HTTP-47 no-session-get-delete": _stateless_check(
        "there are no sessions, and GET and DELETE get 405",
        _has_no_sessions,
        level="SHOULD",
        section="basic/transports/streamable-http#Earlier Streamable HTTP Revisions",
    ),
}
