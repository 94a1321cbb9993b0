"""MCP Cases: a stream of YAML documents, each a named case of messages in and out.

Text goes in, a `Suite` of dialogues comes out, or a `FormatError` with every mistake in it.
"""

from __future__ import annotations

import posixpath
from contextlib import nullcontext
from itertools import islice

from mcptest.core.diagnostics import closest
from mcptest.core.errors import PatternTimeoutError
from mcptest.core.plan import Case, Expectation, Suite
from mcptest.core.strict_json import dump_json
from mcptest.core.text import trail_of
from mcptest.core.value_class import ABSENT, Record
from mcptest.formats.config import read_server
from mcptest.formats.fields import (
    FLAG,
    NON_EMPTY,
    ONLY,
    SKIP,
    STRING,
    STRINGS,
    TEST_TAGS,
    UNLISTED,
    Fields,
    Key,
    Keys,
    check_diagnostics,
    kind_of,
    one_of,
    read_only,
    read_skip,
    read_tags,
    strings_in,
)
from mcptest.formats.yaml.full import Tagged
from mcptest.formats.yaml.stream import read_stream
from mcptest.matching.case_tags import TAG_NAMES, TAGS, bound_name, has_blanks, make_value, read_tag
from mcptest.matching.compare import Group, source_of
from mcptest.matching.compiler import Compiler
from mcptest.matching.patterns import PREFIX, Pattern
from mcptest.matching.registry import CheckFlags, ParameterError
from mcptest.protocol.dialogue import Bind, Dialogue, Hook, Ref, Turn
from mcptest.protocol.jsonrpc import describe_id, id_key
from mcptest.protocol.revisions import REVISIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from typing import Any

    from mcptest.core.diagnostics import Diagnostic
    from mcptest.core.plan import ServerSpec
    from mcptest.formats.yaml.stream import Stream, StreamDocument
    from mcptest.matching.registry import Registry

    Steps = tuple[str | int, ...]
    # While entered, computing too long raises PatternTimeoutError.
    Bounded = AbstractContextManager[None]

__all__ = ["CASE", "EXTENSIONS", "is_ours", "is_turn", "load_cases"]


CASE = Key(STRING, "What this case shows.", "List tools")
_HOOK_KEYS = Keys(
    {
        "command": Key(NON_EMPTY, "The program; no shell is involved.", is_required=True),
        "arguments": Key(STRINGS, "Its arguments."),
    }
)
# The keys that mcptest adds to the format; other keys that begin with _ are left alone.
EXTENSIONS = Keys(
    {
        "_server": Key(
            "server",
            "How to start the server; only in the first document.",
            {"command": "python3", "args": ["server.py"]},
        ),
        "_protocol_version": Key(
            one_of(REVISIONS),
            "The revision of the protocol of all messages; only in the first document.",
        ),
        "_match": Key(
            one_of(("exact", "partial")), "exact: nothing may arrive that is not written."
        ),
        "_strict": Key(FLAG, "true: a message that is not expected fails the case."),
        "_patterns": Key(FLAG, "true: strings in out… that begin with match: are patterns."),
        "_before": Key(_HOOK_KEYS, "A command to run before the case."),
        "_after": Key(_HOOK_KEYS, "A command to run after the case."),
        "_tags": TEST_TAGS,
        "_skip": SKIP,
        "_only": ONLY,
        "_unlisted": UNLISTED,
        "_timeout": Key("duration", "Longest wait for each message of the server."),
        "_description": Key(STRING, "What documentation says about the case."),
        "_wire_id": Key(
            FLAG, "true: ids are sent as written, even if the session has used them before."
        ),
    }
)

# The keys that belong to the file, not to a case.
_FILE_KEYS = frozenset(["_server", "_protocol_version"])


