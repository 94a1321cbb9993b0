"""A manifest: a file that lists tools, resources and prompts with canned answers.

    tools:
      - name: greet
        inputSchema: {type: object, properties: {who: {type: string}}, required: [who]}
        answer: "Hello ${args.who}"

Text goes in, a `Manifest` comes out, or a `FormatError` with every mistake in it. The
`ManifestPlayer` lists what it offers, and gives its answers.
"""

from __future__ import annotations

import base64
import binascii
import posixpath
import re
from io import StringIO

from mcptest import __version__
from mcptest.core.diagnostics import Diagnostic, closest, suggest
from mcptest.core.errors import FormatError
from mcptest.core.results import Mismatch
from mcptest.core.strict_json import dump_json
from mcptest.core.text import show_json, trail_of
from mcptest.core.value_class import ABSENT, Record
from mcptest.formats.fields import (
    Fields,
    check_diagnostics,
    fill_references,
    fill_strings,
    read_top,
    references,
    strings_in,
)
from mcptest.formats.yaml import NOT_JSON, read_document, read_json
from mcptest.matching.compare import compare
from mcptest.matching.compiler import Compiler
from mcptest.matching.json_values import pull
from mcptest.matching.matchers.objects import JSON_SCHEMA
from mcptest.mock.session import (
    ALWAYS_ALLOWED,
    BEFORE_HANDSHAKE,
    LISTS,
    CaseReport,
    Sent,
    Session,
    describe_unasked,
    discover_result,
    hide_secrets,
    initialize_result,
    problem,
)
from mcptest.protocol.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND, params_of, result_response
from mcptest.protocol.revisions import RESOURCE_NOT_FOUND

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any, Literal

    from mcptest.formats.yaml import Document
    from mcptest.matching.registry import Registry
    from mcptest.mock.session import Message, MockReport

    Check = Callable[[Mapping[str, object]], str]
    Body = dict[str, Any]
    Steps = tuple[str | int, ...]
    FileKind = Literal["cases", "manifest", "capture"]
    Kind = Literal["tool", "resource", "prompt"]

__all__ = [
    "ANSWER_KEYS",
    "ARGUMENT_KEYS",
    "CONTENT_KEYS",
    "MANIFEST_KEYS",
    "MESSAGE_KEYS",
    "PROMPT_KEYS",
    "RESOURCE_KEYS",
    "ROLES",
    "TOOL_KEYS",
    "Manifest",
    "ManifestPlayer",
    "kind_of_file",
    "load_manifest",
    "merge_manifests",
]


_SECTIONS = ("tools", "resources", "prompts")
MANIFEST_KEYS = ("name", "version", "instructions", *_SECTIONS)

# The members of list items, which are sent as they are written.
_ENTRY_KEYS = ("name", "title", "description", "icons", "_meta")
TOOL_KEYS = (*_ENTRY_KEYS, "inputSchema", "outputSchema", "annotations")
RESOURCE_KEYS = ("uri", *_ENTRY_KEYS, "mimeType", "size", "annotations")
PROMPT_KEYS = (*_ENTRY_KEYS, "arguments")
ARGUMENT_KEYS = ("name", "title", "description", "required")

# The keys of which an item has exactly one: its answer.
ANSWER_KEYS = ("answer", "result", "error")
CONTENT_KEYS = ("text", "blob", "json")
MESSAGE_KEYS = ("messages", "text")

ROLES = ("user", "assistant")


class Manifest(Record):
    """Everything that is offered; `kinds` are the sections, even if they are empty."""

    name: str
    version: str
    instructions: str
    kinds: tuple[str, ...]
    offers: tuple[_Offer, ...]


def load_manifest(
    text: str, file: str, registry: Registry
) -> tuple[Manifest, tuple[Diagnostic, ...]]:
    """The manifest in a file, and warnings. FormatError lists every mistake."""
    document = read_document(text, file)
    compiler = Compiler(registry)
    fields = read_top(document, "a manifest must be a mapping", compiler.diagnostics)
    fields.refuse_unknown(MANIFEST_KEYS, "a manifest")
    stem = posixpath.basename(file).partition(".")[0]
    manifest = Manifest(
        name=fields.text("name") or stem or "mock",
        version=fields.text("version"),
        instructions=fields.text("instructions"),
        kinds=tuple(section for section in _SECTIONS if section in fields.mapping),
        offers=tuple(_read_offers(fields, document, compiler)),
    )
    return manifest, check_diagnostics(document, compiler.diagnostics)


