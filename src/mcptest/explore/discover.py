"""Try the features of a server, and turn what it answers into tests.

Requests are sent by a function that is passed in. Tools that may change something are never
called (see `reason_not_to_call`). What cannot be tried becomes a test that is skipped, with the
reason. Expected is the shape of an answer: what it says changes from call to call, and may not
belong into a file.
"""

from __future__ import annotations

import re
import unicodedata

from mcptest.core.record import Record
from mcptest.core.schema_walk import SchemaWalker, required_names
from mcptest.core.text import excerpt, is_visible, shorten, visible
from mcptest.explore.arguments import is_fit_to_write, sample_arguments, sample_string
from mcptest.explore.features import feature_name
from mcptest.formats.yaml.writer import Commented, render_yaml
from mcptest.matching.patterns import PREFIX
from mcptest.matching.values import json_type
from mcptest.protocol.jsonrpc import tool_failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from mcptest.explore.features import Listing, Message

    Params = dict[str, object]
    # Sends a request; the answer, or a sentence that says why there is none.
    Attempt = Callable[[str, Params], Message | str]

__all__ = [
    "MAX_TRIED",
    "Probe",
    "Surveyor",
    "answer_shape",
    "exactly",
    "hidden_env",
    "reason_not_to_call",
    "render_suite",
]


# How many features of each kind are tried.
MAX_TRIED = {"tools": 100, "resources": 5, "resourceTemplates": 10, "prompts": 30}
_MAX_LISTED_NAMES = 200

# After this many requests in a row without an answer, no more are sent.
_MAX_UNANSWERED = 3


class Probe(Record):
    """One test: a request, and the shape of the answer to it.

    `skip` says why the request was not sent, or what happened instead of an answer.
    """

    name: str
    method: str
    params: Params
    response: dict[str, object]
    remarks: tuple[str, ...] = ()
    skip: str = ""


