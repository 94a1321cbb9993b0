"""What a server asks of its client: sampling, roots, elicitation, input in several rounds.

The rules are SAMP, ROOT, ELIC and MRTR.
"""

from __future__ import annotations

from mcptest.core.text import render_path, shorten
from mcptest.protocol.jsonrpc import meta_of
from mcptest.protocol.revisions import META_CAPABILITIES, URL_ELICITATION_REQUIRED
from mcptest.rules.rule import (
    Latest,
    Rule,
    SessionCheck,
    collect,
    limit,
    members,
    must_be,
    objects,
    show,
    show_member,
)
from mcptest.rules.shapes import shape_faults
from mcptest.rules.shared import INPUT_METHODS, is_url

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from mcptest.rules.rule import Entry, EntryCheck, Facts, Findings, Members

__all__ = ["RULES", "declared_in", "is_declared"]

# What a server may ask for, and the capability of the client that allows it.
_CAPABILITIES = {
    "elicitation/create": "elicitation",
    "roots/list": "roots",
    "sampling/createMessage": "sampling",
}
_MAX_STEP = 40


class _ClientRequest:
    """One request to the client: a message of its own, or a part of a result.

    Up to 2025-11-25 a server sends requests. Since 2026-07-28 it asks inside a result that says
    `input_required`, or inside the state of a task. The rules judge both alike.

    `key` is its name among the input requests of a result, None for a request of the server's
    own. `capabilities` is what the client declared, None when that cannot be known.
    """

    __slots__ = ("capabilities", "key", "method", "params")

    def __init__(
        self, method: str, params: object, capabilities: Members | None, key: str | None = None
    ) -> None:
        self.method = method
        self.params = members(params)
        self.capabilities = capabilities
        self.key = key

    def at(self, *steps: str | int) -> str:
        """The path of a value of the params in the message."""
        if self.key is None:
            return _path("params", *steps)
        return _path("result", "inputRequests", self.key, "params", *steps)

    @property
    def place(self) -> str:
        """What asks, as a sentence can begin."""
        if self.key is None:
            return f"the server's request {self.method}"
        return f"{_path('result', 'inputRequests', self.key)} ({self.method})"


def _path(*steps: str | int) -> str:
    return render_path(
        shorten(step, _MAX_STEP) if isinstance(step, str) else step for step in steps
    )


_INPUT_RESULTS = tuple(f"result:{method}" for method in INPUT_METHODS)


def _topics_of(method: str) -> tuple[str, ...]:
    """The messages in which a server can send this request."""
    return (f"request:{method}", *_INPUT_RESULTS, "result:tasks/get")


def _for_each_request(
    method: str, judge: Callable[[_ClientRequest, Facts], Findings]
) -> EntryCheck:
    """The check of a rule that judges every request of one method."""

    def check(entry: Entry, facts: Facts) -> Findings:
        # Nearly every result asks for nothing, and many rules check.
        if entry.kind == "result" and "inputRequests" not in entry.result:
            return None
        return collect(
            judge(asked, facts) for asked in _requests_in(entry, facts) if asked.method == method
        )

    return check


def _requests_in(entry: Entry, facts: Facts) -> Iterator[_ClientRequest]:
    """Everything that a message of the server asks its client for."""
    if entry.kind == "request":
        yield _ClientRequest(entry.method, entry.params, facts.client_capabilities)
    elif facts.is_stateless:
        is_task = entry.method == "tasks/get"
        if not is_task and not _is_input_required(entry):
            return
        # A task was begun by an earlier request, and that one may have declared something else.
        capabilities = None if is_task else declared_in(entry.request)
        for key, value in members(entry.result.get("inputRequests")).items():
            if isinstance(value, dict) and isinstance(value.get("method"), str):
                yield _ClientRequest(value["method"], value.get("params"), capabilities, key)


def _is_input_required(entry: Entry) -> bool:
    return bool(entry.result.get("resultType") == "input_required")


def declared_in(request: object) -> Members:
    """The capabilities that a request without a handshake declared for itself."""
    return members(meta_of(request).get(META_CAPABILITIES))


def is_declared(capabilities: object, *names: str) -> bool:
    """True if a capability, or one inside it, was declared."""
    for name in names:
        capabilities = members(capabilities).get(name)
    return capabilities is not None


def _check_declared(asked: _ClientRequest, _: Facts) -> Findings:
    """None when it cannot be known what the client declared."""
    if asked.capabilities is None:
        return None
    capability = _CAPABILITIES[asked.method]
    if is_declared(asked.capabilities, capability):
        return ()
    return [f"{asked.place} needs the capability {capability}, which the client did not declare"]


# Sampling and roots

_SAMPLING = "sampling/createMessage"


