"""Try what a server offers, and turn what was seen into tests to be.

`attempt` is a function that is given: it sends one request and brings the answer, or a
sentence that says why there is none. Nothing that could do harm is tried; see
`mcptest.explore.caution`. Whoever cannot be tried becomes a test that is skipped, with the
reason.
"""

from __future__ import annotations

import re

from mcptest.core.jsonrpc import tool_failure
from mcptest.core.record import Record
from mcptest.core.text import shorten, visible
from mcptest.explore.caution import why_not_called
from mcptest.explore.offers import name_of
from mcptest.explore.samples import is_fit_to_write, sample_arguments, sample_text
from mcptest.explore.schema import required_of, resolved
from mcptest.explore.shapes import answer_shape, exactly

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from mcptest.explore.offers import Listing, Message

    Attempt = Callable[[str, dict[str, object]], Message | str]

__all__ = ["MOST", "Probe", "Surveyor"]

# Of each kind so many are tried; a file with more would be read by nobody.
MOST = {"tools": 100, "resources": 5, "resourceTemplates": 10, "prompts": 30}
_MOST_NAMES = 200

# After so many requests in a row that brought nothing, no more are sent.
_MOST_TROUBLES = 3

_REMARK_CHARS = 280


class Probe(Record):
    """One test to be: a request, and the shape of the answer that it got.

    `skip` is why the request was not sent, or what came of it instead of an answer.
    """

    name: str
    method: str
    params: dict[str, object]
    response: dict[str, object]
    remarks: tuple[str, ...] = ()
    skip: str = ""