class Surveyor:
    """Tries the features of one server. `notes` are for the user.

    `unfinished` says why the last answer did not complete its call; "" if it did.
    """

    def __init__(
        self, attempt: Attempt, capabilities: object, unfinished: Callable[[], str] = str
    ) -> None:
        self._attempt = attempt
        self._unfinished = unfinished
        self._unanswered = 0
        self._completes = isinstance(capabilities, dict) and "completions" in capabilities
        self.notes: list[str] = []

    def survey(self, listings: Mapping[str, Listing]) -> list[Probe]:
        """All tests, in the order of the file."""
        probes = [_list_probe(listing) for listing in listings.values()]
        trials = {
            "tools": self._try_tool,
            "resources": self._try_resource,
            "resourceTemplates": self._try_template,
            "prompts": self._try_prompt,
        }
        for kind, trial in trials.items():
            if kind in listings:
                for feature in self._chosen(listings[kind]):
                    probes += trial(feature)
        if probes:
            return probes
        remark = "The server lists no features, so this is all there is to test."
        return [self._probe("answers a ping", "ping", {}, (remark,))]

    def _chosen(self, listing: Listing) -> list[Message]:
        kind, most = listing.kind, MAX_TRIED[listing.kind.name]
        fit = [each for each in listing.features if is_fit_to_write(feature_name(each, kind))]
        odd = len(listing.features) - len(fit)
        if odd:
            self.notes.append(f"{odd} {kind.noun}(s) left out: their names cannot be written down")
        if len(fit) > most:
            self.notes.append(f"the first {most} of {len(fit):,} {kind.noun}s are in the file")
        return fit[:most]

    def _try_tool(self, tool: Message) -> Iterator[Probe]:
        name, schema = tool["name"], tool.get("inputSchema")
        arguments = sample_arguments(schema)
        params: Params = {"name": name, "arguments": arguments}
        shown = _short(name)
        remarks = (f"tool {shown}: {_summary(tool)}",)
        reason = reason_not_to_call(tool)
        if reason:
            yield Probe(
                name=f"calls {shown}",
                method="tools/call",
                params=params,
                response=_USUAL["tools/call"],
                remarks=remarks,
                skip=f"not called: {reason}; take this line out to call it",
            )
            return
        probe = self._probe(f"calls {shown}", "tools/call", params, remarks)
        yield probe
        required = required_names(SchemaWalker(schema).root().schema)
        missing = next((key for key in required if key in arguments), None)
        if missing is None or probe.skip:
            return
        rest = {key: value for key, value in arguments.items() if key != missing}
        without = f"{shown} without {_short(missing)}"
        params = {"name": name, "arguments": rest}
        probe = self._probe(f"refuses {without}", "tools/call", params, ())
        if not probe.skip and not _is_refusal(probe.response):
            remark = f"The schema requires {_short(missing)}, and the call was answered without it."
            probe = probe.but(name=f"answers {without}", remarks=(remark,))
        yield probe

    def _try_resource(self, resource: Message) -> Iterator[Probe]:
        uri = resource["uri"]
        remarks = (f"resource {_short(uri)}: {_summary(resource)}",)
        yield self._probe(f"reads {_short(uri)}", "resources/read", {"uri": uri}, remarks)

    def _try_template(self, template: Message) -> Iterator[Probe]:
        written = template["uriTemplate"]
        ref: Params = {"type": "ref/resource", "uri": written}
        names = re.findall(r"\{[^}\w]?(\w+)[^}]*\}", written)
        values = [self._completion(ref, name) or sample_string(name) for name in names]
        uri = re.sub(r"\{[^}]*\}", lambda _: values.pop(0) if values else "", written)
        if not is_fit_to_write(uri):
            return
        remarks = (f"resource template {_short(written)}: {_summary(template)}",)
        name = f"reads {_short(uri)}"
        probe = self._probe(name, "resources/read", {"uri": uri}, remarks)
        if not probe.skip and _is_refusal(probe.response):
            skip = "the server refuses this made-up address; put in a real one, and this line out"
            usual = _USUAL["resources/read"]
            probe = probe.but(name=name, response=usual, remarks=remarks, skip=skip)
        yield probe

    def _try_prompt(self, prompt: Message) -> Iterator[Probe]:
        name, listed = prompt["name"], prompt.get("arguments")
        ref: Params = {"type": "ref/prompt", "name": name}
        arguments: Params = {}
        for each in listed if isinstance(listed, list) else ():
            key = each.get("name") if isinstance(each, dict) and each.get("required") is True else 0
            if isinstance(key, str) and is_fit_to_write(key):
                arguments[key] = self._completion(ref, key) or sample_string(key)
        params: Params = {"name": name, "arguments": arguments}
        remarks = (f"prompt {_short(name)}: {_summary(prompt)}",)
        yield self._probe(f"gets the prompt {_short(name)}", "prompts/get", params, remarks)

    def _completion(self, ref: Params, name: str) -> str:
        """The first value that the server itself proposes, or ""."""
        if not self._completes:
            return ""
        params: Params = {"ref": ref, "argument": {"name": name, "value": ""}}
        found: Any = self._send("completion/complete", params)
        for key in ("result", "completion", "values"):
            found = found.get(key) if isinstance(found, dict) else None
        first = found[0] if isinstance(found, list) and found else ""
        return first if isinstance(first, str) and is_fit_to_write(first) else ""

    def _probe(self, name: str, method: str, params: Params, remarks: tuple[str, ...]) -> Probe:
        """Send a request, and make a test of what came of it."""
        answer = self._send(method, params)
        usual = _USUAL.get(method, {"result": {}})
        probe = Probe(name=name, method=method, params=params, response=usual, remarks=remarks)
        if isinstance(answer, str):
            return probe.but(skip=excerpt(answer, 300))
        why = self._unfinished()
        if why:
            return probe.but(skip=shorten(f"the call was not completed: {why}", 300))
        probe = probe.but(response=answer_shape(answer))
        result = answer.get("result")
        odd = tool_failure(result, "") if isinstance(result, dict) else ""
        if odd and method == "tools/call":
            probe = probe.but(remarks=(*remarks, f"The server breaks the protocol: {odd}."))
        if not _is_refusal(probe.response) or not remarks:
            return probe
        remark = "With these made-up values the server answers with an error. Put in real ones."
        return probe.but(
            name=f"{name} with made-up values, and gets an error", remarks=(*probe.remarks, remark)
        )

    def _send(self, method: str, params: Params) -> Message | str:
        if self._unanswered >= _MAX_UNANSWERED:
            return f"not tried: {_MAX_UNANSWERED} requests in a row had brought no answer"
        answer = self._attempt(method, params)
        self._unanswered = self._unanswered + 1 if isinstance(answer, str) else 0
        return answer