def load_cases(
    text: str,
    file: str,
    registry: Registry,
    environment: Mapping[str, str],
    read_beside: Callable[[str], str] | None = None,
    *,
    for_mock: bool = False,
    bounded: Bounded | None = None,
) -> tuple[Suite, tuple[Diagnostic, ...]]:
    """Return the suite of a case file, and warnings about accepted mistakes.

    `bounded` limits how long a regular expression may compute. `for_mock` says that the
    messages of the server are to be sent as well: what no value can be made up for is a mistake
    then.
    """
    stream = read_stream(text, file, tags=TAG_NAMES, may_repeat=is_turn)
    compiler = Compiler(registry, read_beside)
    turns = _TurnReader(compiler, bounded or nullcontext(), for_mock=for_mock)
    loader = _Loader(stream, compiler, environment, turns)
    suite = loader.suite()
    return suite, check_diagnostics(stream, loader.diagnostics)


class _Loader:
    """Reads the documents of one file; every mistake is a diagnostic, and reading continues."""

    def __init__(
        self,
        stream: Stream,
        compiler: Compiler,
        environment: Mapping[str, str],
        turns: _TurnReader,
    ) -> None:
        self._stream = stream
        self._environment = environment
        self._turns = turns
        self.diagnostics = compiler.diagnostics
        self._server: ServerSpec | None = None
        self._protocol_version = ""

    def suite(self) -> Suite:
        cases: list[Case] = []
        for document in self._stream.documents:
            fields = Fields({}, (document.index,), self.diagnostics)
            if not isinstance(document.value, dict):
                message = f"a case must be a mapping and is {kind_of(document.value)}"
                fields.report("", "F005", message)
                continue
            fields = Fields(document.value, (document.index,), self.diagnostics)
            case = self._case(fields, document, len(cases) + 1)
            if case:
                cases.append(case)
        if not cases and not self.diagnostics:
            message = "there is no case in this file: it checks nothing"
            Fields({}, (), self.diagnostics).report("", "F011", message)
        return Suite(
            name=posixpath.basename(self._stream.file),
            file=self._stream.file,
            format="cases",
            cases=tuple(_with_sessions(cases)),
            server=self._server,
            protocol_version=self._protocol_version,
        )

    def _case(self, fields: Fields, document: StreamDocument, number: int) -> Case | None:
        """Return the case of a document; None if it only has keys that belong to the file."""
        written = fields.mapping
        self._refuse_unknown(fields)
        self._read_file_keys(fields, document)
        if _FILE_KEYS & written.keys() and all(key.startswith("_") for key in written):
            return None
        turns = self._turns.read(fields, document)
        if not any(is_turn(key) for key in written):
            message = "a case without messages checks nothing"
            fields.report("", "F011", message, 'write them under "in" and "out"')
        dialogue = Dialogue(
            turns=turns,
            is_exact=written.get("_match") == "exact",
            is_strict=fields.flag("_strict", False),
            keeps_ids=fields.flag("_wire_id", False),
            before=self._hook(fields, "_before"),
            after=self._hook(fields, "_after"),
            comment=document.comments.get("case", ""),
            description=fields.text("_description"),
        )
        return Case(
            name=fields.text("case") or f"case {number}",
            line=document.key_lines.get("case", document.line),
            dialogue=dialogue,
            timeout_s=fields.duration_s("_timeout"),
            skip=read_skip(fields, "_skip"),
            only=read_only(fields, "_only"),
            tags=read_tags(fields, "_tags"),
            is_unlisted=fields.flag("_unlisted", False),
        )

    def _refuse_unknown(self, fields: Fields) -> None:
        for key, value in fields.mapping.items():
            if key == "case" or is_turn(key) or key in EXTENSIONS:
                continue
            if not key.startswith("_"):
                # In `ot_log` only the beginning can be wrong.
                head, mark, rest = key.partition("_")
                begins = closest(head, ("in", "out")) if head else ""
                meant = closest(key, ("case", *EXTENSIONS))
                meant = meant or (f"{begins}{mark}{rest}" if begins else "")
                question = f'; did you mean "{meant}"?' if meant else ""
                help = "there are case, in…, out… and keys of your own that begin with _"
                fields.report(key, "F006", f'a case has no key "{key}"{question}', help)
            elif value is not None and (meant := closest(key, EXTENSIONS)):
                message = f'"{key}" is not known and is left alone; did you mean "{meant}"?'
                fields.report(key, "W001", message, severity="warning")

    def _read_file_keys(self, fields: Fields, document: StreamDocument) -> None:
        """Read the keys that belong to the whole file, and so in its first document."""
        for key, what in (("_server", "server"), ("_protocol_version", "revision")):
            if key in fields.mapping and document is not self._stream.documents[0]:
                message = f'"{key}" belongs in the first document: a file has one {what}'
                fields.report(key, "F014", message)
        if inner := fields.mapping_at("_server"):
            command = inner.mapping.get("command")
            name = posixpath.basename(command) if isinstance(command, str) else ""
            filled = {"name": name, "args": []} | inner.mapping
            server = read_server(Fields(filled, inner.steps, self.diagnostics), self._environment)
            self._server = server.but(is_named="name" in inner.mapping)
        if "_protocol_version" in fields.mapping:
            self._protocol_version = fields.choice("_protocol_version", REVISIONS, "")

    def _hook(self, fields: Fields, key: str) -> Hook | None:
        inner = fields.mapping_at(key)
        if inner is None:
            return None
        inner.check_keys(_HOOK_KEYS, f'"{key}"')
        command = (inner.non_empty_text("command"), *inner.texts("arguments"))
        return Hook(key=key, command=command)


