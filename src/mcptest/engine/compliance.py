"""The lane `compliance` of suites: one check of a server's conformance per case.

The requests of a check are traffic like any other: captures contain them, and rules see them. What
the server does wrong is a mismatch. A server that cannot be asked raises `ServerError`, so that a
check which could not be made never passes.
"""

from __future__ import annotations

import time
from functools import partial
from itertools import chain, count, islice
from weakref import ref

from mcptest.core.coverage import KINDS
from mcptest.core.errors import EndedError, PatternTimeoutError
from mcptest.core.plan import Expectation, Step
from mcptest.core.record import ABSENT, Record
from mcptest.core.results import CaseResult, Mismatch, merge_sessions
from mcptest.core.strict_json import dump_json
from mcptest.core.text import parse_path, plural, render_path, visible
from mcptest.engine.judge import MAX_MISMATCHES, find_read_failure
from mcptest.engine.pool import read_tools
from mcptest.matching.matcher import BadSchemaError
from mcptest.matching.matchers.objects import JSON_SCHEMA, declared_schema
from mcptest.matching.values import pull
from mcptest.protocol import jsonrpc
from mcptest.protocol.framing import encode_line
from mcptest.protocol.jsonrpc import tool_failure
from mcptest.protocol.lists import ListPages
from mcptest.protocol.revisions import VERSION_KEY
from mcptest.protocol.session import INITIALIZE_ID
from mcptest.rules.captures import score_capture
from mcptest.rules.families import RULES
from mcptest.rules.schemas import is_affordable, is_plainly_valid
from mcptest.rules.shapes import check_shape
from mcptest.transport.process.isolated import judge_in_child

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any
    from weakref import ReferenceType

    from mcptest.core.coverage import Kind
    from mcptest.core.plan import Case, ServerSpec
    from mcptest.core.results import SessionScore, Verdict
    from mcptest.engine.pool import ServerPool
    from mcptest.engine.server import Launcher, Reply, Server
    from mcptest.protocol.lists import ListProblem

    # Method, params, time limit in seconds → the whole answer.
    Ask = Callable[[str, object, float], dict[str, Any]]

__all__ = ["MAX_PAGES", "ListReader", "Outputs", "comply"]


_ENDED = "the session before was ended to be judged"

# Rules that apply only to an opened session: with a handshake, and without one.
_OF_OPENED = frozenset(["INV-002", "BASE-21"])
_PROPERTIES = {rule.id: rule.property for rule in RULES}

# The types in messages about shapes, as patterns.
_PATTERNS = {
    "a string": "match:type:string",
    "an object": "match:type:object",
    "a boolean": "match:type:boolean",
    "an array": "match:type:array",
}

# Each request of a session needs an id of its own.
_numbers = count(1)


class _Found(Record):
    """The outcome of a check. `nothing` says why there was nothing to check."""

    mismatches: tuple[Mismatch, ...] = ()
    notes: tuple[str, ...] = ()
    sent: str = ""
    actual: object = ABSENT
    nothing: str = ""


def comply(case: Case, spec: ServerSpec, pool: ServerPool) -> CaseResult:
    """The verdict of the check that a case names; ServerError when it cannot be made."""
    began = time.monotonic()
    check, _, version = case.check.partition(" ")
    # Active checks open sessions of their own, in the revision they are given.
    is_given = version and check != "active"
    found = _of_another_revision(spec, pool, version) if is_given else None
    found = found or _CHECKS[check](case, spec, pool)
    result = CaseResult(
        name=case.name,
        status="failed" if found.mismatches else "passed",
        line=case.line,
        duration_s=time.monotonic() - began,
        mismatches=found.mismatches,
        notes=found.notes,
    )
    if found.mismatches:
        stderr = pool.stderr_of_test()
        return result.but(sent=found.sent, actual=found.actual, stderr=stderr)
    pool.record_pass()
    if found.nothing:
        return result.but(status="skipped", reason=found.nothing)
    return result.but(log=pool.log()) if pool.keeps_log == "all" else result


