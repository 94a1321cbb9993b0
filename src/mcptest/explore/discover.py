"""Try the features of a server, and turn what it answers into tests.

Requests are sent by a function that is passed in. Tools that may change something are never
called (see `explore.safe_tools`). What cannot be tried becomes a test that is skipped, with the
reason, and so does an answer of a server that is broken (see `explore.error_answers`). A test
expects the shape of an answer: what it says changes from call to call, and may be private.
"""

from __future__ import annotations

import re

from mcptest.core.project import schema_comment
from mcptest.core.schema_walk import SchemaWalker, required_names
from mcptest.core.text import excerpt, shorten
from mcptest.core.value_class import Record
from mcptest.explore.arguments import is_fit_to_write, sample_string
from mcptest.explore.error_answers import find_breakage, is_error_answer
from mcptest.explore.safe_tools import made_up_arguments, reason_not_to_call
from mcptest.formats.yaml.writer import Commented, render_yaml
from mcptest.matching.json_values import json_type
from mcptest.matching.patterns import PREFIX
from mcptest.matching.registry import DIRECTIVES
from mcptest.protocol.lists import feature_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from mcptest.protocol.lists import Listing, Message

    Params = dict[str, object]
    # Sends a request; the answer, or a sentence that says why there is none.
    Attempt = Callable[[str, Params], Message | str]

__all__ = [
    "MAX_TRIED",
    "Probe",
    "Surveyor",
    "answer_shape",
    "exactly",
    "render_suite",
]


# How many features of each kind are tried.
MAX_TRIED = {"tools": 100, "resources": 5, "resourceTemplates": 10, "prompts": 30}
_MAX_LISTED_NAMES = 200

# After this many requests in a row without an answer, no more are sent.
_MAX_UNANSWERED = 3


class Probe(Record):
    """One test: a request, and the shape of the answer to it.

    `skip` says why the request was not sent, or what happened instead of an answer. `problem` is
    what the server said if it seems to be broken, `is_untried` is true if there was no time.
    """

    name: str
    method: str
    params: Params
    response: dict[str, object]
    comments: tuple[str, ...] = ()
    skip: str = ""
    problem: str = ""
    is_untried: bool = False