def _with_sessions(cases: list[Case]) -> list[Case]:
    """Return the cases, each with whether the session is open when it begins.

    A file that initialises somewhere does so itself; all others leave it to the runner.
    """
    does_itself = any(True for case in cases for _ in _hellos(case))
    is_open = not does_itself
    hello: object = None
    found = []
    for case in cases:
        dialogue = case.dialogue
        assert dialogue is not None, "every case of this format has one"
        opens = bool(dialogue.turns) and _is_initialize(dialogue.turns[0])
        needs = is_open and not opens
        changed = dialogue.but(needs_session=needs, opens_session=opens, hello=hello)
        found.append(case.but(dialogue=changed))
        for params in _hellos(case):
            is_open, hello = True, params
    return found


def _hellos(case: Case) -> Iterator[object]:
    """Yield the params of every `initialize` that a case sends."""
    for turn in case.dialogue.turns if case.dialogue else ():
        if _is_initialize(turn) and isinstance(turn.value, dict):
            yield turn.value.get("params")


def _is_initialize(turn: Turn) -> bool:
    return is_ours(turn.key) and turn.method == "initialize"


# Turns: every message under a key that begins with `in` or `out`, in order
#
# Which request a message answers, and which names it may use, depends on the messages before it.

# The most mistakes of one kind, and names in one message.
_MAX_UNBOUND = 100
_MAX_LISTED = 20
_MAX_WEIGHED = 1000

_MEMBERS = ("method", "result", "error")
_ASKED_HELP = "bind the id of the question with !!bind, and write !!ref here"


def is_turn(key: str) -> bool:
    """True if a key of a case holds a message."""
    return key.startswith(("in", "out"))


def is_ours(key: str) -> bool:
    """True if the message under a key is the client's."""
    return key.startswith("in")