def _check_tools_declared(asked: _ClientRequest, _: Facts) -> Findings:
    if asked.capabilities is None:
        return None
    used = [name for name in ("tools", "toolChoice") if asked.params.get(name) is not None]
    if not used or is_declared(asked.capabilities, "sampling", "tools"):
        return ()
    return [
        f"{asked.at(name)} needs the capability sampling.tools, which the client did not declare"
        for name in used
    ]


def _check_results_alone(asked: _ClientRequest, _: Facts) -> Findings:
    messages = asked.params.get("messages")
    mixed: list[str] = []
    has_results = False
    for index, message in enumerate(messages if isinstance(messages, list) else ()):
        content = members(message).get("content")
        types = [
            block.get("type")
            for block in objects(content if isinstance(content, list) else [content])
        ]
        if "tool_result" not in types:
            continue
        has_results = True
        other = [type for type in types if type != "tool_result"]
        if other:
            where = asked.at("messages", index, "content")
            mixed.append(f"{where} has a tool_result and beside it {show(other[0])}")
    return limit(mixed) if has_results else None


def _check_context(asked: _ClientRequest, facts: Facts) -> Findings:
    value = asked.params.get("includeContext", "none")
    if value == "none" or asked.capabilities is None or facts.oldest < "2025-11-25":
        return ()
    if is_declared(asked.capabilities, "sampling", "context"):
        return ()
    return [
        f"{asked.at('includeContext')} is {show(value)}, which needs the capability "
        "sampling.context, and the client did not declare it"
    ]


_NO_SAMPLING = "the server asked for no sampling"

_SAMPLING_RULES = {
    "SAMP-01 capability-gate": Rule(
        property="the server asks for sampling only when the client declared it",
        must_since="2025-06-18",
        topics=_topics_of(_SAMPLING),
        check=_for_each_request(_SAMPLING, _check_declared),
        covers=("BASE-37", "MRTR-04"),
        reason_if_unused=_NO_SAMPLING,
        section="client/sampling#Capabilities",
    ),
    "SAMP-02 tools-gate": Rule(
        property="the server offers tools in sampling only when the client declared sampling.tools",
        since="2025-11-25",
        topics=_topics_of(_SAMPLING),
        check=_for_each_request(_SAMPLING, _check_tools_declared),
        reason_if_unused=_NO_SAMPLING,
        reason_if_other_revision="no tools in sampling",
        section="client/sampling#Capabilities",
    ),
    "SAMP-03 request-shape": Rule(
        property="a request for sampling has messages with role and content, and an integer "
        "maxTokens",
        reason_if_unused=_NO_SAMPLING,
        section="client/sampling#Creating Messages",
    ),
    "SAMP-04 tool-result-only": Rule(
        property="a message with tool results holds nothing else",
        since="2025-11-25",
        topics=_topics_of(_SAMPLING),
        check=_for_each_request(_SAMPLING, _check_results_alone),
        reason_if_unused="the server sent no tool results in sampling",
        reason_if_other_revision="no tools in sampling",
        section="client/sampling#Tool Result Messages",
    ),
    "SAMP-06 context-values": Rule(
        property="from 2025-11-25 on includeContext is none unless the client declared "
        "sampling.context",
        level="SHOULD",
        topics=_topics_of(_SAMPLING),
        check=_for_each_request(_SAMPLING, _check_context),
        reason_if_unused=_NO_SAMPLING,
        section="client/sampling#Capabilities",
    ),
    "ROOT-01 capability-gate": Rule(
        property="the server asks for roots only when the client declared them",
        must_since="2025-06-18",
        topics=_topics_of("roots/list"),
        check=_for_each_request("roots/list", _check_declared),
        covers=("BASE-37", "MRTR-04"),
        reason_if_unused="the server asked for no roots",
        section="client/roots#Capabilities",
    ),
}


# Elicitation

_ELICITATION = "elicitation/create"
_NO_ELICITATION = "the server asked its client's user for nothing"

_PRIMITIVES = ("string", "number", "integer", "boolean")
_FORMATS = ("email", "uri", "date", "date-time")


def _check_mode(asked: _ClientRequest, _: Facts) -> Findings:
    """None when the client declared no elicitation at all, which ELIC-01 reports."""
    if asked.capabilities is None or not is_declared(asked.capabilities, "elicitation"):
        return None
    mode = asked.params.get("mode", "form")
    has_url = is_declared(asked.capabilities, "elicitation", "url")
    # An empty object means forms.
    has_form = is_declared(asked.capabilities, "elicitation", "form") or not has_url
    if has_url if mode == "url" else has_form:
        return ()
    return [f"{asked.place} is in the mode {mode}, which the client did not declare"]


# The form