def _of_another_revision(spec: ServerSpec, pool: ServerPool, version: str) -> _Found | None:
    """The mismatch of a session in another revision than the suite demands."""
    server, _ = pool.server_for(spec, None)
    agreed = server.connection.session.revision.version
    if agreed == version:
        return None
    mismatch = Mismatch(
        path="result.protocolVersion",
        expected=version,
        actual=agreed,
        message='the session is of another revision than "spec_version" asks for',
        hint=f"protocol_version: {version} of the server offers it this revision",
    )
    return _Found(mismatches=(mismatch,), actual={"result": server.handshake})


# The handshake


def _initialize(_: Case, spec: ServerSpec, pool: ServerPool) -> _Found:
    server, note = pool.server_for(spec, None)
    return _Found(
        mismatches=tuple(_judge_handshake(server)),
        notes=(note,) if note else (),
        actual={"result": server.handshake},
    )


def _judge_handshake(server: Server) -> Iterator[Mismatch]:
    """Mismatches of the answer to initialize, or to server/discover."""
    answer = {"result": server.handshake}
    revision = server.connection.session.revision
    shape = "InitializeResult" if revision.has_handshake else "DiscoverResult"
    faults = check_shape(shape, revision.version, server.handshake, (None, "result"))
    for fault in chain.from_iterable(faults.values()):
        path, _, said = fault.partition(" must be ")
        steps = parse_path(path)
        actual = ABSENT if steps is None else pull(answer, steps)[0]
        wanted = said.partition(" and is ")[0]
        yield Mismatch(
            path=path,
            expected=_PATTERNS.get(wanted, wanted),
            actual=actual,
            message=f"must be {said}",
            is_described=True,
        )
    for verdict in _handshake_score(server).verdicts:
        # Those about shapes have been reported in full.
        if verdict.status == "fail" and not faults.get(verdict.id):
            yield _broken(verdict)


def _handshake_score(server: Server) -> SessionScore:
    """The verdicts of the rules on the handshake alone, or on server/discover."""
    revision = server.connection.session.revision
    answer = jsonrpc.result_response(INITIALIZE_ID, server.handshake)
    exchanges: list[dict[str, object]]
    if revision.has_handshake:
        hello = {"protocolVersion": revision.version, "capabilities": {}}
        request = jsonrpc.request(INITIALIZE_ID, "initialize", hello)
        ready: dict[str, object] = {"request": jsonrpc.notification("notifications/initialized")}
        exchanges = [{"request": request, "response": answer}, ready]
    else:
        params = {"_meta": {VERSION_KEY: revision.version}}
        request = jsonrpc.request(INITIALIZE_ID, "server/discover", params)
        exchanges = [{"request": request, "response": answer}]
    label = f"stdio://{server.spec.name}"
    return score_capture([{"server_label": label, "exchanges": exchanges}]).sessions[0]


# One request


def _ping(case: Case, spec: ServerSpec, pool: ServerPool) -> _Found:
    server, note = pool.server_for(spec, None)
    revision = server.connection.session.revision
    if not revision.has_handshake:
        return _Found(nothing=f"there is no ping in {revision.version}")
    answer, line = _ask(server, "ping", ABSENT, case.timeout_s or spec.timeout_s)
    result = answer.get("result", ABSENT)
    # Every result may have metadata.
    extra = result.keys() - {"_meta"} if isinstance(result, dict) else {"all of it"}
    wrong: tuple[Mismatch, ...] = ()
    if result is ABSENT:
        wrong = (refusal_mismatch(answer, "ping", "error"),)
    elif extra:
        message = "ping must be answered with an empty result"
        wrong = (Mismatch(path="result", expected={}, actual=result, message=message),)
    return _Found(mismatches=wrong, notes=(note,) if note else (), sent=line, actual=answer)


def _ask(
    server: Server, method: str, params: object, timeout_s: float
) -> tuple[dict[str, Any], str]:
    """The whole answer to a request, and the line that was sent."""
    id = f"compliance-{next(_numbers)}"
    line = encode_line(jsonrpc.request(id, method, params))
    step = Step(line=line, method=method, expectation=Expectation(), id=id)
    return server.perform(step, timeout_s).message, line.decode("utf-8").rstrip("\n")