class _TurnReader:
    """Reads the turns of all cases in order; `bound` are the names bound so far."""

    def __init__(self, compiler: Compiler, bounded: Bounded, *, for_mock: bool) -> None:
        self._compiler = compiler
        self._bounded = bounded
        self._for_mock = for_mock
        self._bound: dict[str, None] = {}
        self._unbound = 0

    def read(self, fields: Fields, document: StreamDocument) -> tuple[Turn, ...]:
        """Return all messages of a case, in written order."""
        has_patterns = fields.flag("_patterns", False)
        is_exact = fields.choice("_match", ("exact", "partial"), "partial") == "exact"
        pairs = _Pairs(fields)
        for key, value in fields.mapping.items():
            if not is_turn(key) or not _is_message(fields, key, value):
                continue
            if is_ours(key):
                _warn_of_version(fields.at((key,)), value)
            if has_patterns == is_ours(key):
                _look_for_patterns(fields.at((key,)), value, is_ours(key))
            draft = self._draft(fields, key, value, has_patterns=has_patterns)
            if isinstance(draft.value, Group):
                _refuse_directive(fields.at((key,)), draft.value.source)
                continue
            pairs.add(
                Turn(
                    key=key,
                    is_ours=is_ours(key),
                    value=draft.value,
                    line=document.key_lines[key],
                    binds=draft.binds,
                    needs=tuple(dict.fromkeys(name for name, _ in draft.refs)),
                    comment=document.comments.get(key, ""),
                    expectation=None
                    if is_ours(key)
                    else Expectation(
                        response=draft.value,
                        leniency="" if is_exact else "objects",
                        **draft.flags,
                    ),
                )
            )
        return tuple(pairs.turns)

    def _draft(self, fields: Fields, key: str, value: object, *, has_patterns: bool) -> Draft:
        compiler = self._compiler if has_patterns and not is_ours(key) else None
        is_sent = is_ours(key) != self._for_mock
        draft = _MessageReader(fields, compiler, self._bounded, is_sent=is_sent).read(key, value)
        self._bound.update(dict.fromkeys(bind.name for bind in draft.binds))
        for name, steps in draft.refs:
            if name in self._bound:
                continue
            self._unbound += 1
            if self._unbound > _MAX_UNBOUND:
                break
            meant = closest(name, self._bound) if len(self._bound) < _MAX_WEIGHED else ""
            question = f"; did you mean {meant}?" if meant else ""
            there = ", ".join(islice(self._bound, _MAX_LISTED)) or "none"
            there += ", …" if len(self._bound) > _MAX_LISTED else ""
            message = f"nothing before this binds the name {name}{question}"
            help = f"bound so far with !!bind: {there}"
            fields.at((key, *steps)).report("", "F020", message, help, on_key=False)
        return draft


def _is_message(fields: Fields, key: str, value: object) -> bool:
    """True if the key holds a message; reported if it does not."""
    direction = "in" if is_ours(key) else "out"
    parts = value if isinstance(value, list) and direction == "in" else [value]
    if not parts:
        fields.report(key, "F008", f'"{key}" is an empty batch', on_key=False)
    for part in parts:
        if isinstance(part, dict) and any(member in part for member in _MEMBERS):
            continue
        seen = f"it is {kind_of(part)}"
        if isinstance(part, dict):
            seen = 'it has neither "method" nor "result" nor "error"'
        message = f'a key that begins with "{direction}" holds a message, and "{key}" does not'
        help = f"{seen}; keys of your own begin with _"
        fields.report(key, "F008", message, help)
        return False
    return bool(parts)


def _refuse_directive(here: Fields, message: Iterable[str]) -> None:
    """Report directives in place of the members that say which kind of message it is."""
    directive = next(name for name in message if name.startswith(PREFIX))
    said = f'"{directive}" cannot be beside the members of a message'
    here.report(directive, "F014", said, 'write it under "result", "error" or "params"')


def _look_for_patterns(here: Fields, value: object, is_sent: bool) -> None:
    """Report strings that look like patterns where patterns have no meaning."""
    for steps, text in strings_in(value):
        if text.startswith(PREFIX) and is_sent:
            message = "a pattern cannot be sent: it says what must come, not what to send"
            help = "write a value; a tag such as !!type string stands for one that is made up"
            here.at(steps).report("", "F014", message, help, on_key=False)
        elif text.startswith(PREFIX):
            message = "this text is compared as it is; it is a pattern only with _patterns: true"
            here.at(steps).report("", "W001", message, on_key=False, severity="warning")