def merge_manifests(manifests: Sequence[Manifest]) -> Manifest:
    """One server with what all of them offer, named as in the first.

    FormatError if two offer the same.
    """
    offers: dict[tuple[str, str], _Offer] = {}
    mistakes = []
    for offer in (offer for manifest in manifests for offer in manifest.offers):
        other = offers.get((offer.kind, offer.name))
        if other:
            mistakes.append(
                Diagnostic(
                    code="F003",
                    file=offer.file,
                    line=offer.line,
                    column=1,
                    message=_describe_duplicate(offer),
                    help=f"the other is in {other.file}",
                )
            )
        offers[offer.kind, offer.name] = offer
    if mistakes:
        raise FormatError(mistakes)
    kinds = {kind: None for manifest in manifests for kind in manifest.kinds}
    return manifests[0].but(kinds=tuple(kinds), offers=tuple(offers.values()))


def _describe_duplicate(offer: _Offer) -> str:
    return f'there is a {offer.kind} "{offer.name}" already'


def _read_offers(fields: Fields, document: Document, compiler: Compiler) -> Iterator[_Offer]:
    readers = {"tools": _read_tool, "resources": _read_resource, "prompts": _read_prompt}
    for section, read in readers.items():
        seen: set[str] = set()
        for index, inner in fields.mappings_at(section, f"a {section[:-1]}"):
            line = document.item_line(fields.list_at(section), index)
            offer = read(_Item(inner, compiler, document.file, line))
            if offer.name in seen:
                inner.report("", "F003", _describe_duplicate(offer))
            seen.add(offer.name)
            yield offer


class _Item:
    """One item of a manifest: what reading tools, resources and prompts has in common."""

    def __init__(self, fields: Fields, compiler: Compiler, file: str, line: int) -> None:
        self.fields = fields
        self.compiler = compiler
        self._file = file
        self._line = line

    def read_name(self, kind: Kind, keys: Sequence[str], key: str) -> str:
        """Check the keys of the item; return its name, which is at `key`."""
        fields = self.fields
        fields.refuse_unknown(keys, f"a {kind}")
        fields.require((key,), f"a {kind}")
        for each in ("name", "uri", "title", "description", "mimeType"):
            fields.text(each)
        return fields.non_empty_text(key)

    def entry(self, keys: Iterable[str]) -> Body:
        """The members of the list item."""
        return {key: self.fields.mapping[key] for key in keys if key in self.fields.mapping}

    def offer(
        self, kind: Kind, name: str, entry: Body, answers: tuple[_CannedAnswer, ...], check: Check
    ) -> _Offer:
        """The offer, all of which must be JSON."""
        try:
            dump_json([entry, [[answer.body, answer.as_is] for answer in answers]])
        except (TypeError, ValueError):
            self.fields.report("", "F009", f"this {kind} holds a value that is not JSON")
        return _Offer(
            kind=kind,
            name=name,
            file=self._file,
            line=self._line,
            entry=entry,
            answers=answers,
            check=check,
        )


def _find_one_key(fields: Fields, keys: Sequence[str], what: str) -> str:
    """The one of these keys that is there; a diagnostic and "" if it is not exactly one."""
    given = [key for key in keys if key in fields.mapping]
    if len(given) == 1:
        return given[0]
    seen = " and ".join(given) or "none of them"
    message = f"{what} has one of the keys {', '.join(keys)}; here is {seen}"
    fields.report("", "F007", message)
    return ""


# `${args.…}`

_ARGS = r"\$\{args(?![A-Za-z0-9_])"
_REFERENCE = re.compile(rf"(?<!\$){_ARGS}[^\s{{}}]*\}}?")
_ESCAPED = re.compile(rf"\$({_ARGS})")