def _check_form(asked: _ClientRequest, facts: Facts) -> Findings:
    # Before there were modes, every elicitation was a form.
    if facts.newest >= "2025-11-25" and asked.params.get("mode", "form") == "url":
        return None
    properties = members(members(asked.params.get("requestedSchema")).get("properties"))
    has_choices = facts.oldest >= "2025-11-25"
    return limit(
        f"{asked.at('requestedSchema', 'properties', name)} {problem}"
        for name, wanted in properties.items()
        if (problem := _describe_bad_property(wanted, has_choices=has_choices))
    )


def _describe_bad_property(wanted: Members, *, has_choices: bool) -> str:
    kind = wanted.get("type")
    if kind == "array" and has_choices:
        is_choice = _is_choice(members(wanted.get("items")))
        return "" if is_choice else "is an array of something else than choices"
    if kind not in _PRIMITIVES:
        found = show_member(wanted, "type")
        return f"must be of one of the types {', '.join(_PRIMITIVES)}; its type is {found}"
    if kind == "string" and "format" in wanted and wanted["format"] not in _FORMATS:
        return f"has the format {show(wanted['format'])}; there are {', '.join(_FORMATS)}"
    return ""


def _is_choice(items: Members) -> bool:
    """True if the items of an array are strings to choose from."""
    listed = items.get("enum")
    if isinstance(listed, list):
        return all(isinstance(each, str) for each in listed)
    titled = items.get("anyOf", items.get("oneOf"))
    return isinstance(titled, list) and all(
        isinstance(members(each).get("const"), str) for each in titled
    )


def _check_url(asked: _ClientRequest, _: Facts) -> Findings:
    if asked.params.get("mode") != "url":
        return None
    url = asked.params.get("url")
    if isinstance(url, str) and is_url(url):
        return ()
    return [f"{asked.at('url')} must be a URL and is {show_member(asked.params, 'url')}"]


def _needed_elicitations(entry: Entry) -> list[Any] | None:
    """What an error lists that says that a user must visit URLs first; None for other errors."""
    if entry.error_code != URL_ELICITATION_REQUIRED:
        return None
    listed = members(entry.error.get("data")).get("elicitations")
    return listed if isinstance(listed, list) else []


def _check_url_error(entry: Entry, _: Facts) -> Findings:
    listed = _needed_elicitations(entry)
    if listed is None:
        return None
    if not listed:
        return ["error.data.elicitations must list what is needed, and it lists nothing"]
    return limit(_url_error_faults(listed))


def _url_error_faults(listed: list[Any]) -> Iterator[str]:
    for index, each in enumerate(listed):
        where = f"error.data.elicitations[{index}]"
        if not isinstance(each, dict):
            yield must_be(where, "an object", each)
            continue
        if each.get("mode") != "url":
            yield f'{where}.mode must be "url" and is {show_member(each, "mode")}'
        for name in ("elicitationId", "url"):
            if not isinstance(each.get(name), str):
                yield f"{where}.{name} must be a string and is {show_member(each, name)}"


class _KnownElicitations(SessionCheck):
    def __init__(self) -> None:
        self._ids = Latest()

    def check(self, entry: Entry, facts: Facts) -> Findings:
        if entry.kind == "request":
            self._remember(entry.params)
        elif entry.kind == "error":
            for each in _needed_elicitations(entry) or ():
                self._remember(each)
        else:
            if faults := shape_faults(entry, facts, "ELIC-10"):
                return faults
            id = entry.params["elicitationId"]
            if id in self._ids:
                return ()
            if not self._ids.has_forgotten:
                return [
                    f"params.elicitationId is {show(id)}, and the server sent no elicitation "
                    "with it"
                ]
        return None

    def _remember(self, wanted: object) -> None:
        id = members(wanted).get("elicitationId")
        if isinstance(id, str):
            self._ids.add(id)


