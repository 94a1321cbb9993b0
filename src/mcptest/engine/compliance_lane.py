"""The lane `compliance` of suites: one check of a server's conformance per case.

The requests of a check are traffic like any other: captures contain them, and rules see them. What
the server does wrong is a mismatch. A server that cannot be asked raises `ServerError`, so that a
check which could not be made never passes.
"""

from __future__ import annotations

import time
from itertools import chain, count, islice

from mcptest.core.coverage import KINDS
from mcptest.core.plan import Expectation, Step
from mcptest.core.results import CaseResult, Mismatch, merge_sessions
from mcptest.core.text import parse_path, plural, render_path
from mcptest.core.value_class import ABSENT, Record
from mcptest.engine.judge import MAX_MISMATCHES
from mcptest.matching.json_values import pull
from mcptest.protocol import jsonrpc
from mcptest.protocol.framing import encode_line
from mcptest.protocol.lists import ListPages
from mcptest.protocol.revisions import VERSION_KEY
from mcptest.protocol.session import INITIALIZE_ID
from mcptest.rules.all_rules import RULES
from mcptest.rules.captures import score_capture
from mcptest.rules.shapes import check_shape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from mcptest.core.coverage import Kind
    from mcptest.core.plan import Case, ServerSpec
    from mcptest.core.results import SessionScore, Verdict
    from mcptest.engine.pool import ServerPool
    from mcptest.engine.server import Server
    from mcptest.protocol.lists import ListProblem

    # Method, params, time limit in seconds → the whole answer.
    Ask = Callable[[str, object, float], dict[str, Any]]

__all__ = ["MAX_PAGES", "ListReader", "check_compliance"]


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


class _Outcome(Record):
    """The outcome of a check. `nothing` says why there was nothing to check."""

    mismatches: tuple[Mismatch, ...] = ()
    notes: tuple[str, ...] = ()
    sent: str = ""
    actual: object = ABSENT
    nothing: str = ""


def check_compliance(case: Case, spec: ServerSpec, pool: ServerPool) -> CaseResult:
    """The verdict of the check that a case names; ServerError when it cannot be made."""
    began = time.monotonic()
    check, _, version = case.check.partition(" ")
    # Active checks open sessions of their own, in the revision they are given.
    is_given = version and check != "active"
    outcome = _check_revision(spec, pool, version) if is_given else None
    outcome = outcome or _CHECKS[check](case, spec, pool)
    result = CaseResult(
        name=case.name,
        status="failed" if outcome.mismatches else "passed",
        line=case.line,
        duration_s=time.monotonic() - began,
        mismatches=outcome.mismatches,
        notes=outcome.notes,
    )
    if outcome.mismatches:
        stderr = pool.stderr_of_test()
        return result.but(sent=outcome.sent, actual=outcome.actual, stderr=stderr)
    pool.record_pass()
    if outcome.nothing:
        return result.but(status="skipped", reason=outcome.nothing)
    return result.but(log=pool.log()) if pool.keeps_log == "all" else result


def _check_revision(spec: ServerSpec, pool: ServerPool, version: str) -> _Outcome | None:
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
    return _Outcome(mismatches=(mismatch,), actual={"result": server.handshake})


# The handshake