# The text ends, or another brace opens, before one closes.
_UNCLOSED = re.compile(rf"(?<!\$){_ARGS}(?:[^{{}}$]|\$(?!\{{))*(?:\$?\{{|\Z)")
_BEGINNING = re.compile(r"\$\{[^\s{}$]*")


def _read_references(fields: Fields, key: str, known: Sequence[str] | None) -> tuple[str, ...]:
    """The `${…}` at a key; a diagnostic about those that can never be filled in.

    `known` are the arguments that there are, None if there may be any.
    """
    found: dict[str, None] = {}
    value = fields.mapping.get(key)
    unclosed: set[Steps] = set()
    for steps, text in _find_in_strings(_UNCLOSED, value):
        unclosed.add(steps)
        beginning = _BEGINNING.match(text)
        assert beginning
        message = f"{beginning[0]} is not closed: there is no }} that ends it"
        help = "write it as ${args.NAME}"
        fields.at((key, *steps)).report("", "F009", message, help, on_key=False)
    for name, steps in references(value):
        if steps in unclosed:
            continue
        found[name] = None
        root, _, rest = name.partition(".")
        first = rest.partition(".")[0]
        here = fields.at((key, *steps))
        if root != "args" or (name != root and not first):
            message = f"${{{name}}} cannot be filled in; there is ${{args.NAME}}"
            help = f"the text itself is written $${{{name}}}"
            here.report("", "F009", message, help, on_key=False)
        elif first and known is not None and first not in known:
            question = suggest(first, known)
            help = f"there are: {', '.join(known) or 'none'}"
            message = f"there is no argument {first}{question}"
            here.report("", "F009", message, help, on_key=False)
    return tuple(found)


def _find_in_strings(pattern: re.Pattern[str], value: object) -> Iterator[tuple[Steps, str]]:
    """All matches in the strings of a value; a key counts as part of its mapping."""
    for steps, text in strings_in(value, with_keys=True):
        for found in pattern.finditer(text):
            yield steps, found[0]


# Tools


def _read_tool(item: _Item) -> _Offer:
    fields = item.fields
    name = item.read_name("tool", (*TOOL_KEYS, *ANSWER_KEYS, "answers"), "name")
    schema: Body | None = None
    known: list[str] | None = None
    if inner := fields.mapping_at("inputSchema"):
        schema = inner.mapping
        if schema.get("type") != "object":
            key = "type" if "type" in schema else ""
            message = "the schema of a tool's arguments has the type object"
            inner.report(key, "F009", message, 'write "type: object"', on_key=False)
        properties = schema.get("properties")
        if isinstance(properties, dict) and not schema.get("additionalProperties"):
            known = list(properties)
    fields.mapping_at("outputSchema")
    answers: tuple[_CannedAnswer, ...] = ()
    found = _find_one_key(fields, (*ANSWER_KEYS, "answers"), "a tool")
    if found == "answers":
        answers = tuple(_read_choice(item, known))
    elif found:
        answers = (_read_answer(fields, found, known),)
    check = _schema_check(fields, schema) if schema else _accept_all
    entry = item.entry(TOOL_KEYS) | {"inputSchema": schema or _imply_schema(answers)}
    return item.offer("tool", name, entry, answers, check)


def _accept_all(arguments: Mapping[str, object]) -> str:
    return ""


def _imply_schema(answers: Sequence[_CannedAnswer]) -> Body:
    """The schema of a tool without one: the arguments that its answers mention."""
    used = [answer.arguments for answer in answers]
    names = dict.fromkeys(name for each in used for name in each)
    for answer in answers:
        names |= dict.fromkeys(answer.when if isinstance(answer.when, dict) else ())
    required = [name for name in names if used and all(name in each for each in used)]
    schema: Body = {"type": "object"}
    if names:
        schema["properties"] = {name: {} for name in names}
    return schema | ({"required": required} if required else {})


