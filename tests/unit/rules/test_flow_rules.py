"""What the captures do not show of the rules about changes, logs, pages, progress, cancelling."""

from __future__ import annotations

from typing import Any

import pytest

from mcptest.core.results import Verdict
from mcptest.protocol.revisions import REVISIONS
from mcptest.rules.all_rules import RULES
from mcptest.rules.rule import Facts, Latest, limit, show, show_member
from mcptest.rules.scorer import Scorer

VERSIONS = dict(zip("ABCDE", REVISIONS, strict=True))
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
LOG_LEVEL = "io.modelcontextprotocol/logLevel"


class Talk:
    """A session of one revision, given message by message."""

    def __init__(self, letter: str) -> None:
        facts = Facts()
        facts.set_version(VERSIONS[letter])
        self.scorer = Scorer(RULES, facts)
        self._exchange = -1

    def ask(self, id: object, method: str, _http: Any = None, **params: Any) -> None:
        """The client sends a request."""
        self._exchange += 1
        message = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
        self.scorer.client(message, self._exchange, _http)

    def answer(self, id: object, **result: Any) -> None:
        """The server answers one."""
        message = {"jsonrpc": "2.0", "id": id, "result": result}
        self.scorer.server(message, self._exchange)

    def note(self, method: str, _http: Any = None, **params: Any) -> None:
        """The server sends a notification."""
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        self.scorer.server(message, self._exchange, _http)

    def server_asks(self, id: object, method: str, **params: Any) -> None:
        message = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
        self.scorer.server(message, self._exchange)

    def verdict(self, id: str) -> Verdict:
        """The session is over; what this rule says of it."""
        return next(each for each in self.scorer.finish().verdicts if each.id == id)


def progress(talk: Talk, token: object, value: object, http: Any = None) -> None:
    talk.note("notifications/progress", http, progressToken=token, progress=value)


# Memory


def test_only_the_latest_is_remembered_and_it_is_known_that_something_was_forgotten() -> None:
    latest = Latest(2)
    has_forgotten = []
    for key, value in (("a", 1), ("b", 2), ("a", 3), ("c", 4)):
        latest.add(key, value)
        has_forgotten.append(latest.has_forgotten)
    assert has_forgotten == [False, False, False, True]
    assert (len(latest), "b" in latest, latest.get("a"), latest.get("b")) == (2, False, 3, None)
    latest.drop("a")
    latest.drop("a")
    assert (len(latest), latest.get("c")) == (1, 4)


def test_words_about_values_are_short_and_few() -> None:
    assert len(show("x" * 10_000)) <= 80
    assert show_member({"a": None}, "a") == "null"
    assert show_member({"a": None}, "b") == "missing"
    assert len(limit(str(number) for number in range(1000))) == 20


# Progress


def test_an_old_token_is_no_finding_once_there_are_too_many_to_remember() -> None:
    talk = Talk("D")
    for number in range(10_050):
        talk.ask(number, "tools/call", _meta={"progressToken": number})
    progress(talk, 3, 1)
    assert talk.verdict("PROG-01").status == "not_applicable"


def test_a_token_may_be_used_again_by_a_later_request() -> None:
    talk = Talk("D")
    for id in (1, 2):
        talk.ask(id, "tools/call", _meta={"progressToken": "again"})
        progress(talk, "again", 1)
        progress(talk, "again", 2)
        talk.answer(id, content=[])
    for rule in ("PROG-01", "PROG-03", "PROG-04"):
        assert talk.verdict(rule).status == "pass"


def test_late_progress_is_found_although_its_id_is_in_use_again() -> None:
    talk = Talk("E")
    talk.ask(1, "tools/call", _meta={"progressToken": "old"})
    talk.answer(1, resultType="complete", content=[])
    talk.ask(1, "tools/call", _meta={"progressToken": "new"})
    progress(talk, "old", 1)
    verdict = talk.verdict("PROG-04")
    assert (verdict.status, verdict.exchange) == ("fail", 1)


def test_progress_on_a_stream_without_order_is_not_called_late() -> None:
    talk = Talk("C")
    talk.ask(1, "tools/call", _meta={"progressToken": "p"})
    talk.answer(1, content=[])
    progress(talk, "p", 1, {"stream": "get"})
    assert talk.verdict("PROG-04").status == "not_applicable"


def test_late_progress_of_a_task_is_late_in_revisions_without_tasks() -> None:
    for letter, status in (("D", "not_applicable"), ("C", "fail")):
        talk = Talk(letter)
        talk.ask(1, "tools/call", task={}, _meta={"progressToken": "p"})
        talk.answer(1, task={"taskId": "t"})
        progress(talk, "p", 1)
        assert talk.verdict("PROG-04").status == status


def test_tokens_of_each_kind_count_for_themselves() -> None:
    talk = Talk("D")
    talk.ask(1, "tools/call", _meta={"progressToken": True})
    progress(talk, 1, 1)
    assert talk.verdict("PROG-01").message == "params.progressToken is 1, and no request gave it"


def test_a_server_may_use_a_token_again_when_its_request_is_answered() -> None:
    talk = Talk("D")
    talk.server_asks("a", "ping", _meta={"progressToken": 1})
    talk.scorer.client({"jsonrpc": "2.0", "id": "a", "result": {}})
    talk.server_asks("b", "ping", _meta={"progressToken": 1})
    assert talk.verdict("PROG-06").status == "pass"