# Lists


def _list(case: Case, spec: ServerSpec, pool: ServerPool) -> _Found:
    server, note = pool.server_for(spec, None)
    declared = server.capabilities if isinstance(server.capabilities, dict) else {}
    kinds = [kind for kind in KINDS.values() if kind.capability in declared]
    notes = [note] if note else []
    if not kinds:
        lists = ", ".join(dict.fromkeys(kind.capability for kind in KINDS.values()))
        return _Found(nothing=f"the server declares none of {lists}: there is nothing to list")

    def ask(method: str, params: object, timeout_s: float) -> dict[str, Any]:
        return _ask(server, method, params, timeout_s)[0]

    reader = ListReader(ask, case.timeout_s or spec.timeout_s, notes)
    wrong = (mismatch for kind in kinds for mismatch in reader.read(kind))
    mismatches = tuple(islice(wrong, MAX_MISMATCHES))
    if len(mismatches) == MAX_MISMATCHES:
        notes.append(f"only the first {MAX_MISMATCHES:,} mismatches were looked for")
    return _Found(mismatches=mismatches, notes=tuple(notes))


# A list with more pages than this is considered endless.
MAX_PAGES = 1_000


class ListReader:
    """Reads the lists of a server to their ends; all together may take as long as one answer."""

    def __init__(self, ask: Ask, limit_s: float, notes: list[str]) -> None:
        self._ask = ask
        self._limit_s = limit_s
        self._deadline = time.monotonic() + limit_s
        self._notes = notes

    def read(self, kind: Kind) -> Iterator[Mismatch]:
        """What is wrong with a list, page by page."""
        pages = ListPages(kind.method, kind.name, max_pages=MAX_PAGES, is_strict=True)
        while (
            params := pages.next_params(left_s := self._deadline - time.monotonic())
        ) is not None:
            answer = self._ask(kind.method, params, left_s)
            entries = pages.add(answer)
            place = f"{kind.method} (page {pages.count})" if pages.count > 1 else kind.method
            yield from _judge_entries(kind, entries, place)
            if pages.problem and pages.problem.kind in ("refused", "malformed"):
                yield from self._judge_result(kind, answer, place)
                return
            if pages.problem and pages.problem.kind in ("cursor", "circle"):
                yield _judge_cursor(pages.problem, f"{place} result.nextCursor")
                return
        if pages.problem:
            is_late = pages.problem.kind == "timeout"
            why = (
                f"it is not at its end after {self._limit_s:g} s" if is_late else "it does not end"
            )
            yield Mismatch(
                path=kind.method,
                expected="a last page, without nextCursor",
                actual={"pages": pages.count},
                message=f"the list must have a last page, and {why} "
                f"({plural(pages.count, 'page')})",
                is_described=True,
            )

    def _judge_result(self, kind: Kind, answer: dict[str, Any], place: str) -> Iterator[Mismatch]:
        error, result = answer.get("error"), answer.get("result", ABSENT)
        code = error.get("code") if isinstance(error, dict) else None
        if kind.unit == "resourceTemplate" and code == jsonrpc.METHOD_NOT_FOUND:
            # Templates belong to the capability of resources, and are optional.
            self._notes.append(f"the server does not know {kind.method}: it has no templates")
        elif "error" in answer:
            yield refusal_mismatch(answer, kind.method, f"{place} error")
        elif isinstance(result, dict):
            message = f"a list of {kind.noun}s must be an array"
            found = result.get(kind.name, ABSENT)
            yield _typed(f"{place} result.{kind.name}", "array", found, message)
        else:
            yield _typed(f"{place} result", "object", result, "the result must be an object")


def _judge_cursor(problem: ListProblem, path: str) -> Mismatch:
    if problem.kind == "cursor":
        message = "where there is another page, it must be a string"
        return _typed(path, "string", problem.value, message)
    message = "this cursor has come before: the list goes in a circle"
    return Mismatch(
        path=path,
        expected="a new cursor",
        actual=problem.value,
        message=message,
        is_described=True,
    )