def _schema_check(fields: Fields, schema: Body) -> Check:
    """A function that says how arguments are not valid by the schema."""
    matcher = JSON_SCHEMA
    try:
        compiled = matcher.parse("its inputSchema", lambda _: dump_json(schema))
    except (TypeError, ValueError) as error:
        fields.report("inputSchema", "F019", f"this tool {error}", on_key=False)
        return _accept_all

    def check(arguments: Mapping[str, object]) -> str:
        miss = matcher.check(compiled, arguments)
        return miss.why.replace("it is", "the arguments are", 1) if miss else ""

    return check


def _read_choice(item: _Item, known: Sequence[str] | None) -> Iterator[_CannedAnswer]:
    """The answers of a tool that has several, each for certain arguments."""
    if item.fields.mapping["answers"] == []:
        item.fields.report("answers", "F011", '"answers" is empty: nothing is ever answered')
    example = 'for example {when: {who: Bob}, answer: "Hello"}'
    inner = [each for _, each in item.fields.mappings_at("answers", "an answer", example)]
    for fields in inner:
        fields.refuse_unknown(("when", *ANSWER_KEYS), "an answer")
        found = _find_one_key(fields, ANSWER_KEYS, "an answer")
        answer = _read_answer(fields, found, known)
        when = fields.mapping_at("when")
        if when:
            compiled = item.compiler.compile(when.mapping, trail_of(when.steps))
            answer = answer.but(when=compiled)
        elif "when" not in fields.mapping and fields is not inner[-1]:
            message = 'an answer without "when" is always given, and those after it never are'
            fields.report("", "F011", message, "put it last")
        yield answer


def _read_answer(fields: Fields, key: str, known: Sequence[str] | None) -> _CannedAnswer:
    body: Body = {"result": {}}
    if key == "answer":
        body = {"result": {"content": [{"type": "text", "text": fields.text(key)}]}}
    elif key and (inner := fields.mapping_at(key)):
        body = {key: inner.mapping}
        if key == "error":
            inner.refuse_unknown(("code", "message", "data"), "an error")
            inner.require(("code", "message"), "an error")
            if "code" in inner.mapping:
                inner.whole_number("code", -(1 << 31), 1 << 31, 0)
            inner.text("message")
        else:
            inner.list_at("content")
            body = {key: {"content": []} | inner.mapping}
    return _CannedAnswer(body=body, as_is={}, names=_read_references(fields, key, known))


# Resources


def _read_resource(item: _Item) -> _Offer:
    fields = item.fields
    uri = item.read_name("resource", (*RESOURCE_KEYS, *CONTENT_KEYS), "uri")
    found = _find_one_key(fields, CONTENT_KEYS, "a resource")
    kind: Body = {"mimeType": "application/json"} if found == "json" else {}
    entry = {"uri": uri, "name": uri} | kind | item.entry(RESOURCE_KEYS)
    for steps, text in _find_in_strings(_REFERENCE, fields.mapping.get(found)):
        message = f"a resource is read without arguments, and {text} cannot be filled in"
        help = f"the text itself is written ${text}"
        fields.at((found, *steps)).report("", "F009", message, help, on_key=False)
    contents: Body = {key: entry[key] for key in ("uri", "mimeType") if key in entry}
    contents |= _read_contents(fields, found)
    answer = _CannedAnswer(body={"result": {}}, as_is={"contents": [contents]})
    return item.offer("resource", uri, entry, (answer,), _accept_all)


def _read_contents(fields: Fields, key: str) -> Body:
    if key == "json":
        try:
            text = dump_json(fields.mapping[key])
        except (TypeError, ValueError):
            fields.report(key, "F009", '"json" holds a value that is not JSON', on_key=False)
            return {}
        key = "text"
    else:
        text = fields.text(key) if key else ""
        if key == "blob":
            try:
                base64.b64decode(text, validate=True)
            except (binascii.Error, ValueError):
                fields.report(key, "F009", '"blob" must be base64', on_key=False)
    # Nothing is filled in here, so `$${args.name}` is the text itself.
    return {key: _ESCAPED.sub(r"\1", text)}


# Prompts