# What an answer usually looks like, for requests that were not sent.
_USUAL: dict[str, dict[str, object]] = {
    "tools/call": {"result": {"match:partial": {"content": "match:type:array"}}},
    "resources/read": {"result": {"match:partial": {"contents": "match:type:array"}}},
    "prompts/get": {"result": {"match:partial": {"messages": "match:type:array"}}},
}


def _list_probe(listing: Listing) -> Probe:
    """A list begins with what it begins with now; more may follow."""
    kind = listing.kind
    names = listing.names[: min(listing.first_page_count, _MAX_LISTED_NAMES)]
    result: dict[str, object] = {"match:partial": {kind.name: "match:type:array"}}
    if names and not listing.problem:
        path = f"{kind.name}.*.{kind.key}"
        result = {"match:extractField": path, "value": {"match:partial": [*map(exactly, names)]}}
    response: dict[str, object] = {"result": result}
    if listing.answers and "error" in listing.answers[0]:
        response = answer_shape(listing.answers[0])
    return Probe(name=f"lists its {kind.noun}s", method=kind.method, params={}, response=response)


def _is_refusal(response: dict[str, object]) -> bool:
    result = response.get("result")
    return "error" in response or (isinstance(result, dict) and bool(tool_failure(result)))


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
        if inner is not None and exactly(key) == key:
            is_deep = isinstance(inner, dict) and inner and depth < _MAX_DEPTH
            shape[key] = _structured_shape(inner, depth + 1) if is_deep else _type_pattern(inner)
    if not shape:
        return f"{PREFIX}type:object"
    # `match:partial` applies to everything inside it.
    return {f"{PREFIX}partial": shape} if depth == 0 else shape


def _object_shape(shape: dict[str, Any]) -> object:
    """An object with these members and no others, as far as its keys can be expected."""
    writable = {key: value for key, value in shape.items() if exactly(key) == key}
    if len(writable) == len(shape):
        return shape
    return {f"{PREFIX}partial": writable} if writable else f"{PREFIX}type:object"


def _type_pattern(value: object) -> Any:
    return f"{PREFIX}type:{json_type(value)}"


# Which tools must not be called
#
# The hints of the server count first, then the words it uses for the tool. In doubt a tool is
# not called: a missing test costs less than a deleted file.


def reason_not_to_call(tool: Message) -> str:
    """Why this tool must not be called just to see what it does; "" if it may be."""
    hints = tool.get("annotations")
    hints = hints if isinstance(hints, dict) else {}
    if hints.get("destructiveHint") is True:
        return "the server says that it is destructive"
    if hints.get("readOnlyHint") is True:
        return ""
    if hints.get("readOnlyHint") is False:
        return "the server says that it does more than read"
    if hints.get("openWorldHint") is True:
        return "the server says that it reaches the world outside, and not that it only reads"
    return _reason_in_words(tool, hints.get("title"))