class Surveyor:
    """Tries the features of one server. `notes` are for the user, `called` are names of tools.

    `unfinished` says why the last answer did not complete its call, "" if it did; `out_of_time`
    why no more requests may be sent, "" if they may. `caution` says why a tool must not be called,
    "" if it may. `announce` gets the names of the tools that are about to be called, and how many
    tools there are.
    """

    def __init__(
        self,
        attempt: Attempt,
        capabilities: object,
        unfinished: Callable[[], str] = str,
        *,
        out_of_time: Callable[[], str] = str,
        caution: Callable[[Message], str] = reason_not_to_call,
        announce: Callable[[list[str], int], None] = lambda names, count: None,
    ) -> None:
        self._attempt = attempt
        self._unfinished = unfinished
        self._out_of_time = out_of_time
        self._caution = caution
        self._announce = announce
        self._unanswered = 0
        self._ambiguous: set[str] = set()
        self._completes = isinstance(capabilities, dict) and "completions" in capabilities
        self.notes: list[str] = []
        self.called: list[str] = []

    def survey(self, listings: Mapping[str, Listing]) -> list[Probe]:
        """All tests, in the order of the file."""
        probes = [_make_list_probe(listing) for listing in listings.values()]
        trials = {
            "tools": self._try_tool,
            "resources": self._try_resource,
            "resourceTemplates": self._try_template,
            "prompts": self._try_prompt,
        }
        for kind, trial in trials.items():
            if kind in listings:
                chosen = self._choose_features(listings[kind])
                if kind == "tools" and chosen:
                    names = [each["name"] for each in chosen if not self._reason_not_to_call(each)]
                    self._announce(names, len(chosen))
                for feature in chosen:
                    probes += trial(feature)
        if all(probe.skip for probe in probes):
            # A file with nothing to run would not pass.
            nothing = "The server lists no features, so this is all there is to test."
            comment = "Everything else is skipped." if probes else nothing
            probes.append(self._probe("answers a ping", "ping", {}, (comment,)))
        return probes

    def _choose_features(self, listing: Listing) -> list[Message]:
        kind, most = listing.kind, MAX_TRIED[listing.kind.name]
        # A list that goes in a circle has everything twice.
        once: dict[str, Message] = {}
        for feature in listing.features:
            name = feature_name(feature, kind)
            if once.setdefault(name, feature) != feature:
                self._ambiguous.add(name)
        fit = [feature for name, feature in once.items() if is_fit_to_write(name)]
        odd = len(once) - len(fit)
        if odd:
            self.notes.append(f"{odd} {kind.noun}(s) left out: their names cannot be written down")
        if len(fit) > most:
            self.notes.append(f"the first {most} of {len(fit):,} {kind.noun}s are in the file")
        return fit[:most]

    def _reason_not_to_call(self, tool: Message) -> str:
        if tool["name"] in self._ambiguous:
            return "the server lists it more than once, and not always the same"
        return self._caution(tool)

    def _try_tool(self, tool: Message) -> Iterator[Probe]:
        name, schema = tool["name"], SchemaWalker(tool.get("inputSchema")).root().schema
        sample = made_up_arguments(tool)
        params: Params = {"name": name, "arguments": sample.arguments}
        shown = _short(name)
        comments = (f"tool {shown}: {_summary(tool)}",)
        if reason := self._reason_not_to_call(tool):
            yield Probe(
                name=f"calls {shown}",
                method="tools/call",
                params=params,
                response=_USUAL["tools/call"],
                comments=comments,
                skip=f"not called: {reason}; take this line out to call it",
            )
            return
        takes_some = schema.get("properties")
        promise = "" if takes_some else "it takes no arguments, so no value is to blame"
        probe = self._probe(f"calls {shown}", "tools/call", params, comments, promise=promise)
        if not probe.is_untried:
            self.called.append(name)
        yield probe
        can_lack = sample.arguments.keys() - sample.needed
        missing = next((key for key in required_names(schema) if key in can_lack), None)
        if missing is None or probe.skip:
            return
        rest = {key: value for key, value in sample.arguments.items() if key != missing}
        without = f"{shown} without {_short(missing)}"
        params = {"name": name, "arguments": rest}
        probe = self._probe(f"refuses {without}", "tools/call", params, (), missing=missing)
        if not probe.skip and not is_error_answer(probe.response):
            comment = (
                f"The schema requires {_short(missing)}, and the call was answered without it."
            )
            probe = probe.but(name=f"answers {without}", comments=(comment,))
        yield probe

    def _try_resource(self, resource: Message) -> Iterator[Probe]:
        uri = resource["uri"]
        comments = (f"resource {_short(uri)}: {_summary(resource)}",)
        name, params = f"reads {_short(uri)}", {"uri": uri}
        promise = "it lists this resource and cannot read it"
        yield self._probe(name, "resources/read", params, comments, promise=promise)

    def _try_template(self, template: Message) -> Iterator[Probe]:
        written = template["uriTemplate"]
        ref: Params = {"type": "ref/resource", "uri": written}
        names = re.findall(r"\{[^}\w]?(\w+)[^}]*\}", written)
        values = [self._ask_completion(ref, name) or sample_string(name) for name in names]
        uri = re.sub(r"\{[^}]*\}", lambda _: values.pop(0) if values else "", written)
        if not is_fit_to_write(uri):
            return
        comments = (f"resource template {_short(written)}: {_summary(template)}",)
        name = f"reads {_short(uri)}"
        probe = self._probe(name, "resources/read", {"uri": uri}, comments)
        if not probe.skip and is_error_answer(probe.response):
            skip = "the server refuses this made-up address; put in a real one, and this line out"
            usual = _USUAL["resources/read"]
            probe = probe.but(name=name, response=usual, comments=comments, skip=skip)
        yield probe

    def _try_prompt(self, prompt: Message) -> Iterator[Probe]:
        name, listed = prompt["name"], prompt.get("arguments")
        ref: Params = {"type": "ref/prompt", "name": name}
        arguments: Params = {}
        for each in listed if isinstance(listed, list) else ():
            if isinstance(each, dict) and each.get("required") is True:
                key = each.get("name")
                if isinstance(key, str) and is_fit_to_write(key):
                    arguments[key] = self._ask_completion(ref, key) or sample_string(key)
        params: Params = {"name": name, "arguments": arguments}
        comments = (f"prompt {_short(name)}: {_summary(prompt)}",)
        yield self._probe(f"gets the prompt {_short(name)}", "prompts/get", params, comments)

    def _ask_completion(self, ref: Params, name: str) -> str:
        """The first value that the server itself proposes, or ""."""
        if not self._completes:
            return ""
        params: Params = {"ref": ref, "argument": {"name": name, "value": ""}}
        found: Any = self._send("completion/complete", params)
        for key in ("result", "completion", "values"):
            found = found.get(key) if isinstance(found, dict) else None
        first = found[0] if isinstance(found, list) and found else ""
        return first if isinstance(first, str) and is_fit_to_write(first) else ""

    def _probe(
        self,
        name: str,
        method: str,
        params: Params,
        comments: tuple[str, ...],
        *,
        missing: str = "",
        promise: str = "",
    ) -> Probe:
        """Send a request, and make a test of what came of it.

        `missing` is the required argument that is left out; for `promise` see `find_breakage`.
        """
        usual = _USUAL.get(method, {"result": {}})
        probe = Probe(name=name, method=method, params=params, response=usual, comments=comments)
        answer = self._send(method, params)
        if isinstance(answer, str):
            return probe.but(skip=excerpt(answer, 300), is_untried=answer.startswith(_NOT_TRIED))
        why = self._unfinished()
        if why:
            return probe.but(skip=shorten(f"the call was not completed: {why}", 300))
        arguments = params.get("arguments", params)
        given = arguments if isinstance(arguments, dict) else {}
        if broken := find_breakage(answer, given, missing=missing, promise=promise):
            return probe.but(skip=broken.reason, problem=broken.said)
        probe = probe.but(response=answer_shape(answer))
        if not is_error_answer(probe.response) or missing:
            return probe
        comment = "With these made-up values the server answers with an error. Put in real ones."
        return probe.but(
            name=f"{name} with made-up values, and gets an error",
            comments=(*probe.comments, comment),
        )

    def _send(self, method: str, params: Params) -> Message | str:
        if late := self._out_of_time():
            return late
        if self._unanswered >= _MAX_UNANSWERED:
            return f"{_NOT_TRIED}: {_MAX_UNANSWERED} requests in a row had no answer"
        answer = self._attempt(method, params)
        self._unanswered = self._unanswered + 1 if isinstance(answer, str) else 0
        return answer