class Surveyor:
    """Goes through the lists of one server. `notes` are for the person who asked for it.

    `unfinished` says why the last answer was not the end of its call; "" when it was.
    """

    def __init__(
        self, attempt: Attempt, capabilities: object, unfinished: Callable[[], str] = str
    ) -> None:
        self._attempt = attempt
        self._unfinished = unfinished
        self._troubles = 0
        self._completes = isinstance(capabilities, dict) and "completions" in capabilities
        self.notes: list[str] = []

    def survey(self, listings: Mapping[str, Listing]) -> list[Probe]:
        """Every test that there is to write, in the order of the file."""
        probes = [list_probe(listing) for listing in listings.values()]
        trials = {
            "tools": self._tool,
            "resources": self._resource,
            "resourceTemplates": self._template,
            "prompts": self._prompt,
        }
        for kind, trial in trials.items():
            if kind in listings:
                for offer in self._chosen(listings[kind]):
                    probes += trial(offer)
        return probes or [self._ping()]

    def _ping(self) -> Probe:
        remark = "The server offers nothing that could be listed, so this is all there is to test."
        return self._tried("answers a ping", "ping", {}, (remark,))

    def _chosen(self, listing: Listing) -> list[Message]:
        kind, most = listing.kind, MOST[listing.kind.name]
        fit = [offer for offer in listing.offers if is_fit_to_write(name_of(offer, kind))]
        odd = len(listing.offers) - len(fit)
        if odd:
            self.notes.append(f"{odd} {kind.noun}(s) left out: their names cannot be written down")
        if len(fit) > most:
            self.notes.append(f"the first {most} of {len(fit):,} {kind.noun}s are in the file")
        return fit[:most]

    # One trial each

    def _tool(self, tool: Message) -> Iterator[Probe]:
        name, schema = tool["name"], tool.get("inputSchema")
        arguments = sample_arguments(schema)
        params: dict[str, object] = {"name": name, "arguments": arguments}
        shown = _short(name)
        remarks = (f"tool {shown}: {_about(tool)}",)
        reason = why_not_called(tool)
        if reason:
            skip = f"not called: {reason}; take this line out to call it"
            yield Probe(
                name=f"calls {shown}",
                method="tools/call",
                params=params,
                response=_USUAL["tools/call"],
                remarks=remarks,
                skip=skip,
            )
            return
        probe = self._tried(f"calls {shown}", "tools/call", params, remarks)
        yield probe
        root = schema if isinstance(schema, dict) else {}
        required = [key for key in required_of(resolved(root, root)) if key in arguments]
        if required and not probe.skip:
            rest = {key: value for key, value in arguments.items() if key != required[0]}
            yield self._without(shown, required[0], {"name": name, "arguments": rest})

    def _without(self, shown: str, missing: str, params: dict[str, object]) -> Probe:
        """What comes of a call that lacks an argument which the schema requires."""
        probe = self._tried(f"refuses {shown} without {_short(missing)}", "tools/call", params, ())
        if probe.skip or _is_refusal(probe.response):
            return probe
        remark = f"The schema requires {_short(missing)}, and the call was answered without it."
        return probe.but(name=f"answers {shown} without {_short(missing)}", remarks=(remark,))

    def _resource(self, resource: Message) -> Iterator[Probe]:
        uri = resource["uri"]
        remarks = (f"resource {_short(uri)}: {_about(resource)}",)
        yield self._tried(f"reads {_short(uri)}", "resources/read", {"uri": uri}, remarks)

    def _template(self, template: Message) -> Iterator[Probe]:
        written = template["uriTemplate"]
        names = re.findall(r"\{[^}\w]?(\w+)[^}]*\}", written)
        ref = {"type": "ref/resource", "uri": written}
        completed = [self._completion(ref, name) for name in names]
        values = [value or sample_text(name) for value, name in zip(completed, names, strict=True)]
        uri = re.sub(r"\{[^}]*\}", lambda _: values.pop(0) if values else "", written)
        remarks = (f"resource template {_short(written)}: {_about(template)}",)
        name = f"reads {_short(uri)}"
        if not is_fit_to_write(uri):
            return
        probe = self._tried(name, "resources/read", {"uri": uri}, remarks)
        if not probe.skip and _is_refusal(probe.response):
            skip = "the server refuses this made-up address; put in a real one, and this line out"
            usual = _USUAL["resources/read"]
            probe = probe.but(name=name, response=usual, remarks=remarks, skip=skip)
        yield probe

    def _prompt(self, prompt: Message) -> Iterator[Probe]:
        name = prompt["name"]
        listed = prompt.get("arguments")
        wanted = [
            argument["name"]
            for argument in (listed if isinstance(listed, list) else [])
            if isinstance(argument, dict)
            and argument.get("required") is True
            and isinstance(argument.get("name"), str)
            and is_fit_to_write(argument["name"])
        ]
        ref = {"type": "ref/prompt", "name": name}
        arguments: dict[str, object] = {}
        for each in wanted:
            arguments[each] = self._completion(ref, each) or sample_text(each)
        remarks = (f"prompt {_short(name)}: {_about(prompt)}",)
        params: dict[str, object] = {"name": name, "arguments": arguments}
        yield self._tried(f"gets the prompt {_short(name)}", "prompts/get", params, remarks)

    def _completion(self, ref: dict[str, object], name: str) -> str:
        """The first value that the server itself proposes, or ""."""
        if not self._completes:
            return ""
        params: dict[str, object] = {"ref": ref, "argument": {"name": name, "value": ""}}
        answer = self._send("completion/complete", params)
        found: Any = answer.get("result") if isinstance(answer, dict) else None
        found = found.get("completion") if isinstance(found, dict) else None
        values = found.get("values") if isinstance(found, dict) else None
        first = values[0] if isinstance(values, list) and values else ""
        return first if isinstance(first, str) and is_fit_to_write(first) else ""

    def _tried(
        self, name: str, method: str, params: dict[str, object], remarks: tuple[str, ...]
    ) -> Probe:
        answer = self._send(method, params)
        usual = _USUAL.get(method, {"result": {}})
        probe = Probe(name=name, method=method, params=params, response=usual, remarks=remarks)
        if isinstance(answer, str):
            return probe.but(skip=visible(shorten(answer, 300)))
        why = self._unfinished()
        if why:
            return probe.but(skip=shorten(f"the call did not come to its end: {why}", 300))
        probe = probe.but(response=answer_shape(answer))
        result = answer.get("result")
        odd = tool_failure(result, "") if isinstance(result, dict) else ""
        if odd and method == "tools/call":
            probe = probe.but(remarks=(*remarks, f"The server breaks the protocol: {odd}."))
        if not _is_refusal(probe.response) or not remarks:
            return probe
        said = "With these made-up values the server answers with an error. Put in real ones."
        return probe.but(
            name=f"{name} with made-up values, and gets an error", remarks=(*probe.remarks, said)
        )

    def _send(self, method: str, params: dict[str, object]) -> Message | str:
        if self._troubles >= _MOST_TROUBLES:
            return f"not tried: {_MOST_TROUBLES} requests in a row had brought no answer"
        answer = self._attempt(method, params)
        self._troubles = self._troubles + 1 if isinstance(answer, str) else 0
        return answer


# What the answer to a request that was not sent usually looks like.
_USUAL: dict[str, dict[str, object]] = {
    "tools/call": {"result": {"match:partial": {"content": "match:type:array"}}},
    "resources/read": {"result": {"match:partial": {"contents": "match:type:array"}}},
    "prompts/get": {"result": {"match:partial": {"messages": "match:type:array"}}},
}


def list_probe(listing: Listing) -> Probe:
    """The test that a list begins with what it begins with now; more may follow."""
    kind = listing.kind
    names = listing.names[: min(listing.first, _MOST_NAMES)]
    result: dict[str, object] = {"match:partial": {kind.name: "match:type:array"}}
    if names and not listing.problem:
        wanted = [exactly(name) for name in names]
        path = f"{kind.name}.*.{kind.key}"
        result = {"match:extractField": path, "value": {"match:partial": wanted}}
    response: dict[str, object] = {"result": result}
    if listing.answers and "error" in listing.answers[0]:
        response = answer_shape(listing.answers[0])
    return Probe(name=f"lists its {kind.noun}s", method=kind.method, params={}, response=response)


def _is_refusal(response: dict[str, object]) -> bool:
    result = response.get("result")
    return "error" in response or (isinstance(result, dict) and bool(tool_failure(result)))


def _about(offer: Message) -> str:
    text = offer.get("description") or offer.get("title") or ""
    first = " ".join(str(text).split())
    return shorten(first, _REMARK_CHARS) or "(no description)"


def _short(name: str) -> str:
    return visible(shorten(name, 80))