_ELICITATION_RULES = {
    "ELIC-01 capability-gate": Rule(
        property="the server asks for elicitation only when the client declared it",
        since="2025-06-18",
        topics=_topics_of(_ELICITATION),
        check=_for_each_request(_ELICITATION, _check_declared),
        covers=("BASE-37", "MRTR-04"),
        reason_if_unused=_NO_ELICITATION,
        reason_if_other_revision="no elicitation",
        section="client/elicitation#Capabilities",
    ),
    "ELIC-02 mode-gate": Rule(
        property="the server asks for elicitation only in modes that the client declared",
        since="2025-11-25",
        check=_for_each_request(_ELICITATION, _check_mode),
        covers=("MRTR-04",),
        reason_if_unused=_NO_ELICITATION,
        reason_if_other_revision="no modes of elicitation",
        section="client/elicitation#Capabilities",
    ),
    "ELIC-03 message-present": Rule(
        property="an elicitation has a message",
        since="2025-06-18",
        reason_if_unused=_NO_ELICITATION,
        reason_if_other_revision="no elicitation",
        section="client/elicitation#Protocol Messages",
    ),
    "ELIC-04 flat-schema": Rule(
        property="the schema of a form is a flat object of primitive properties",
        since="2025-06-18",
        check=_for_each_request(_ELICITATION, _check_form),
        reason_if_unused="the server asked for no form",
        reason_if_other_revision="no elicitation",
        section="client/elicitation#Requested Schema",
    ),
    "ELIC-05 url-params": Rule(
        property="an elicitation in the mode url has a valid URL, and in 2025-11-25 an id",
        since="2025-11-25",
        check=_for_each_request(_ELICITATION, _check_url),
        reason_if_unused="the server asked for no visit to a URL",
        reason_if_other_revision="no modes of elicitation",
        section="client/elicitation#URL Mode Elicitation Requests",
    ),
    "ELIC-09 error-32042-shape": Rule(
        property="the error -32042 lists at least one elicitation, each in the mode url with an id",
        since="2025-11-25",
        until="2025-11-25",
        topics=("error",),
        check=_check_url_error,
        reason_if_unused="no error has the code -32042",
        section="client/elicitation#URL Elicitation Required Error",
    ),
    "ELIC-10 complete-known-id": Rule(
        property="notifications/elicitation/complete names an elicitation that the server sent",
        since="2025-11-25",
        until="2025-11-25",
        topics=(
            f"request:{_ELICITATION}",
            "error",
            "notification:notifications/elicitation/complete",
        ),
        session_check=_KnownElicitations,
        reason_if_unused="the server reported no elicitation as complete",
        section="client/elicitation#Completion Notifications for URL Mode Elicitation",
    ),
}


# Requests in several rounds: a result may say that input is needed first


def _if_input_required(judge: Callable[[Entry, Facts], Findings]) -> EntryCheck:
    """The check of a rule that judges only results that require input."""

    def check(entry: Entry, facts: Facts) -> Findings:
        return judge(entry, facts) if _is_input_required(entry) else None

    return check


def _check_method(entry: Entry, _: Facts) -> Findings:
    if entry.request is None:
        return None
    if entry.method in INPUT_METHODS:
        return ()
    return [
        f'result.resultType is "input_required" in the answer to {show(entry.method)}; only '
        f"{', '.join(INPUT_METHODS)} may be answered so"
    ]


def _check_request_or_state(entry: Entry, _: Facts) -> Findings:
    if any(entry.result.get(name) is not None for name in ("inputRequests", "requestState")):
        return ()
    return ["the result requires input, and has neither inputRequests nor requestState"]


def _check_capabilities(entry: Entry, facts: Facts) -> Findings:
    return collect(
        check(asked, facts)
        for asked in _requests_in(entry, facts)
        if asked.method in _CAPABILITIES
        for check in (_check_declared, _check_mode)
        if check is _check_declared or asked.method == _ELICITATION
    )


_NO_ROUNDS = "no result says that input is required"
_NO_INPUT = "no results that require input"

RULES = {
    **_SAMPLING_RULES,
    **_ELICITATION_RULES,
    "MRTR-01 allowed-methods": Rule(
        property="only tools/call, prompts/get and resources/read are answered with input_required",
        since="2026-07-28",
        topics=("result",),
        check=_if_input_required(_check_method),
        reason_if_unused=_NO_ROUNDS,
        reason_if_other_revision=_NO_INPUT,
        section="basic/patterns/mrtr#Supported Requests",
    ),
    "MRTR-02 something-to-do": Rule(
        property="a result that requires input has inputRequests or requestState",
        since="2026-07-28",
        topics=_INPUT_RESULTS,
        check=_if_input_required(_check_request_or_state),
        reason_if_unused=_NO_ROUNDS,
        reason_if_other_revision=_NO_INPUT,
        section="basic/patterns/mrtr#Server Requirements (Basic Workflow)",
    ),
    "MRTR-03 request-kinds": Rule(
        property="each input request is an elicitation, a sampling or a wish for roots, with "
        "params and without id",
        since="2026-07-28",
        reason_if_unused="no result asks for input",
        reason_if_other_revision=_NO_INPUT,
        section="basic/patterns/mrtr#Server Requirements (Basic Workflow)",
    ),
    "MRTR-04 capability-gate": Rule(
        property="only input is asked for whose kind and mode the request declared",
        since="2026-07-28",
        topics=_INPUT_RESULTS,
        check=_if_input_required(_check_capabilities),
        reason_if_unused="no result asks for input",
        reason_if_other_revision=_NO_INPUT,
        section="basic/patterns/mrtr#Server Requirements (Basic Workflow)",
    ),
    "MRTR-05 state-opaque-string": Rule(
        property="requestState is a string",
        since="2026-07-28",
        reason_if_unused="no result has a requestState",
        reason_if_other_revision=_NO_INPUT,
        section="basic/patterns/mrtr#InputRequiredResult",
    ),
}