_NOT_TRIED = "not tried"

# What an answer usually looks like, for requests that were not sent.
_USUAL: dict[str, dict[str, object]] = {
    "tools/call": {"result": {"match:partial": {"content": "match:type:array"}}},
    "resources/read": {"result": {"match:partial": {"contents": "match:type:array"}}},
    "prompts/get": {"result": {"match:partial": {"messages": "match:type:array"}}},
}


def _make_list_probe(listing: Listing) -> Probe:
    """A list begins with what it begins with now; more may follow."""
    kind = listing.kind
    names = listing.names[: min(listing.first_page_count, _MAX_LISTED_NAMES)]
    result: dict[str, object] = {"match:partial": {kind.name: "match:type:array"}}
    if names and not listing.problem:
        path = f"{kind.name}.*.{kind.key}"
        result = {"match:extractField": path, "value": {"match:partial": [*map(exactly, names)]}}
    response: dict[str, object] = {"result": result}
    probe = Probe(name=f"lists its {kind.noun}s", method=kind.method, params={}, response=response)
    if not listing.answers or "error" not in listing.answers[0]:
        return probe
    if listing.is_unsupported:
        return probe.but(response=answer_shape(listing.answers[0]))
    promise = f"it declares {kind.noun}s and cannot list them"
    broken = find_breakage(listing.answers[0], {}, promise=promise)
    assert broken is not None, "an error for what the server declares is always one"
    return probe.but(skip=broken.reason, problem=broken.said)


def _summary(feature: Message) -> str:
    text = feature.get("description") or feature.get("title") or ""
    return shorten(" ".join(str(text).split()), 280) or "(no description)"


def _short(name: str) -> str:
    return excerpt(name, 80)


# The shape of an answer

# Members that say what a thing is, rather than what it contains.
_KEPT = frozenset(["type", "role", "mimeType", "uri", "isError"])
# The arrays in a result whose items are of the same kind.
_LISTS = frozenset(["content", "contents", "messages"])
_MAX_STRING_CHARS = 300
_MAX_ITEMS = 20
_MAX_MEMBERS = 50
_MAX_DEPTH = 3


def answer_shape(answer: Message) -> dict[str, object]:
    """What to expect of an answer like this one, without its envelope."""
    error, result = answer.get("error"), answer.get("result")
    if isinstance(error, dict):
        shape = {key: _type_pattern(value) for key, value in error.items()}
        if type(error.get("code")) is int:
            shape["code"] = error["code"]
        return {"error": _object_shape(shape)}
    if not isinstance(result, dict):
        return {"result": _type_pattern(result)}
    shape = {}
    for key, value in result.items():
        if key in _LISTS and isinstance(value, list) and value:
            shape[key] = _items_shape(value)
        elif key == "structuredContent" and isinstance(value, dict):
            shape[key] = _structured_shape(value, 0)
        else:
            shape[key] = _member_shape(key, value)
    return {"result": _object_shape(shape)}