def test_before_a_revision_is_agreed_on_a_message_of_progress_may_be_anything() -> None:
    facts = Facts()
    scorer = Scorer(RULES, facts)
    params = {"progressToken": 1, "progress": 1, "message": 1}
    scorer.server({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
    [verdict] = [each for each in scorer.finish().verdicts if each.id == "PROG-05"]
    assert verdict.status == "pass"


# Logs


def test_without_discovery_nothing_is_known_about_the_capability_to_log() -> None:
    talk = Talk("E")
    talk.ask(1, "tools/call", _meta={LOG_LEVEL: "info"})
    talk.note("notifications/message", level="info", data=1)
    assert talk.verdict("LOG-01").status == "not_applicable"


@pytest.mark.parametrize(
    ("levels", "silent", "own"),
    [
        # An open request asked, though another did not.
        (("info", None), "pass", "pass"),
        # Nothing was requested.
        ((None, None), "fail", "not_applicable"),
    ],
)
def test_on_one_shared_stream_any_open_request_may_have_asked_for_logs(
    levels: tuple[str | None, ...], silent: str, own: str
) -> None:
    talk = Talk("E")
    for id, level in enumerate(levels):
        talk.ask(id, "tools/call", _meta={LOG_LEVEL: level} if level else {})
    talk.note("notifications/message", level="info", data=1)
    assert (talk.verdict("LOG-06").status, talk.verdict("LOG-07").status) == (silent, own)


def test_a_late_log_message_is_late_and_not_unasked_for() -> None:
    talk = Talk("E")
    talk.ask(1, "tools/call", _meta={LOG_LEVEL: "info"})
    talk.answer(1, resultType="complete")
    talk.note("notifications/message", level="info", data=1)
    assert talk.verdict("LOG-06").status == "not_applicable"
    assert talk.verdict("LOG-07").status == "fail"


# Subscriptions and what is cancelled


def test_a_change_without_a_subscriber_is_one_finding_and_not_two() -> None:
    talk = Talk("E")
    talk.note("notifications/tools/list_changed", _meta={SUBSCRIPTION: 1})
    assert talk.verdict("SUB-07").status == "fail"
    assert talk.verdict("SUB-03").status == "not_applicable"


def test_a_stream_that_has_ended_still_has_its_id() -> None:
    talk = Talk("E")
    talk.ask(1, "subscriptions/listen", notifications={"toolsListChanged": True})
    talk.answer(1, resultType="complete", _meta={SUBSCRIPTION: 1})
    talk.note("notifications/cancelled", requestId=1)
    assert talk.verdict("SUB-03").status == "pass"
    assert talk.verdict("CANC-05").status == "pass"


def test_an_old_stream_is_no_finding_once_there_are_too_many_to_remember() -> None:
    talk = Talk("E")
    for number in range(10_050):
        talk.ask(number, "subscriptions/listen", notifications={})
    talk.note("notifications/cancelled", requestId=3)
    talk.note("notifications/tools/list_changed", _meta={SUBSCRIPTION: 3})
    assert talk.verdict("CANC-05").status == "not_applicable"
    assert talk.verdict("SUB-03").status == "not_applicable"


@pytest.mark.slow
def test_a_server_may_cancel_a_request_it_sent_long_ago() -> None:
    talk = Talk("D")
    for number in range(10_050):
        talk.server_asks(number, "ping")
    talk.note("notifications/cancelled", requestId=3)
    assert talk.verdict("CANC-04").status == "not_applicable"


def test_a_server_that_cancels_nothing_in_particular_breaks_the_rule() -> None:
    for letter, rule in (("C", "CANC-04"), ("E", "CANC-05")):
        talk = Talk(letter)
        talk.note("notifications/cancelled", reason="tired")
        verdict = talk.verdict(rule)
        assert (verdict.status, verdict.message.endswith("and is missing")) == ("fail", True)


# Pages and caching


def page(talk: Talk, id: int, scope: str, cursor: str = "", following: str = "") -> None:
    talk.ask(id, "tools/list", **({"cursor": cursor} if cursor else {}))
    more = {"nextCursor": following} if following else {}
    talk.answer(id, resultType="complete", tools=[], ttlMs=0, cacheScope=scope, **more)


def test_a_list_that_is_read_again_may_have_another_scope() -> None:
    talk = Talk("E")
    for id, scope in ((1, "public"), (2, "private")):
        page(talk, id, scope)
    assert talk.verdict("CACHE-04").status == "not_applicable"


def test_a_cursor_of_two_lists_with_different_scopes_proves_nothing() -> None:
    talk = Talk("E")
    page(talk, 1, "public", following="b")
    page(talk, 2, "private", following="b")
    page(talk, 3, "public", cursor="b")
    assert talk.verdict("CACHE-04").status == "not_applicable"


def test_the_first_page_sets_the_scope_and_each_other_one_is_counted() -> None:
    talk = Talk("E")
    page(talk, 1, "public", following="b")
    page(talk, 2, "private", cursor="b", following="c")
    page(talk, 3, "private", cursor="c")
    assert talk.verdict("CACHE-04").count == 2


def test_a_whole_number_with_a_point_is_an_integer_in_json() -> None:
    talk = Talk("E")
    talk.ask(1, "tools/list")
    talk.answer(1, resultType="complete", tools=[], ttlMs=1.0, cacheScope="public")
    assert talk.verdict("CACHE-02").status == "pass"


def test_an_empty_result_lacks_both_hints_and_one_that_is_not_an_object_is_ignored() -> None:
    talk = Talk("E")
    talk.ask(1, "tools/list")
    talk.answer(1)
    assert talk.verdict("CACHE-01").count == 2
    talk = Talk("E")
    talk.ask(1, "tools/list")
    talk.scorer.server({"jsonrpc": "2.0", "id": 1, "result": None})
    assert talk.verdict("CACHE-01").status == "not_applicable"