def _warn_of_version(here: Fields, value: object) -> None:
    """Warn about sent messages without a version, which servers may refuse."""
    for message in value if isinstance(value, list) else (value,):
        if isinstance(message, dict) and message.get("jsonrpc") != "2.0":
            seen = "has another" if "jsonrpc" in message else "has no"
            sentence = f'this message {seen} "jsonrpc": "2.0", and is sent as it is'
            here.report("", "W001", sentence, severity="warning")


class _Waiting:
    """The requests of one side that have no answer yet, oldest first."""

    def __init__(self) -> None:
        self._indexes: dict[object, int] = {}

    def add(self, id: object, index: int) -> bool:
        """Add a request; return True if no other has its id."""
        key = _id_key(id)
        is_new = key not in self._indexes
        # A request whose id can be anything is stored by its place.
        self._indexes[key if is_new and key is not None else ("at", index, len(self._indexes))] = (
            index
        )
        return is_new or key is None

    def take(self, id: object) -> int | None:
        """Return the turn of the request with this id; the oldest if the id can be anything."""
        key = _id_key(id)
        if key is None:
            key = next(iter(self._indexes), None)
        return self._indexes.pop(key, None)


def _id_key(id: object) -> object:
    """Return the key to look up an id by; None if it can be anything."""
    if id is None or id is ABSENT:
        return None
    if has_blanks(id):
        # The name that it is bound to, or taken from.
        name = bound_name(id) or getattr(id, "name", "")
        return ("name", name) if name else None
    return id_key(id)


class _Pairs:
    """The turns of a case so far, and which requests in them have no answer yet."""

    def __init__(self, fields: Fields) -> None:
        self._fields = fields
        self.turns: list[Turn] = []
        # By side: the client's, and the server's.
        self._waiting = {True: _Waiting(), False: _Waiting()}

    def add(self, turn: Turn) -> None:
        if not turn.is_ours:
            self._refuse_impossible(turn)
        for message in turn.value if isinstance(turn.value, list) else (turn.value,):
            if not isinstance(message, dict):
                continue
            if "method" not in message:
                turn = turn.but(answers=self._find_request(turn, message.get("id", ABSENT)))
            elif "id" in message:
                id = message["id"]
                if not self._waiting[turn.is_ours].add(id, len(self.turns)):
                    again = f"{describe_id(source_of(id))} is used again before its first answer"
                    help = "give each request of a case an id of its own"
                    self._report(turn, "id", again, help)
        self.turns.append(turn)

    def _find_request(self, turn: Turn, id: object) -> int | None:
        """Return the turn of the request that this message answers."""
        waiting = self._waiting[not turn.is_ours]
        index = waiting.take(id)
        if index is None and bound_name(id):
            # A new name is bound to whatever the id is.
            index = waiting.take(ABSENT)
        if index is not None:
            return index
        if not turn.is_ours:
            is_open = _id_key(id) is None
            said = "that waits for an answer" if is_open else f"with {describe_id(source_of(id))}"
            message = f"no request {said} comes before this in the case"
            help = 'an answer carries the id of its request, and ids 1 and "1" differ'
            self._report(turn, "id", message, help)
        elif not has_blanks(id) and id is not None and id is not ABSENT:
            message = f"no request of the server with {describe_id(id)} comes before this"
            here = self._fields.at((turn.key, "id"))
            here.report("", "W001", message, _ASKED_HELP, on_key=False, severity="warning")
        return None

    def _refuse_impossible(self, turn: Turn) -> None:
        message: Any = turn.value
        version = message.get("jsonrpc", "2.0")
        if version != "2.0" and not has_blanks(version):
            sentence = f'every message has "jsonrpc": "2.0", not {dump_json(version)}'
            self._report(turn, "jsonrpc", sentence, 'write it in quotes: "2.0"')
        if "result" in message and "error" in message:
            self._report(turn, "error", "no answer has both a result and an error")

    def _report(self, turn: Turn, member: str, message: str, help: str = "") -> None:
        here = self._fields.at((turn.key, member))
        here.report("", "F017", message, help, on_key=False)