def exactly(text: str) -> str:
    """An expectation of this very string, or of any string if it could not be written."""
    # It would be taken for a pattern or for a saved value, or is half a surrogate pair.
    is_special = text[: len(PREFIX)].lower() == PREFIX or "${" in text
    has_half_a_pair = any("\ud800" <= char <= "\udfff" for char in text)
    if is_special or has_half_a_pair or len(text) > _MAX_STRING_CHARS:
        return f"{PREFIX}type:string"
    return text


def _is_plain_key(key: str) -> bool:
    """True if a key can be expected as it is; the name of a directive would be refused."""
    is_directive = any(key == each.name and not key.islower() for each in DIRECTIVES)
    return exactly(key) == key and not is_directive


def _member_shape(key: str, value: object) -> Any:
    if key in _KEPT and isinstance(value, (str, bool)):
        return exactly(value) if isinstance(value, str) else value
    return _type_pattern(value)


def _items_shape(items: list[Any]) -> object:
    """One item, or different ones, by position; many alike, in any number."""
    shapes = [_item_shape(item) for item in items[:_MAX_ITEMS]]
    if len(items) == 1 or (len(items) <= _MAX_ITEMS and len({str(each) for each in shapes}) > 1):
        return shapes
    if any(shape != shapes[0] for shape in shapes) or not isinstance(shapes[0], dict):
        return f"{PREFIX}type:array"
    return {f"{PREFIX}arrayElements": shapes[0]}


def _item_shape(item: object) -> object:
    """A content block, a message or a resource."""
    if not isinstance(item, dict):
        return _type_pattern(item)
    shape: dict[str, object] = {}
    for key, value in item.items():
        is_inner = key in ("content", "resource") and isinstance(value, dict)
        shape[key] = _item_shape(value) if is_inner else _member_shape(key, value)
    return _object_shape(shape)


def _structured_shape(value: Message, depth: int) -> object:
    """The members of an object by type; what is null now may be something else tomorrow."""
    shape: dict[str, object] = {}
    for key, inner in list(value.items())[:_MAX_MEMBERS]:
        if inner is not None and _is_plain_key(key):
            is_deep = isinstance(inner, dict) and inner and depth < _MAX_DEPTH
            shape[key] = _structured_shape(inner, depth + 1) if is_deep else _type_pattern(inner)
    if not shape:
        return f"{PREFIX}type:object"
    # `match:partial` applies to everything inside it.
    return {f"{PREFIX}partial": shape} if depth == 0 else shape


def _object_shape(shape: dict[str, Any]) -> object:
    """An object with these members and no others, as far as its keys can be expected."""
    writable = {key: value for key, value in shape.items() if _is_plain_key(key)}
    if len(writable) == len(shape):
        return shape
    return {f"{PREFIX}partial": writable} if writable else f"{PREFIX}type:object"


def _type_pattern(value: object) -> Any:
    return f"{PREFIX}type:{json_type(value)}"


# The test file that a survey comes to: YAML with comments, whole and valid.
#
# Probes and a description of the server go in, the text of a `*.test.mcp.yml` comes out. Requests
# are written in full, so that other tools which read the format can run the file as well.


_HEAD = (
    "Written by mcptest discover. Whatever is not skipped passed when it was written, so from\n"
    "here on this file says when the server changes. Values are expected by their type only:\n"
    "put in the ones that matter. A skipped test says why; take its skip line out to run it.\n"
    "Tools that read this format and do not know skip would run those tests too."
)


def render_suite(
    description: str, server: Mapping[str, object] | None, probes: Sequence[Probe]
) -> str:
    """The text of the file. Ids count from 1: each test has one of its own."""
    document: dict[str, object] = {"description": description}
    if server is not None:
        document["server"] = dict(server)
    document["tests"] = [_render_test(probe, id) for id, probe in enumerate(probes, 1)]
    text = render_yaml(Commented(comments=(_HEAD,), value=document))
    return schema_comment("conductor") + text


def _render_test(probe: Probe, id: int) -> object:
    request = {"jsonrpc": "2.0", "id": id, "method": probe.method, "params": probe.params}
    expected = {"response": {"jsonrpc": "2.0", "id": id, **probe.response}}
    test: dict[str, object] = {"it": probe.name}
    if probe.skip:
        test["skip"] = probe.skip
    test |= {"request": request, "expect": expected}
    return Commented(comments=probe.comments, value=test)