def _judge_entries(kind: Kind, entries: list[Any], place: str) -> Iterator[Mismatch]:
    needed = ("name",) if kind.key == "name" else (kind.key, "name")
    for index, entry in enumerate(entries):
        path = f"{place} {render_path(('result', kind.name, index))}"
        if not isinstance(entry, dict):
            yield _typed(path, "object", entry, f"a {kind.noun} must be an object")
            continue
        for key in needed:
            value = entry.get(key, ABSENT)
            # The key that identifies it must not be empty.
            if not isinstance(value, str) or (key == kind.key and not value):
                message = f"a {kind.noun} needs a {key}: a string that is not empty"
                yield _typed(f"{path}.{key}", "string", value, message)


def _typed(path: str, type_: str, actual: object, message: str) -> Mismatch:
    return Mismatch(path=path, expected=f"match:type:{type_}", actual=actual, message=message)


def refusal_mismatch(answer: dict[str, Any], method: str, path: str) -> Mismatch:
    """The mismatch of a request that was answered with an error."""
    message = f"the server answered {method} with an error"
    return Mismatch(path=path, expected=ABSENT, actual=answer.get("error"), message=message)


# The rules


def _invariants(_: Case, spec: ServerSpec, pool: ServerPool) -> _Found:
    verdicts = [each for each in _judged(spec, pool).verdicts if each.id.startswith("INV-")]
    # One that another rule reports as well is broken nonetheless.
    verdicts = [each.but(status="fail") if each.reported_by else each for each in verdicts]
    return _found_in(verdicts, "not_applicable", "does not apply")


def _rules(_: Case, spec: ServerSpec, pool: ServerPool) -> _Found:
    verdicts = _judged(spec, pool).verdicts
    return _found_in(verdicts, "warning", "is only recommended, and not followed")


def _active(case: Case, spec: ServerSpec, pool: ServerPool) -> _Found:
    """All active checks, on connections of their own; the current session is ended before."""
    check_actively = pool.launcher.check_actively
    if check_actively is None:
        return _Found(nothing="only mcptest run and mcptest compliance run make active checks")
    _ended(spec, pool)
    mismatches, notes = check_actively(spec, pool.launcher, case.check.partition(" ")[2])
    return _Found(mismatches=mismatches, notes=notes)


def _found_in(verdicts: Sequence[Verdict], noted: str, why: str) -> _Found:
    """A mismatch for each rule that is broken, and a note for each with the status `noted`."""
    return _Found(
        mismatches=tuple(_broken(each) for each in verdicts if each.status == "fail"),
        notes=tuple(
            f"{each.id} {why}: {each.message}" for each in verdicts if each.status == noted
        ),
    )


def _judged(spec: ServerSpec, pool: ServerPool) -> SessionScore:
    """The verdicts on all sessions with this server so far; the current one is ended."""
    scores = _ended(spec, pool)
    verdicts = (verdict for score in scores for verdict in score.verdicts)
    if all(each.id not in _OF_OPENED or each.status == "not_applicable" for each in verdicts):
        # No session has been opened yet; this raises the reason if none can be.
        pool.server_for(spec, None)
        scores = _ended(spec, pool)
    assert scores, "checks need a launcher that judges"
    return merge_sessions(scores)[0]


def _ended(spec: ServerSpec, pool: ServerPool) -> list[SessionScore]:
    # The server cannot be asked after it has ended.
    pool.take_inventory()
    pool.replace(_ENDED)
    return [
        score for score, _ in pool.scores if score.server_label.partition("://")[2] == spec.name
    ]


def _broken(verdict: Verdict) -> Mismatch:
    seen: dict[str, object] = {"times": verdict.count}
    if verdict.exchange is not None and verdict.exchange >= 0:
        seen["first_in_exchange"] = verdict.exchange
    return Mismatch(
        path=verdict.id,
        expected=_PROPERTIES.get(verdict.id, verdict.category),
        actual=seen,
        message=verdict.message,
        is_described=True,
    )