def _check_handshake(_: Case, spec: ServerSpec, pool: ServerPool) -> _Outcome:
    server, note = pool.server_for(spec, None)
    return _Outcome(
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
    for verdict in _score_handshake(server).verdicts:
        # Those about shapes have been reported in full.
        if verdict.status == "fail" and not faults.get(verdict.id):
            yield _rule_mismatch(verdict)


def _score_handshake(server: Server) -> SessionScore:
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


def _check_ping(case: Case, spec: ServerSpec, pool: ServerPool) -> _Outcome:
    server, note = pool.server_for(spec, None)
    revision = server.connection.session.revision
    if not revision.has_handshake:
        return _Outcome(nothing=f"there is no ping in {revision.version}")
    answer, line = _ask(server, "ping", ABSENT, case.timeout_s or spec.timeout_s)
    result = answer.get("result", ABSENT)
    # Every result may have metadata.
    extra = result.keys() - {"_meta"} if isinstance(result, dict) else {"all of it"}
    wrong: tuple[Mismatch, ...] = ()
    if result is ABSENT:
        wrong = (_refusal_mismatch(answer, "ping", "error"),)
    elif extra:
        message = "ping must be answered with an empty result"
        wrong = (Mismatch(path="result", expected={}, actual=result, message=message),)
    return _Outcome(mismatches=wrong, notes=(note,) if note else (), sent=line, actual=answer)


def _ask(
    server: Server, method: str, params: object, timeout_s: float
) -> tuple[dict[str, Any], str]:
    """The whole answer to a request, and the line that was sent."""
    id = f"compliance-{next(_numbers)}"
    line = encode_line(jsonrpc.request(id, method, params))
    step = Step(line=line, method=method, expectation=Expectation(), id=id)
    return server.perform(step, timeout_s).message, line.decode("utf-8").rstrip("\n")


# Lists


def _check_lists(case: Case, spec: ServerSpec, pool: ServerPool) -> _Outcome:
    server, note = pool.server_for(spec, None)
    declared = server.capabilities if isinstance(server.capabilities, dict) else {}
    kinds = [kind for kind in KINDS.values() if kind.capability in declared]
    notes = [note] if note else []
    if not kinds:
        lists = ", ".join(dict.fromkeys(kind.capability for kind in KINDS.values()))
        return _Outcome(nothing=f"the server declares none of {lists}: there is nothing to list")

    def ask(method: str, params: object, timeout_s: float) -> dict[str, Any]:
        return _ask(server, method, params, timeout_s)[0]

    reader = ListReader(ask, case.timeout_s or spec.timeout_s, notes)
    wrong = (mismatch for kind in kinds for mismatch in reader.read(kind))
    mismatches = tuple(islice(wrong, MAX_MISMATCHES))
    if len(mismatches) == MAX_MISMATCHES:
        notes.append(f"only the first {MAX_MISMATCHES:,} mismatches were looked for")
    return _Outcome(mismatches=mismatches, notes=tuple(notes))


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
            yield _refusal_mismatch(answer, kind.method, f"{place} error")
        elif isinstance(result, dict):
            message = f"a list of {kind.noun}s must be an array"
            entries = result.get(kind.name, ABSENT)
            yield _type_mismatch(f"{place} result.{kind.name}", "array", entries, message)
        else:
            yield _type_mismatch(
                f"{place} result", "object", result, "the result must be an object"
            )


def _judge_cursor(problem: ListProblem, path: str) -> Mismatch:
    if problem.kind == "cursor":
        message = "where there is another page, it must be a string"
        return _type_mismatch(path, "string", problem.value, message)
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
            yield _type_mismatch(path, "object", entry, f"a {kind.noun} must be an object")
            continue
        for key in needed:
            value = entry.get(key, ABSENT)
            # The key that identifies it must not be empty.
            if not isinstance(value, str) or (key == kind.key and not value):
                message = f"a {kind.noun} needs a {key}: a string that is not empty"
                yield _type_mismatch(f"{path}.{key}", "string", value, message)


def _type_mismatch(path: str, type_: str, actual: object, message: str) -> Mismatch:
    return Mismatch(path=path, expected=f"match:type:{type_}", actual=actual, message=message)


def _refusal_mismatch(answer: dict[str, Any], method: str, path: str) -> Mismatch:
    """The mismatch of a request that was answered with an error."""
    message = f"the server answered {method} with an error"
    return Mismatch(path=path, expected=ABSENT, actual=answer.get("error"), message=message)


# The rules


def _check_invariants(_: Case, spec: ServerSpec, pool: ServerPool) -> _Outcome:
    verdicts = [each for each in _judge_sessions(spec, pool).verdicts if each.id.startswith("INV-")]
    # One that another rule reports as well is broken nonetheless.
    verdicts = [each.but(status="fail") if each.reported_by else each for each in verdicts]
    return _make_outcome(verdicts, "not_applicable", "does not apply")


def _check_rules(_: Case, spec: ServerSpec, pool: ServerPool) -> _Outcome:
    verdicts = _judge_sessions(spec, pool).verdicts
    return _make_outcome(verdicts, "warning", "is only recommended, and not followed")


def _check_actively(case: Case, spec: ServerSpec, pool: ServerPool) -> _Outcome:
    """All active checks, on connections of their own; the current session is ended before."""
    check_actively = pool.launcher.check_actively
    if check_actively is None:
        return _Outcome(nothing="only mcptest run and mcptest compliance run make active checks")
    _end_session(spec, pool)
    mismatches, notes = check_actively(spec, pool.launcher, case.check.partition(" ")[2])
    return _Outcome(mismatches=mismatches, notes=notes)


def _make_outcome(verdicts: Sequence[Verdict], noted: str, why: str) -> _Outcome:
    """A mismatch for each rule that is broken, and a note for each with the status `noted`."""
    return _Outcome(
        mismatches=tuple(_rule_mismatch(each) for each in verdicts if each.status == "fail"),
        notes=tuple(
            f"{each.id} {why}: {each.message}" for each in verdicts if each.status == noted
        ),
    )


def _judge_sessions(spec: ServerSpec, pool: ServerPool) -> SessionScore:
    """End the current session; the verdicts on all sessions with this server so far."""
    scores = _end_session(spec, pool)
    verdicts = (verdict for score in scores for verdict in score.verdicts)
    if all(each.id not in _OF_OPENED or each.status == "not_applicable" for each in verdicts):
        # No session has been opened yet; this raises the reason if none can be.
        pool.server_for(spec, None)
        scores = _end_session(spec, pool)
    assert scores, "checks need a launcher that judges"
    return merge_sessions(scores)[0]


def _end_session(spec: ServerSpec, pool: ServerPool) -> list[SessionScore]:
    """End the current session; the scores of all sessions with this server so far."""
    # The server cannot be asked after it has ended.
    pool.take_inventory()
    pool.replace(_ENDED)
    return [
        score for score, _ in pool.scores if score.server_label.partition("://")[2] == spec.name
    ]


def _rule_mismatch(verdict: Verdict) -> Mismatch:
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


_CHECKS: dict[str, Callable[[Case, ServerSpec, ServerPool], _Outcome]] = {
    "initialize": _check_handshake,
    "ping": _check_ping,
    "list": _check_lists,
    "invariants": _check_invariants,
    "rules": _check_rules,
    "active": _check_actively,
}
