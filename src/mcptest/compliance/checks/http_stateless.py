"""Checks of Streamable HTTP in the stateless era: headers that repeat the body, statuses.

What is sent with wrong headers is harmless if it is served all the same: lists, and reading what
the server lists. Tools are called only if they may be.
"""

from __future__ import annotations

import base64

from mcptest.compliance.check import PASSED, Check, not_applicable, violated
from mcptest.compliance.checks.http import http_peer
from mcptest.compliance.checks.prompts import argument_names
from mcptest.core.record import Record
from mcptest.explore.arguments import sample_arguments
from mcptest.protocol import jsonrpc
from mcptest.protocol.framing import encode_line
from mcptest.protocol.http_messages import param_headers
from mcptest.protocol.revisions import (
    HANDSHAKE_REVISIONS,
    HEADER_MISMATCH,
    NEWEST_STATELESS,
    UNSUPPORTED_VERSION,
    VERSION_KEY,
)
from mcptest.rules.rule import META_CAPABILITIES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from mcptest.compliance.check import Outcome, Probe
    from mcptest.compliance.peer import Answer, Peer
    from mcptest.compliance.run import Run

    Message = dict[str, Any]

__all__ = ["CHECKS"]


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


def _find_named(peer: Peer, run: Run) -> _Named | None:
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
    return None


def _if_named(judge: Callable[[Peer, Run, _Named], Outcome]) -> Probe:
    """Make a check that needs a request that names something."""

    def check(peer: Peer, run: Run) -> Outcome:
        if (named := _find_named(peer, run)) is None:
            return not_applicable(
                "the server has nothing that can be read or called without an effect"
            )
        return judge(peer, run, named)

    return check


@_if_named
def _needs_the_name(peer: Peer, run: Run, named: _Named) -> Outcome:
    header = {"Mcp-Name": None}
    answer = peer.request(named.method, named.params, headers=header, is_judged=False)
    return _judge_mismatch(answer, f"{named.method} without the header Mcp-Name")


@_if_named
def _compares_the_name(peer: Peer, run: Run, named: _Named) -> Outcome:
    other = {"Mcp-Name": run.unknown_name("name")}
    answer = peer.request(named.method, named.params, headers=other, is_judged=False)
    return _judge_mismatch(answer, f"{named.method} with another name in the header Mcp-Name")


def _encode(text: str) -> str:
    return f"=?base64?{base64.b64encode(text.encode()).decode('ascii')}?="


@_if_named
def _decodes_names(peer: Peer, run: Run, named: _Named) -> Outcome:
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
        peer.begin()
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


def _find_mirrored(peer: Peer, run: Run) -> _Mirrored | None:
    """A tool that may be called and has a string argument with `x-mcp-header`."""
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
    return None


def _if_mirrored(judge: Callable[[Peer, Run, _Mirrored], Outcome]) -> Probe:
    """Make a check that needs a call of a tool with such an argument."""

    def check(peer: Peer, run: Run) -> Outcome:
        if (call := _find_mirrored(peer, run)) is None:
            return not_applicable("no tool that may be called has an argument with x-mcp-header")
        return judge(peer, run, call)

    return check


def _call_with(peer: Peer, call: _Mirrored, value: str | None) -> Answer:
    header = {call.header: value}
    return peer.request("tools/call", call.params, headers=header, is_judged=False)


@_if_mirrored
def _compares_arguments(peer: Peer, run: Run, call: _Mirrored) -> Outcome:
    answer = _call_with(peer, call, f"{call.value}-other")
    return _judge_mismatch(answer, f"a header {call.header} that differs from the argument")


@_if_mirrored
def _needs_argument_headers(peer: Peer, run: Run, call: _Mirrored) -> Outcome:
    answer = _call_with(peer, call, None)
    if answer.is_refused:
        return PASSED
    return violated(
        f"a call with the argument {call.argument} and without the header {call.header} must be "
        f"refused; the server answered with {answer.describe()}"
    )