def _read_prompt(item: _Item) -> _Offer:
    fields = item.fields
    name = item.read_name("prompt", (*PROMPT_KEYS, *MESSAGE_KEYS), "name")
    found = _find_one_key(fields, MESSAGE_KEYS, "a prompt")
    required: dict[str, bool] = {}
    for _, inner in fields.mappings_at("arguments", "an argument", "for example {name: city}"):
        inner.refuse_unknown(ARGUMENT_KEYS, "an argument of a prompt")
        inner.require(("name",), "an argument of a prompt")
        required[inner.text("name")] = inner.flag("required", False)
    known = list(required) if "arguments" in fields.mapping else None
    answer = _CannedAnswer(
        body={"result": {"messages": list(_read_messages(fields, found))}},
        # The list has it too, where there are no arguments.
        as_is=item.entry(["description"]),
        names=_read_references(fields, found, known),
    )

    def check(given: Mapping[str, object]) -> str:
        missing = [name for name, is_needed in required.items() if is_needed and name not in given]
        return f"the argument {missing[0]} is missing" if missing else ""

    entry = item.entry(PROMPT_KEYS)
    if known is None and answer.arguments:
        entry["arguments"] = [{"name": each, "required": True} for each in answer.arguments]
    return item.offer("prompt", name, entry, (answer,), check)


def _read_messages(fields: Fields, key: str) -> Iterator[Body]:
    if key == "text":
        yield {"role": "user", "content": {"type": "text", "text": fields.text(key)}}
    if key != "messages":
        return
    example = "{role: user, content: Hello}"
    for _, inner in fields.mappings_at("messages", "a message", f"for example {example}"):
        inner.refuse_unknown(("role", "content"), "a message")
        inner.require(("role", "content"), "a message")
        content = inner.mapping.get("content")
        if isinstance(content, str):
            content = {"type": "text", "text": content}
        elif "content" in inner.mapping:
            inner.mapping_at("content")
        yield {"role": inner.choice("role", ROLES, "user"), "content": content}


# Playing a manifest

# The kind of offer that a method uses, and the member of the params that names it.
_USES = {
    "tools/call": ("tool", "name"),
    "resources/read": ("resource", "uri"),
    "prompts/get": ("prompt", "name"),
}

# From this revision on, arguments that are not valid are an error of the tool.
_TOOL_ERRORS_SINCE = "2025-11-25"


