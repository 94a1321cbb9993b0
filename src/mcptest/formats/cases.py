"""MCP Cases: a stream of YAML documents, each a named case of messages in and out.

Text goes in, a `Suite` of dialogues comes out, or a `FormatError` with every mistake in it.
"""

from __future__ import annotations

import posixpath
from contextlib import nullcontext

from mcptest.core.dialogue import Dialogue, Hook
from mcptest.core.errors import FormatError
from mcptest.core.plan import Case, Suite
from mcptest.core.suggest import closest
from mcptest.formats.case_turns import TurnReader, is_ours, is_turn
from mcptest.formats.conductor_config import read_server
from mcptest.formats.fields import Fields, diagnose, kind_of
from mcptest.formats.marks import read_only, read_skip, read_tags
from mcptest.formats.stream import read_stream
from mcptest.matching.expectation import Compiler
from mcptest.matching.tags import TAG_NAMES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from mcptest.core.diagnostics import Diagnostic
    from mcptest.core.dialogue import Turn
    from mcptest.core.plan import ServerSpec
    from mcptest.formats.case_messages import Bounded
    from mcptest.formats.stream import Stream, StreamDocument
    from mcptest.matching.registry import Registry

__all__ = ["EXTENSIONS", "load_cases"]

# The keys of ours; those that begin with _ and are not among them belong to others.
EXTENSIONS = (
    "_server",
    "_match",
    "_strict",
    "_patterns",
    "_before",
    "_after",
    "_tags",
    "_skip",
    "_only",
    "_timeout",
    "_description",
    "_wire_id",
)


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
    """The suite in a case file, and warnings about slips that were accepted.

    `bounded` limits how long a regular expression may compute. `for_mock` says that the
    messages of the server are to be sent as well: what no value can be made up for is a mistake
    then.
    """
    stream = read_stream(text, file, tags=TAG_NAMES, may_repeat=is_turn)
    compiler = Compiler(registry, read_beside)
    turns = TurnReader(compiler, bounded or nullcontext(), for_mock=for_mock)
    loader = _Loader(stream, compiler, environment, turns)
    suite = loader.suite()
    diagnostics = diagnose(stream, loader.complaints)
    if any(found.severity == "error" for found in diagnostics):
        raise FormatError(diagnostics)
    return suite, diagnostics


class _Loader:
    """Reads the documents of one file; every mistake is a complaint, and reading goes on."""

    def __init__(
        self,
        stream: Stream,
        compiler: Compiler,
        environment: Mapping[str, str],
        turns: TurnReader,
    ) -> None:
        self._stream = stream
        self._environment = environment
        self._turns = turns
        self.complaints = compiler.complaints
        self._server: ServerSpec | None = None

    def suite(self) -> Suite:
        cases: list[Case] = []
        for document in self._stream.documents:
            fields = Fields({}, (document.index,), self.complaints)
            if not isinstance(document.value, dict):
                message = f"a case must be a mapping and is {kind_of(document.value)}"
                fields.complain("", "F005", message)
                continue
            fields = Fields(document.value, (document.index,), self.complaints)
            case = self._case(fields, document, len(cases) + 1)
            if case:
                cases.append(case)
        if not cases and not self.complaints:
            message = "there is no case in this file: it checks nothing"
            Fields({}, (), self.complaints).complain("", "F011", message)
        return Suite(
            name=posixpath.basename(self._stream.file),
            file=self._stream.file,
            format="cases",
            cases=tuple(_with_sessions(cases)),
            server=self._server,
        )

    def _case(self, fields: Fields, document: StreamDocument, number: int) -> Case | None:
        """The case in a document; None when it only holds what belongs to the file."""
        written = fields.mapping
        self._refuse_unknown(fields)
        self._read_server(fields, document)
        if "_server" in written and all(key.startswith("_") for key in written):
            return None
        turns = self._turns.read(fields, document)
        if not any(is_turn(key) for key in written):
            message = "a case without messages checks nothing"
            fields.complain("", "F011", message, 'write them under "in" and "out"')
        return Case(
            name=fields.text("case") or f"case {number}",
            line=document.key_lines.get("case", document.line),
            dialogue=self._dialogue(fields, document, turns),
            timeout_s=fields.duration_s("_timeout"),
            skip=read_skip(fields, "_skip") if "_skip" in written else None,
            only=read_only(fields, "_only") if "_only" in written else False,
            tags=read_tags(fields, "_tags") if "_tags" in written else (),
        )

    def _dialogue(
        self, fields: Fields, document: StreamDocument, turns: tuple[Turn, ...]
    ) -> Dialogue:
        return Dialogue(
            turns=turns,
            is_exact=fields.mapping.get("_match") == "exact",
            is_strict=fields.flag("_strict", False),
            keeps_ids=fields.flag("_wire_id", False),
            before=self._hook(fields, "_before"),
            after=self._hook(fields, "_after"),
            comment=document.comments.get("case", ""),
            description=fields.text("_description"),
        )

    def _refuse_unknown(self, fields: Fields) -> None:
        for key, value in fields.mapping.items():
            if key == "case" or is_turn(key) or key in EXTENSIONS:
                continue
            if not key.startswith("_"):
                meant = _meant(key)
                question = f'; did you mean "{meant}"?' if meant else ""
                help = "there are case, in…, out… and keys of your own that begin with _"
                fields.complain(key, "F006", f'a case has no key "{key}"{question}', help)
            elif value is not None and (meant := closest(key, EXTENSIONS)):
                message = f'"{key}" is not known and is left alone; did you mean "{meant}"?'
                fields.complain(key, "W001", message, severity="warning")

    def _read_server(self, fields: Fields, document: StreamDocument) -> None:
        inner = fields.mapping_at("_server")
        if inner is None:
            return
        if document is not self._stream.documents[0]:
            message = '"_server" stands in the first document: a file has one server'
            fields.complain("_server", "F014", message)
            return
        command = inner.mapping.get("command")
        name = posixpath.basename(command) if isinstance(command, str) else ""
        filled = {"name": name, "args": []} | inner.mapping
        self._server = read_server(Fields(filled, inner.steps, self.complaints), self._environment)

    def _hook(self, fields: Fields, key: str) -> Hook | None:
        inner = fields.mapping_at(key)
        if inner is None:
            return None
        inner.refuse_unknown(("command", "arguments"), (), f'"{key}"')
        inner.require(("command",), f'"{key}"')
        command = inner.text("command")
        if inner.mapping.get("command") == "":
            inner.complain("command", "F009", '"command" is empty', on_key=False)
        return Hook(key=key, command=(command, *inner.texts("arguments")))


def _with_sessions(cases: list[Case]) -> list[Case]:
    """The cases, each knowing whether the session is open when it begins.

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
    """The params of every `initialize` that a case sends."""
    for turn in case.dialogue.turns if case.dialogue else ():
        if _is_initialize(turn) and isinstance(turn.value, dict):
            yield turn.value.get("params")


def _is_initialize(turn: Turn) -> bool:
    return is_ours(turn.key) and turn.method == "initialize"


def _meant(key: str) -> str:
    """The key that was probably meant; of `ot_log` only the beginning can be wrong."""
    head, mark, rest = key.partition("_")
    whole = closest(key, ("case", *EXTENSIONS))
    begins = closest(head, ("in", "out")) if head else ""
    return whole or (f"{begins}{mark}{rest}" if begins else "")
