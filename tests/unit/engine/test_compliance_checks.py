"""What the checks of the lane `compliance` make of what a server says; no process is started."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from mcptest.core.coverage import KINDS
from mcptest.core.errors import ServerError
from mcptest.core.plan import Case, ServerSpec
from mcptest.core.results import Fault, Mismatch, SessionScore, Verdict
from mcptest.engine import compliance_lane
from mcptest.engine.compliance_lane import MAX_PAGES, ListReader, check_compliance
from mcptest.engine.server import Reply
from mcptest.formats.suite.lanes import CHECKS
from mcptest.protocol.revisions import HANDSHAKE_REVISIONS, REVISIONS

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcptest.core.plan import Step
    from mcptest.engine.pool import ServerPool

SPEC = ServerSpec(name="shop", command=("shop",))
HELLO: dict[str, Any] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "shop", "version": "1"},
}
GONE = ServerError(Fault(kind="exited_during_call", message="it is gone"))


class Shop:
    """A server that answers from a table; a function makes the answer of the params."""

    def __init__(self, hello: dict[str, Any] | None = None, **answers: Any) -> None:
        self.spec = SPEC
        self.handshake = HELLO if hello is None else hello
        self.capabilities = self.handshake.get("capabilities")
        version = self.handshake.get("protocolVersion", "2025-11-25")
        self.connection = SimpleNamespace(session=SimpleNamespace(revision=REVISIONS[version]))
        self._answers = {"ping": {"result": {}}, "tools/list": {"result": {"tools": []}}} | answers
        self.asked: list[dict[str, Any]] = []

    def perform(self, step: Step, timeout_s: float) -> Reply:
        request = json.loads(step.line)
        self.asked.append(request)
        answer = self._answers[step.method]
        if callable(answer):
            answer = answer(request.get("params"))
        return Reply(message=answer, elapsed_s=0.0, stderr="")


class FakePool:
    """A pool with this server; `scores` gets these sessions as the server is replaced."""

    keeps_log = ""

    def stderr_of_test(self) -> str:
        return ""

    def __init__(self, server: Shop | None = None, *sessions: SessionScore) -> None:
        self._server = server
        self._sessions = list(sessions)
        self.scores: list[tuple[SessionScore, None]] = []
        self.started = self.passes = 0
        self.said: list[str] = []

    def server_for(self, spec: ServerSpec, step: object) -> tuple[Shop, str]:
        if self._server is None:
            raise GONE
        self.started += 1
        return self._server, ""

    def take_inventory(self) -> None:
        self.said.append("inventory")

    def replace(self, reason: str) -> None:
        self.said.append("end")
        if self._sessions:
            self.scores.append((self._sessions.pop(0), None))

    def record_pass(self) -> None:
        self.passes += 1


def made(check: str, pool: FakePool) -> Any:
    """The result of a check."""
    case = Case(name="it", line=4, check=check)
    return check_compliance(case, SPEC, cast("ServerPool", pool))


def session(*verdicts: Verdict, label: str = "stdio://shop", is_open: bool = True) -> SessionScore:
    followed = verdict("INV-002", "pass" if is_open else "not_applicable")
    return SessionScore(server_label=label, verdicts=(followed, *verdicts))


def verdict(id: str, status: Any, message: str = "so it is", **keys: Any) -> Verdict:
    return Verdict(id=id, category="test", status=status, message=message, **keys)


def paths(mismatches: tuple[Mismatch, ...]) -> list[str]:
    return [mismatch.path for mismatch in mismatches]


def test_every_check_that_a_suite_may_name_can_be_made() -> None:
    assert tuple(compliance_lane._CHECKS) == CHECKS


# initialize


@pytest.mark.parametrize("version", HANDSHAKE_REVISIONS)
def test_a_plain_handshake_is_right_in_every_revision(version: str) -> None:
    pool = FakePool(Shop(HELLO | {"protocolVersion": version}))
    result = made("initialize", pool)
    assert (result.status, result.mismatches, result.line) == ("passed", (), 4)
    assert pool.passes == 1


@pytest.mark.parametrize("missing", ["protocolVersion", "capabilities", "serverInfo"])
def test_every_missing_member_of_a_handshake_is_reported(missing: str) -> None:
    hello = {key: value for key, value in HELLO.items() if key != missing}
    result = made("initialize", FakePool(Shop(hello)))
    assert paths(result.mismatches) == [f"result.{missing}"]
    assert result.mismatches[0].message.endswith("and is missing")
    assert result.actual == {"result": hello}


def test_members_of_a_later_revision_are_not_asked_of_an_earlier_one() -> None:
    info = {"name": "shop", "version": "1", "title": 5}
    old = Shop(HELLO | {"protocolVersion": "2024-11-05", "serverInfo": info})
    assert made("initialize", FakePool(old)).status == "passed"
    new = Shop(HELLO | {"serverInfo": info})
    assert paths(made("initialize", FakePool(new)).mismatches) == ["result.serverInfo.title"]


# ping


def test_the_result_of_a_ping_may_only_cause_warnings() -> None:
    shop = Shop(ping={"result": {"_meta": {"a": 1}}})
    assert made("ping", FakePool(shop)).status == "passed"
    others: list[Any] = [{"_meta": {}, "ok": True}, [], None, "pong"]
    for result in others:
        failed = made("ping", FakePool(Shop(ping={"result": result})))
        assert (failed.status, paths(failed.mismatches)) == ("failed", ["result"])
        assert failed.mismatches[0].actual == result


def test_every_request_has_an_id_of_its_own() -> None:
    shop = Shop()
    for _ in range(3):
        made("ping", FakePool(shop))
    ids = [request["id"] for request in shop.asked]
    assert len(set(ids)) == 3
    assert all(request["method"] == "ping" for request in shop.asked)


def test_a_failed_check_shows_what_was_sent_and_answered() -> None:
    error = {"error": {"code": -32603, "message": "no"}}
    pool = FakePool(Shop(ping=error))
    result = made("ping", pool)
    assert json.loads(result.sent)["method"] == "ping"
    assert (result.actual, pool.passes) == (error, 0)


# list


def read(kind: str, ask: Callable[..., Any], limit_s: float = 60.0) -> tuple[list[Any], list[str]]:
    notes: list[str] = []
    return list(ListReader(ask, limit_s, notes).read(KINDS[kind])), notes


@pytest.mark.parametrize("capabilities", [{}, {"logging": {}}, None, []])
def test_a_server_that_declares_no_list_is_not_asked_and_not_passed(capabilities: object) -> None:
    shop = Shop(HELLO | {"capabilities": capabilities})
    result = made("list", FakePool(shop))
    assert (result.status, shop.asked) == ("skipped", [])
    assert "there is nothing to list" in result.reason


def test_pages_are_asked_for_with_the_cursor_of_the_page_before() -> None:
    asked: list[object] = []

    def ask(method: str, params: dict[str, Any], timeout_s: float) -> Any:
        asked.append((method, params))
        more = {"nextCursor": "b"} if not params else {"nextCursor": ""}
        more = {} if params == {"cursor": ""} else more
        return {"result": {"prompts": [{"name": "p"}], **more}}

    assert read("prompts", ask) == ([], [])
    # An empty cursor is a cursor.
    assert asked == [("prompts/list", {}), *_asked("b"), *_asked("")]


def _asked(cursor: str) -> list[object]:
    return [("prompts/list", {"cursor": cursor})]


def test_a_list_without_an_end_is_abandoned_after_a_number_of_pages() -> None:
    pages = 0

    def ask(*_: object) -> Any:
        nonlocal pages
        pages += 1
        return {"result": {"tools": [], "nextCursor": str(pages)}}

    (mismatch,), _ = read("tools", ask)
    assert pages == MAX_PAGES
    assert (mismatch.path, mismatch.actual) == ("tools/list", {"pages": MAX_PAGES})
    assert "it does not end (1,000 pages)" in mismatch.message


def test_a_list_that_takes_too_long_is_abandoned() -> None:
    (mismatch,), _ = read("tools", lambda *_: pytest.fail("it was asked"), limit_s=0.0)
    assert "it is not at its end after 0 s (0 pages)" in mismatch.message


@pytest.mark.parametrize(
    ("kind", "entry", "wanted"),
    [
        ("tools", {"name": "a"}, []),
        ("tools", {"name": ""}, ["name"]),
        ("tools", {}, ["name"]),
        ("prompts", {"name": 1}, ["name"]),
        ("resources", {"uri": "a:b", "name": ""}, []),
        ("resources", {"uri": "", "name": "b"}, ["uri"]),
        ("resources", {}, ["uri", "name"]),
        ("resourceTemplates", {"uriTemplate": "a:{b}", "name": "b"}, []),
        ("resourceTemplates", {"name": None}, ["uriTemplate", "name"]),
    ],
)
def test_an_entry_needs_its_names(kind: str, entry: dict[str, Any], wanted: list[str]) -> None:
    found, _ = read(kind, lambda *_: {"result": {kind: [entry]}})
    method = KINDS[kind].method
    assert paths(tuple(found)) == [f"{method} result.{kind}[0].{key}" for key in wanted]


def test_a_result_that_is_not_an_object_ends_the_list() -> None:
    (mismatch,), _ = read("tools", lambda *_: {"result": [1]})
    assert (mismatch.path, mismatch.actual) == ("tools/list result", [1])


def test_templates_may_be_unknown_and_nothing_else_may() -> None:
    unknown = {"error": {"code": -32601, "message": "Method not found"}}
    found, notes = read("resourceTemplates", lambda *_: unknown)
    assert (found, len(notes)) == ([], 1)
    found, notes = read("resources", lambda *_: unknown)
    assert (paths(tuple(found)), notes) == (["resources/list error"], [])
    found, _ = read("resourceTemplates", lambda *_: {"error": {"code": -32603, "message": "a"}})
    assert paths(tuple(found)) == ["resources/templates/list error"]


def test_a_list_with_no_end_of_mistakes_is_cut_and_says_so() -> None:
    shop = Shop(**{"tools/list": {"result": {"tools": [0] * 5000}}})
    result = made("list", FakePool(shop))
    assert len(result.mismatches) == 1000
    assert result.notes == ("only the first 1,000 mismatches were looked for",)


def test_two_cursors_that_only_look_alike_are_two() -> None:
    cursors = iter(["\ud800", "\udfff", "x" * 100_000])

    def ask(*_: object) -> Any:
        more = next(cursors, None)
        return {"result": {"tools": [], **({} if more is None else {"nextCursor": more})}}

    assert read("tools", ask) == ([], [])


# invariants and rules


def test_a_broken_rule_is_a_mismatch_with_its_id_as_its_path() -> None:
    broken = verdict("INV-004", "fail", "all calls fail", count=2, exchange=3)
    pool = FakePool(
        Shop(), session(broken, verdict("TOOL-03", "fail"), verdict("BASE-27", "warning"))
    )
    result = made("invariants", pool)
    (mismatch,) = result.mismatches
    assert (mismatch.path, mismatch.message) == ("INV-004", "all calls fail")
    assert mismatch.actual == {"times": 2, "first_in_exchange": 3}
    assert result.notes == ()


def test_the_rules_are_all_of_them_and_recommendations_are_notes() -> None:
    verdicts = [
        verdict("INV-004", "fail"),
        verdict("TOOL-03", "fail"),
        verdict("BASE-27", "warning", "a strange code"),
        verdict("BASE-28", "not_applicable"),
    ]
    result = made("rules", FakePool(Shop(), session(*verdicts)))
    assert paths(result.mismatches) == ["INV-004", "TOOL-03"]
    assert result.notes == ("BASE-27 is only recommended, and not followed: a strange code",)
    followed = made("rules", FakePool(Shop(), session(verdict("TOOL-03", "pass"))))
    assert (followed.status, followed.notes) == ("passed", ())


def test_the_worst_of_all_sessions_with_this_server_counts() -> None:
    good, bad = session(verdict("INV-005", "pass")), session(verdict("INV-005", "fail", count=1))
    other = session(verdict("INV-005", "fail", count=1), label="stdio://other")
    pool = FakePool(Shop(), good)
    pool.scores = [(bad, None), (other, None)]
    assert paths(made("invariants", pool).mismatches) == ["INV-005"]
    pool = FakePool(Shop(), good)
    pool.scores = [(other, None)]
    assert made("invariants", pool).status == "passed"


def test_offered_features_are_listed_before_the_session_ends() -> None:
    pool = FakePool(Shop(), session())
    made("rules", pool)
    assert (pool.said, pool.started) == (["inventory", "end"], 0)


def test_a_server_that_had_no_session_gets_one_to_be_judged() -> None:
    pool = FakePool(Shop(), session(label="stdio://other"), session(verdict("INV-006", "fail")))
    assert paths(made("invariants", pool).mismatches) == ["INV-006"]
    assert pool.started == 1


# Revisions


@pytest.mark.parametrize("check", [check for check in CHECKS if check != "active"])
def test_a_check_of_another_revision_fails_whatever_it_is(check: str) -> None:
    result = made(f"{check} 2025-06-18", FakePool(Shop(), session()))
    (mismatch,) = result.mismatches
    assert mismatch.path == "result.protocolVersion"
    assert (mismatch.expected, mismatch.actual) == ("2025-06-18", "2025-11-25")
    assert mismatch.hint == "protocol_version: 2025-06-18 of the server offers it this revision"
    assert made(f"{check} 2025-11-25", FakePool(Shop(), session())).status == "passed"