class ManifestPlayer:
    """A server that offers what a manifest lists; implements the `Player` interface."""

    def __init__(self, manifest: Manifest) -> None:
        self._manifest = manifest
        self._numbers: dict[tuple[str, str], int] = {
            (offer.kind, offer.name): number for number, offer in enumerate(manifest.offers)
        }
        self._capabilities: dict[str, object] = {kind: {} for kind in manifest.kinds}

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods of requests that can be answered."""
        families = self._manifest.kinds
        known = [method for method in (*LISTS, *_USES) if method.partition("/")[0] in families]
        return (*BEFORE_HANDSHAKE, *known)

    @property
    def revision(self) -> str:
        """The client chooses."""
        return ""

    @property
    def about(self) -> tuple[str, str, dict[str, object]]:
        """The name, the version and the capabilities of the server."""
        return self._manifest.name, self._manifest.version or __version__, self._capabilities

    def input_schema(self, tool: str) -> object:
        """The schema of a tool's arguments, None if there is no such tool."""
        number = self._numbers.get(("tool", tool))
        return None if number is None else self._manifest.offers[number].entry.get("inputSchema")

    def start(self) -> Session:
        """A session in which nothing was used."""
        return Session(len(self._manifest.offers))

    def skip_handshake(self, session: Session) -> list[Sent]:
        """Begin without a handshake, which makes no difference."""
        return []

    def report(self, session: Session) -> MockReport:
        """What the client did."""
        offers = zip(self._manifest.offers, session.used, strict=True)
        return session.report(
            CaseReport(place=offer.place(), is_exercised=bool(used)) for offer, used in offers
        )

    def request(self, session: Session, message: Message) -> list[Sent]:
        """Answer a request."""
        method, manifest = message["method"], self._manifest
        if method not in self.methods:
            question = suggest(method, self.methods)
            sentence = f"the manifest has nothing for {method}{question}"
            return [session.refuse(message, METHOD_NOT_FOUND, sentence)]
        if method in _USES:
            return [self._answer_call(session, message)]
        result: dict[str, object] = {}
        if method in LISTS:
            if params_of(message).get("cursor") is not None:
                sentence = "the list has one page, and no cursor"
                return [session.refuse(message, INVALID_PARAMS, sentence)]
            kind = LISTS[method].removesuffix("s")
            result = {LISTS[method]: [each.entry for each in manifest.offers if each.kind == kind]}
        elif method != "ping":
            if method == "initialize":
                result = initialize_result(*self.about, message.get("params"))
                session.revision = str(result["protocolVersion"])
            else:
                result = discover_result(*self.about)
            if manifest.instructions:
                result["instructions"] = manifest.instructions
        return [Sent(message=result_response(message["id"], result), method=method)]

    def notification(self, session: Session, message: Message) -> list[Sent]:
        """Blame a notification that a client has no reason to send."""
        if message["method"] not in ALWAYS_ALLOWED:
            session.blame(message, None, (problem("nothing is known of this notification"),))
        return []

    def response(self, session: Session, message: Message, violations: Sequence[str]) -> list[Sent]:
        """Blame an answer: a manifest never asks anything."""
        session.blame(message, None, (describe_unasked(message),))
        return []

    def _answer_call(self, session: Session, message: Message) -> Sent:
        """Answer a tool call, or a request for a resource or a prompt."""
        kind, member = _USES[message["method"]]
        name = params_of(message).get(member)
        number = self._numbers.get((kind, name)) if isinstance(name, str) else None
        if number is None:
            return self._refuse_unknown(session, message, kind, member, name)
        offer = self._manifest.offers[number]

        def refuse(sentence: str, found: Sequence[Mismatch] = ()) -> Sent:
            return session.refuse(message, INVALID_PARAMS, sentence, offer.place(), found)

        arguments = params_of(message).get("arguments") or {}
        if not isinstance(arguments, dict):
            return refuse("arguments must be an object")
        wrong = offer.check(arguments)
        redacted = hide_secrets(arguments)
        if wrong and redacted != arguments:
            # The sentence must not quote a secret.
            hidden = "the arguments are not valid: what is wrong is a hidden value"
            wrong = offer.check(redacted) or hidden
        if wrong:
            refused = refuse(wrong, (problem(wrong, "params.arguments"),))
            if offer.kind != "tool" or session.revision < _TOOL_ERRORS_SINCE:
                return refused
            # As the result of its tool, from which a model can learn.
            content = [{"type": "text", "text": refused.members["error"]["message"]}]
            result = {"content": content, "isError": True}
            return refused.but(message=result_response(message["id"], result))
        mismatches: list[tuple[Mismatch, ...]] = []
        for answer in offer.answers:
            found: tuple[Mismatch, ...] = ()
            if answer.when is not ABSENT:
                trail = ((None, "params"), "arguments")
                found = tuple(compare(answer.when, arguments, trail, leniency="objects"))
            if found:
                mismatches.append(found)
                continue
            try:
                body = answer.fill(arguments)
            except ValueError as error:
                return refuse(str(error), (problem(str(error), "params.arguments"),))
            session.used[number] = 1
            sent = {"jsonrpc": "2.0", "id": message["id"], **body}
            return Sent(message=sent, method=message["method"])
        sentence = f"no answer of the {offer.kind} fits these arguments"
        return refuse(sentence, min(mismatches, key=len, default=()))

    def _refuse_unknown(
        self, session: Session, message: Message, kind: str, member: str, name: object
    ) -> Sent:
        names = [other for each, other in self._numbers if each == kind]
        meant = closest(name, names) if isinstance(name, str) else ""
        place = self._manifest.offers[self._numbers[kind, meant]].place() if meant else None
        found = Mismatch(
            path=f"params.{member}",
            expected=meant or ABSENT,
            actual=name,
            message=f"there is no such {kind}",
        )
        sentence = f"there is no such {kind}: {show_json(name)}"
        is_old = kind == "resource" and isinstance(name, str) and session.era != "stateless"
        code = RESOURCE_NOT_FOUND if is_old else INVALID_PARAMS
        return session.refuse(message, code, sentence, place, (found,))