# Messages: a value with `Tagged` scalars is compiled into a `Draft`, with the names that it binds
# and refers to


class Draft(Record):
    """A compiled message. `refs` are names and their places; for `flags` see `CheckFlags`."""

    value: object
    binds: tuple[Bind, ...]
    refs: tuple[tuple[str, Steps], ...]
    flags: dict[str, Any]


class _MessageReader:
    """Reads the messages of one case.

    Without a compiler, `match:` has no meaning. With `is_sent`, the messages are to be sent, and
    a tag that no value can be made up for is a mistake.
    """

    def __init__(
        self, fields: Fields, compiler: Compiler | None, bounded: Bounded, *, is_sent: bool
    ) -> None:
        self._fields = fields
        self._compiler = compiler
        self._bounded = bounded
        self._is_sent = is_sent
        self._binds: list[Bind] = []
        self._refs: list[tuple[str, Steps]] = []
        self._flags = CheckFlags()

    def read(self, key: str, value: object) -> Draft:
        """Return the message under a key of the case."""
        compiled = self._compile(key, value, ())
        flags = self._flags.take()
        if self._compiler:
            compiled = self._compiler.compile(compiled, trail_of((*self._fields.steps, key)))
            flags |= self._compiler.flags.take()
        return Draft(value=compiled, binds=tuple(self._binds), refs=tuple(self._refs), flags=flags)

    def _compile(self, key: str, value: object, steps: Steps) -> object:
        if isinstance(value, dict):
            return {
                name: self._compile(key, inner, (*steps, name)) for name, inner in value.items()
            }
        if isinstance(value, list):
            return [self._compile(key, inner, (*steps, index)) for index, inner in enumerate(value)]
        return self._tag(key, value, steps) if isinstance(value, Tagged) else value

    def _tag(self, key: str, tagged: Tagged, steps: Steps) -> object:
        here = self._fields.at((key, *steps))
        try:
            read = read_tag(tagged.tag, tagged.text)
        except ParameterError as error:
            # The matchers of these are shared with other formats, whose examples look different.
            others = {"type": "!!type string", "ref": "!!ref session"}
            help = f"for example {others.get(tagged.tag) or TAGS[tagged.tag].example}"
            message = f"!!{tagged.tag} {error}"
            here.report("", error.code, message, help, on_key=False)
            return None
        if isinstance(read, Ref):
            if any(bind.name == read.name for bind in self._binds):
                return read.but(is_own=True)
            self._refs.append((read.name, steps))
        elif name := bound_name(read):
            self._binds.append(Bind(name=name, steps=steps))
        is_name = isinstance(read, Ref) or bound_name(read)
        if self._compiler and is_name and any(str(step).startswith(PREFIX) for step in steps):
            message = "!!bind and !!ref cannot be under a match: directive"
            here.report("", "F014", message, on_key=False)
        if isinstance(read, Pattern):
            self._flags.add(read.matcher)
            self._refuse_unsendable(read, steps, here)
        return read

    def _refuse_unsendable(self, pattern: Pattern, steps: Steps, here: Fields) -> None:
        if not self._is_sent:
            return
        try:
            with self._bounded if pattern.matcher.is_slow else nullcontext():
                make_value(pattern, str(steps[-1]) if steps else "")
        except (ValueError, PatternTimeoutError) as error:
            message = f"this message is to be sent, and {error}"
            here.report("", "F013", message, "write a value, or a simpler pattern", on_key=False)