def _reason_in_words(tool: Message, hint_title: object) -> str:
    name, description = str(tool.get("name")), tool.get("description")
    if not re.fullmatch(_SAFE_NAME, name):
        odd = f'its name, "{_short(name)}", has odd characters'
        return f"{odd}, and nothing says that it only reads"
    if verb := _verb_in_name(name):
        return f'its name says "{visible(verb)}", and the server does not say that it only reads'
    for title in (tool.get("title"), hint_title):
        if isinstance(title, str) and (verb := _verb_in_name(_plain_letters(title))):
            return f'its title says "{visible(verb)}", and nothing says that it only reads'
    if not isinstance(description, str):
        return ""
    if len(description) > _MAX_DESCRIPTION_CHARS:
        return "its description is too long to be read, and nothing says that it only reads"
    if verb := _verb_in_text(_plain_letters(description)):
        return f'its description says "{visible(verb)}", and nothing says that it only reads'
    return ""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Verbs that change something, as a word of a name.
_VERBS = _words(
    """
    abort alter append apply approve archive assign ban book burn buy cancel change charge chmod
    chown clean clear close commit copy create deactivate decline decrement del delete deploy
    destroy disable drop edit enable erase eval evict exec execute expire flush forget grant halt
    import increment insert install invite invoke kick kill launch lock login logout merge
    migrate mkdir mkfs modify move mutate mute mv notify overwrite patch pause pay post poweroff
    prune publish purchase purge push put reboot rebuild refund register reject remove rename
    replace reply reset restart restore revert revoke rm rmdir rollback rotate run save schedule
    sell send set shred shutdown sign spawn start stop store submit subscribe suspend sync
    terminate toggle transfer trash truncate tweet unban uninstall unlink unlock unpublish
    unregister unset unsubscribe update upgrade upload upsert wipe withdraw write
    """
)

# These may be nouns: after a verb that reads, they are.
_VERBS_OR_NOUNS = _words("block comment email empty format mail mark order resume swap trade vote")
_READING_VERBS = _words(
    """
    analyze calculate check compare convert count describe fetch find get has inspect is list
    lookup parse query read search show summarize validate view
    """
)

# In a sentence many verbs are nouns, or mean something else; these are the ones that count.
_VERBS_IN_TEXT = _words(
    """
    append ban cancel charge create delete deploy destroy disable drop edit erase execute flush
    insert install kick kill modify move overwrite patch pay post publish purchase purge push
    reboot remove rename replace reset restart restore revoke run send shutdown submit suspend
    terminate transfer truncate uninstall update upload wipe write
    """
)

# Inside any word these mean harm: "deletefile", "wiping", "irrevocably".
_STEMS = (
    r"delet|remov|destroy|destruct|(?<!s)wip(?:e|ing)|eras(?:e|ing|ure)|purg(?:e|ing)|overwrit"
    r"|uninstall|(?<!de)terminat|shutdown|flush|reboot|irrevers|irrevoc|revok|obliterat|nuk(?:e|ing)"
    r"|unlink|rmrf|rmtree|drop(?:table|database|collection|index|schema)|format(?:disk|drive)"
)
# A description may speak of a truncated answer, which is harmless; a name does not.
_STEMS_OF_NAMES = rf"{_STEMS}|truncat"
_FORMATS_A_DISK = (
    r"(?i)format(?:s|ting)?\s+(?:\w+\s+){0,3}(?:card|device|dis[ck]|drive|partition|storage|volume)"
)

# Verbs written together with their object, and endings that make nouns of them.
_GLUED = (
    "cancel|create|deploy|exec(?!ut)|execute|insert|install|kill|modify|publish|rename|replace"
    "|send|submit|transfer|update|upload|write"
)
_NOUN_ENDINGS = "d|r|s|rs|ed|er|ers|ing|ation|able|ment"
_GLUED_START = rf"(?:{_GLUED})(?!(?:{_NOUN_ENDINGS})s?$)[a-z]{{3,}}"
_GLUED_END = r"[a-z]{3,}(?:create|delete|execute|insert|modify|rename|send|update|upload|write)"