@_if_mirrored
def _needs_no_headers_of_absent_arguments(peer: Peer, run: Run, call: _Mirrored) -> Outcome:
    arguments = {k: v for k, v in call.params["arguments"].items() if k != call.argument}
    params, header = call.params | {"arguments": arguments}, {call.header: None}
    answer = peer.request("tools/call", params, headers=header, is_judged=False)
    if answer.code != HEADER_MISMATCH:
        return PASSED
    return violated(
        f"a call without the argument {call.argument} needs no header {call.header}; the server "
        f"answered with {answer.describe()}"
    )


@_if_mirrored
def _refuses_bad_header_values(peer: Peer, run: Run, call: _Mirrored) -> Outcome:
    for value in ("=?base64?%%%?=", "\xfc\xf6\xe4"):
        peer.begin()
        answer = _call_with(peer, call, value)
        if not answer.is_refused:
            return violated(
                f"a header {call.header} that is not ASCII, or not valid Base64, must be refused; "
                f"the server answered with {answer.describe()}"
            )
    return PASSED


@_if_mirrored
def _decodes_arguments(peer: Peer, run: Run, call: _Mirrored) -> Outcome:
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
        peer.begin()
        defaults = peer.default_headers(None) | {"Content-Type": None}
        reply = peer.exchange_head(method, defaults)
        if reply.status != 405:
            return violated(
                f"{method}, which this revision does not have, should get HTTP status 405; the "
                f"server answered with {reply.status or reply.error}"
            )
    return PASSED


def _check(property: str, run: Any, **more: Any) -> Check:
    return Check(property=property, run=run, since=NEWEST_STATELESS, transport="http", **more)


CHECKS = {
    "HTTP-26 header-version-mismatch": _check(
        "a version header that differs from _meta gets 400 and -32020", _compares_the_version
    ),
    "HTTP-27 header-version-missing": _check(
        "a request without the version header gets 400 and -32020", _needs_the_version
    ),
    "HTTP-28 mcp-method-missing": _check(
        "a request without Mcp-Method gets 400 and -32020",
        _compares_the_method(None, "a request without the header Mcp-Method"),
    ),
    "HTTP-29 mcp-method-mismatch": _check(
        "another method in Mcp-Method gets 400 and -32020",
        _compares_the_method("tools/list", "a header Mcp-Method that differs from the method"),
    ),
    "HTTP-30 mcp-name-missing": _check(
        "a request that names something, without Mcp-Name, gets 400 and -32020", _needs_the_name
    ),
    "HTTP-31 mcp-name-mismatch": _check(
        "another name in Mcp-Name gets 400 and -32020", _compares_the_name
    ),
    "HTTP-32 mcp-name-base64": _check("Mcp-Name may be in Base64", _decodes_names),
    "HTTP-33 header-name-case": _check("the names of headers have no case", _ignores_case_of_names),
    "HTTP-34 header-value-case": _check(
        "the value of Mcp-Method has its case",
        _compares_the_method(
            "SERVER/DISCOVER", "a header Mcp-Method in other case than the method"
        ),
    ),
    "HTTP-35 unsupported-version-400": _check(
        "error -32022 comes with status 400", _refuses_versions_with_400
    ),
    "HTTP-36 unknown-method-404": _check(
        "error -32601 comes with status 404", _refuses_methods_with_404
    ),
    "HTTP-37 meta-missing-400": _check(
        "missing metadata is refused with status 400", _refuses_missing_meta_with_400
    ),
    "HTTP-42 param-header-mismatch": _check(
        "a header that differs from the argument gets 400 and -32020", _compares_arguments
    ),
    "HTTP-43 param-header-missing": _check(
        "an argument without its header is refused", _needs_argument_headers
    ),
    "HTTP-44 param-header-not-expected": _check(
        "an absent argument needs no header", _needs_no_headers_of_absent_arguments
    ),
    "HTTP-45 param-header-invalid-chars": _check(
        "headers that are not ASCII or not Base64 are refused", _refuses_bad_header_values
    ),
    "HTTP-46 param-header-base64": _check(
        "the header of an argument may be in Base64", _decodes_arguments
    ),
    "HTTP-47 no-session-get-delete": _check(
        "there are no sessions, and GET and DELETE get 405", _has_no_sessions, level="SHOULD"
    ),
}