_CHECKS: dict[str, Callable[[Case, ServerSpec, ServerPool], _Found]] = {
    "initialize": _initialize,
    "ping": _ping,
    "list": _list,
    "invariants": _invariants,
    "rules": _rules,
    "active": _active,
}


# Check the structured output of tools against their own output schemas.
#
# What a server declares is read once, and again when it says that its tools are others. Its
# schemas must be JSON Schema, and what it answers must be what it declares. Nothing that a schema
# refers to is ever fetched. What could not be checked is reported.


# A small schema can require more work than there is time.
_LIMIT_S = 2.0
_CHECK = JSON_SCHEMA.check

_PATH = "result.structuredContent"
_WANTED = "what outputSchema says"
_BEFORE = ", as it was listed when the call was sent"


class _Tool(Record):
    """A tool's output schema, compiled; or what is wrong with one of its schemas.

    Where it is `plain`, most values can be seen to meet it without a validator. `declared` is
    all that it says of its schemas, as text. `when` says when it did, if not now.
    """

    declared: str = ""
    schema: Any = None
    is_plain: bool = False
    output: Any = None
    when: str = ""
    mistakes: tuple[tuple[str, str], ...] = ()


class _Known(Record):
    """What the tools of a server declare, by name.

    `gap` says why there may be more tools. The list was read from `process`, after so many
    announced `changes`. A list that `is_final` is not read again.
    """

    spec: ServerSpec
    tools: dict[str, tuple[_Tool, ...]]
    gap: str
    process: ReferenceType[Server]
    changes: int
    is_final: bool = False

    def holds_for(self, server: Server) -> bool:
        """Whether the list need not be read again."""
        if self.is_final:
            return True
        changes = server.connection.inbox.tool_changes
        if self.process() is server:
            return changes == self.changes
        # A new process begins like the first one.
        return not (changes or self.changes)

    def has_applied_to(self, server: Server) -> bool:
        """Whether this list applied to this process before it announced a change."""
        return self.process() is server or not self.changes


class Outputs:
    """The schemas of the tools of every server."""

    def __init__(self) -> None:
        self._servers: list[_Known] = []

    def learn(self, server: Server) -> _Known:
        """What the tools of a server declare; read once, and after each announced change."""
        before = self._known(server.spec)
        if before and before.holds_for(server):
            return before
        known = _learned(server)
        if known.gap and not server.is_usable:
            return known  # it is gone; the next one is asked again
        if before:
            self._servers = [each for each in self._servers if each is not before]
        if before and known.gap:
            # A server that says that its tools changed and cannot list them is not asked again.
            why = (
                f"the server said that its tools are others, and it is not known which: {known.gap}"
            )
            server.findings.add("unchecked_output", f"{why}; what it listed before is what counts")
            known = known.but(tools={**before.tools, **known.tools}, is_final=True)
        self._servers.append(known)
        return known

    def _known(self, spec: ServerSpec) -> _Known | None:
        same = (known for known in self._servers if known.spec is spec)
        equal = (known for known in self._servers if known.spec == spec)
        return next(same, None) or next(equal, None)

    def judge(self, server: Server, tool: str, reply: Reply) -> tuple[Mismatch, ...]:
        """The mismatches of an answer of this tool, and of its schemas."""
        before = self._known(server.spec)
        known = self.learn(server)
        tools = known.tools.get(tool, ())
        if before and before is not known and before.has_applied_to(server):
            # A change that is announced with the answer does not apply to it.
            others = [each.declared for each in tools]
            old = (each for each in before.tools.get(tool, ()) if each.declared not in others)
            tools = (*tools, *(each.but(when=_BEFORE) for each in old))
        if tools:
            found = (_judge_tool(tool, each, reply, server.launcher) for each in tools)
            return tuple(chain.from_iterable(found))
        if known.gap and _is_success(reply):
            why = f"tools are not held against their outputSchema: {known.gap}"
            server.findings.add("unchecked_output", f"answers of {why}")
        return ()