_NAME_WORD = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+"
_SAFE_NAME = r"[A-Za-z0-9_\-./]+"

# The first word of a sentence is its verb, unless it names an argument: "start: a date".
_OPENING = r"(?:\A|[.!?]\s)\W{0,9}(?:[A-Za-z]{1,20}ly\s{1,9})?([A-Za-z]+)(?!\s{0,9}[:(])\b"
_MAX_DESCRIPTION_CHARS = 20_000


def _plain_letters(text: str) -> str:
    """A text without invisible characters, and with plain letters instead of fancy ones."""
    if text.isascii():
        return text
    plain = "".join(char for char in text if is_visible(char) or char.isspace())
    return unicodedata.normalize("NFKC", plain)


def _verb_in_name(name: str) -> str:
    words: list[str] = re.findall(_NAME_WORD, name[:_MAX_DESCRIPTION_CHARS])
    # "add" alone adds numbers; before another word it adds to something.
    if len(words) > 1 and words[0].casefold() == "add":
        return words[0]
    reads = bool(words) and words[0].casefold() in _READING_VERBS
    for word in words:
        folded = word.casefold()
        if (
            folded in _VERBS
            or (folded in _VERBS_OR_NOUNS and not reads)
            or re.search(_STEMS_OF_NAMES, folded)
            or re.fullmatch(rf"{_GLUED_START}|{_GLUED_END}", folded)
        ):
            return word
    return ""


def _verb_in_text(text: str) -> str:
    found = re.search(_FORMATS_A_DISK, text)
    if found:
        return " ".join(found[0].split())
    for word in re.findall(_OPENING, text):
        if not (_VERBS | _VERBS_OR_NOUNS).isdisjoint(_base_forms(word, "ing")):
            return str(word)
    words: list[str] = re.findall(r"[A-Za-z]+", text)
    for word in words:
        if re.search(_STEMS, word.casefold()) or not _VERBS_IN_TEXT.isdisjoint(_base_forms(word)):
            return word
    return ""


def _base_forms(word: str, *endings: str) -> Iterator[str]:
    """What a word may be without its ending: "stopping" is "stop", "modifies" is "modify"."""
    folded = word.casefold()
    yield folded
    if folded.endswith("ies"):
        yield f"{folded[:-3]}y"
    for ending in ("s", "es"):
        yield folded.removesuffix(ending)
    for ending in endings:
        stem = folded.removesuffix(ending)
        yield from (stem, f"{stem}e")
        if stem[-1:] == stem[-2:-1]:
            yield stem[:-1]


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
_SECRET_NAME = r"(?i)token|secret|passw|key|credential|auth|cookie|session|dsn|private"


def render_suite(
    description: str, server: Mapping[str, object] | None, probes: Sequence[Probe]
) -> str:
    """The text of the file. Ids count from 1: each test has one of its own."""
    document: dict[str, object] = {"description": description}
    if server is not None:
        document["server"] = dict(server)
    document["tests"] = [_test(probe, id) for id, probe in enumerate(probes, 1)]
    return render_yaml(Commented(comments=(_HEAD,), value=document))


def _test(probe: Probe, id: int) -> object:
    request = {"jsonrpc": "2.0", "id": id, "method": probe.method, "params": probe.params}
    expected = {"response": {"jsonrpc": "2.0", "id": id, **probe.response}}
    test: dict[str, object] = {"it": probe.name}
    if probe.skip:
        test["skip"] = probe.skip
    test |= {"request": request, "expect": expected}
    return Commented(comments=probe.remarks, value=test)


def hidden_env(env: Mapping[str, object]) -> dict[str, object]:
    """The variables of a server, with those that look like secrets as references.

    A value that already is one, `${NAME}`, stays as it is: it says nothing.
    """
    return {
        name: f"${{{name}}}" if re.search(_SECRET_NAME, name) and "${" not in str(value) else value
        for name, value in env.items()
    }
