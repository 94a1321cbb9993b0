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
from mcptest.core.record import ABSENT, Record
from mcptest.core.results import CaseResult, Mismatch, merge_sessions
from mcptest.core.text import parse_path
from mcptest.engine.judge import MAX_MISMATCHES
from mcptest.engine.lists import ListReader, refusal_mismatch
from mcptest.matching.values import pull
from mcptest.protocol import jsonrpc
from mcptest.protocol.framing import encode_line
from mcptest.protocol.revisions import STATELESS, VERSION_KEY
from mcptest.protocol.session import INITIALIZE_ID
from mcptest.rules.captures import score_capture
from mcptest.rules.registry import RULES
from mcptest.rules.shapes import check_shape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from mcptest.core.plan import Case, ServerSpec
    from mcptest.core.results import SessionScore, Verdict
    from mcptest.engine.pool import ServerPool
    from mcptest.engine.server import Server

__all__ = ["comply"]

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
    found = _of_another_revision(spec, pool, version) if version else None
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
        return result.but(sent=found.sent, actual=found.actual)
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
    if not server.connection.session.revision.has_handshake:
        return _Found(nothing=f"there is no ping in {STATELESS}")
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


# The rules


def _invariants(_: Case, spec: ServerSpec, pool: ServerPool) -> _Found:
    verdicts = [each for each in _judged(spec, pool).verdicts if each.id.startswith("INV-")]
    return _Found(
        mismatches=tuple(_broken(each) for each in verdicts if each.status == "fail"),
        notes=tuple(
            f"{each.id} does not apply: {each.message}"
            for each in verdicts
            if each.status == "not_applicable"
        ),
    )


def _rules(_: Case, spec: ServerSpec, pool: ServerPool) -> _Found:
    verdicts = _judged(spec, pool).verdicts
    return _Found(
        mismatches=tuple(_broken(each) for each in verdicts if each.status == "fail"),
        notes=tuple(
            f"{each.id} is only recommended, and not followed: {each.message}"
            for each in verdicts
            if each.status == "warning"
        ),
    )


def _judged(spec: ServerSpec, pool: ServerPool) -> SessionScore:
    """The verdicts on all sessions with this server so far; the current one is ended."""
    scores = _ended(spec, pool)
    if not any(map(_has_been_opened, scores)):
        # No session has been opened yet; this raises the reason if none can be.
        pool.server_for(spec, None)
        scores = _ended(spec, pool)
    assert scores, "checks need a launcher that judges"
    return merge_sessions(scores)[0]


def _ended(spec: ServerSpec, pool: ServerPool) -> list[SessionScore]:
    # The server cannot be asked after it has ended.
    pool.take_inventory()
    pool.replace(_ENDED)
    return [score for score, _ in pool.scores if _name_in(score) == spec.name]


def _name_in(score: SessionScore) -> str:
    return score.server_label.partition("://")[2]


def _has_been_opened(score: SessionScore) -> bool:
    """Whether initialize, or server/discover, was answered."""
    return any(each.id in _OF_OPENED and each.status != "not_applicable" for each in score.verdicts)


def _broken(verdict: Verdict) -> Mismatch:
    seen: dict[str, object] = {"times": verdict.count}
    if verdict.exchange is not None and verdict.exchange >= 0:
        seen["first_in_exchange"] = verdict.exchange
    return Mismatch(
        path=verdict.id,
        expected=_PROPERTIES.get(verdict.id, verdict.category),
        actual=seen,
        message=verdict.message,
    )


_CHECKS: dict[str, Callable[[Case, ServerSpec, ServerPool], _Found]] = {
    "initialize": _initialize,
    "ping": _ping,
    "list": _list,
    "invariants": _invariants,
    "rules": _rules,
}