def _learned(server: Server) -> _Known:
    changes = server.connection.inbox.tool_changes
    listed = read_tools(server)
    tools: dict[str, tuple[_Tool, ...]] = {}
    for entry in listed.entries:
        name = entry.get("name")
        if not isinstance(name, str):
            continue
        tool, others = _read(entry, server), tools.get(name, ())
        if not others:
            tools[name] = (tool,)
        elif all(tool.declared != other.declared for other in others):
            tools[name] = (*others, tool)
            why = "with other schemas each time; what it answers is held against all of them"
            server.findings.add("listed_twice", f"the tool {visible(name)} is listed twice, {why}")
    return _Known(
        spec=server.spec, tools=tools, gap=listed.gap, process=ref(server), changes=changes
    )


def _judge_tool(name: str, tool: _Tool, reply: Reply, launcher: Launcher) -> Iterator[Mismatch]:
    for key, why in tool.mistakes:
        path = f"tools/list {name}.{key}"
        yield _described(path, "a JSON Schema", ABSENT, why)
    if tool.output is None or not _is_success(reply):
        return
    why = tool_failure(reply.message["result"])
    if why:
        path, value = "result.isError", reply.message["result"]["isError"]
        yield _described(path, "true or false", value, why)
    value = reply.message["result"].get("structuredContent", ABSENT)
    if value is ABSENT:
        why = f"is missing: the tool declares an outputSchema{tool.when}, so it must answer with it"
        yield _described(_PATH, _WANTED, ABSENT, why)
    elif not (tool.is_plain and is_plainly_valid(tool.schema, value)):
        yield from _validate(tool, value, launcher)


def _described(path: str, wanted: str, actual: object, message: str) -> Mismatch:
    return Mismatch(path=path, expected=wanted, actual=actual, message=message, is_described=True)


def _is_success(reply: Reply) -> bool:
    """Whether an answer must conform to the outputSchema."""
    message = reply.message if isinstance(reply.message, dict) else {}
    result = message.get("result")
    return isinstance(result, dict) and result.get("isError") is not True


def _validate(tool: _Tool, value: object, launcher: Launcher) -> tuple[Mismatch, ...]:
    """The mismatches that the validator finds; large work is done in another process."""

    def judge() -> tuple[Mismatch, ...]:
        miss = _CHECK(tool.output, value)
        if miss is None:
            return ()
        why = f"does not meet the tool's own outputSchema{tool.when}: {miss.why}"
        return (_described(_PATH, _WANTED, value, why),)

    # A boolean schema needs no work.
    if not isinstance(tool.schema, dict) or is_affordable(tool.schema, value):
        return judge()
    # A value that could not be validated is a mismatch.
    try:
        return judge_in_child(judge, _LIMIT_S, launcher)
    except (PatternTimeoutError, EOFError):
        reason = f"that takes over {_LIMIT_S:g} s"
    except EndedError as error:
        reason = f"that ends the program that does it: {error.how}"
    why = f"cannot be held against the tool's outputSchema{tool.when}: {reason}"
    return (_described(_PATH, _WANTED, value, why),)


def _read(entry: dict[str, Any], server: Server) -> _Tool:
    compiled: dict[str, Any] = {}
    mistakes = []
    trial = partial(find_read_failure, server.launcher)
    for key in ("inputSchema", "outputSchema"):
        if key not in entry:
            continue
        try:
            compiled[key] = declared_schema(entry[key], trial)
        except BadSchemaError as error:
            reason = str(error).strip().removeprefix("which ")
            why = f"is not a JSON Schema that can be used: it {reason}"
            mistakes.append((key, why))
            server.findings.add(
                "bad_schema", f"the {key} of the tool {visible(entry['name'])} {why}"
            )
    schema = entry.get("outputSchema")
    # Only the validator knows formats.
    is_plain = isinstance(schema, dict) and '"format"' not in dump_json(schema)
    return _Tool(
        declared=dump_json([entry.get("inputSchema"), schema]),
        schema=schema,
        is_plain=is_plain,
        output=compiled.get("outputSchema"),
        mistakes=tuple(mistakes),
    )