class _Offer(Record):
    """A tool, resource or prompt, and its answers. It counts as a case.

    `entry` is the item in the list of its kind; `check` says what is wrong with the arguments
    of a call, "" if nothing is.
    """

    kind: Kind
    name: str
    file: str
    line: int
    entry: dict[str, object]
    answers: tuple[_CannedAnswer, ...]
    check: Callable[[Mapping[str, object]], str]

    def place(self) -> dict[str, object]:
        """Where it is written, as errors and reports have it."""
        return {"case": f"{self.kind} {self.name}", "file": self.file, "line": self.line}


class _CannedAnswer(Record):
    """One answer: `body` has a result or an error, with `${args.…}` for arguments.

    `names` are the references in it, `as_is` are members without any. The answer is given if
    the arguments match `when`.
    """

    body: dict[str, Any]
    as_is: Mapping[str, object]
    names: tuple[str, ...] = ()
    when: object = ABSENT

    @property
    def arguments(self) -> tuple[str, ...]:
        """The arguments that it needs."""
        found = (name.split(".")[1] for name in self.names if "." in name)
        return tuple(dict.fromkeys(found))

    def fill(self, arguments: Mapping[str, object]) -> dict[str, object]:
        """The body with the arguments of a call; ValueError names a missing one."""
        values: dict[str, object] = {}
        for name in self.names:
            steps = tuple(name.split("."))[1:]
            values[name], _ = pull(arguments, steps)
            if values[name] is ABSENT:
                raise ValueError(f"the argument {'.'.join(steps)} is missing")
        ((outcome, members),) = self.body.items()
        put = {key: _fill_member(key, each, values) for key, each in members.items()}
        return {outcome: {**self.as_is, **put}}


def _fill_member(key: str, member: object, values: Mapping[str, object]) -> object:
    """Fill in a member of a result or an error; in content and messages values become text."""
    if key == "message":
        texts = fill_strings({"text": member}, values)
        assert isinstance(texts, dict)
        return texts["text"]
    if key == "content" and isinstance(member, list):
        return [fill_strings(item, values) for item in member]
    if key == "messages" and isinstance(member, list):
        return [
            each | {"content": fill_strings(each.get("content"), values)}
            if isinstance(each, dict)
            else each
            for each in member
        ]
    return fill_references(member, values)


# Manifests among the files of a mock

# A key at the top of a YAML document; found like this, mistakes elsewhere do not matter.
_TOP_KEY = re.compile(r"""^["']?([A-Za-z_][\w.-]*)["']?[ \t]*:(?:\s|$)""", re.MULTILINE)


def kind_of_file(text: str) -> FileKind:
    """What a file holds, by the keys at its top; "cases" if they do not tell."""
    text = text.removeprefix("\ufeff")
    value = read_json(text)
    if value is NOT_JSON:
        value = _read_braces(text)
    if isinstance(value, list):
        is_capture = any(isinstance(each, dict) and "exchanges" in each for each in value)
        return "capture" if is_capture else "cases"
    keys = [str(key) for key in value] if isinstance(value, dict) else _TOP_KEY.findall(text)
    if "exchanges" in keys:
        return "capture"
    has_turns = any(
        key == "case" or (key.startswith(("in", "out")) and key != "instructions") for key in keys
    )
    return "manifest" if not has_turns and any(key in _SECTIONS for key in keys) else "cases"


def _read_braces(text: str) -> object:
    """The value of a YAML document written in braces; NOT_JSON if it is not, or is broken."""
    first = ""
    for line in StringIO(text):
        content = line.strip()
        if content.startswith("---"):
            content = content[3:].lstrip()
        if content and not content.startswith(("#", "%")):
            first = content
            break
    if not first.startswith("{"):
        return NOT_JSON
    value = read_json(first)
    if value is not NOT_JSON:
        # Any number of such lines may follow, as in a log; reading all of it is not needed.
        return value
    try:
        return read_document(text, "").value
    except FormatError:
        return NOT_JSON
