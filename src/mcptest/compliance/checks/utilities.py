"""Checks of logging (LOG), pages (PAGE), progress (PROG) and cancellation (CANC, STDIO-09)."""

from __future__ import annotations

import time

from mcptest.compliance.check import (
    PASSED,
    Check,
    Outcome,
    UndecidedError,
    could_not_run,
    not_applicable,
    violated,
)
from mcptest.compliance.checks.features import hinted_call, is_success
from mcptest.compliance.raw_connection import Answer, Pending
from mcptest.core.coverage import KINDS
from mcptest.core.strict_json import dump_json
from mcptest.core.text import excerpt
from mcptest.core.value_class import Record
from mcptest.protocol import jsonrpc
from mcptest.protocol.lists import ListPages
from mcptest.protocol.revisions import FIRST_STATELESS, HANDSHAKE_REVISIONS, META_LOG_LEVEL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from mcptest.compliance.raw_connection import Peer
    from mcptest.compliance.run import Run
    from mcptest.core.coverage import Kind

    Message = dict[str, Any]

__all__ = ["CHECKS"]

_HANDSHAKE_END = HANDSHAKE_REVISIONS[-1]

_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
# What is set again at the end: many servers log everything before a level is set.
_QUIET_LEVEL = "warning"

# How long a slow call is left running before it is cancelled, and watched longer than it takes.
_RUNNING_S = 0.3
_WATCHED_S = 1.0
_LONGEST_S = 30.0
# How long one of two streams is read before the other.
_PIECE_S = 0.05


# Logging


def _sets_every_level(peer: Peer, run: Run) -> Outcome:
    if not peer.has("logging"):
        return not_applicable("the server does not declare logging")
    outcome = PASSED
    for level in _LEVELS:
        peer.clear_evidence()
        answer = peer.request("logging/setLevel", {"level": level})
        if answer.result is None or set(answer.result) - {"_meta"}:
            outcome = violated(
                f"logging/setLevel {level} must get an empty result; the server answered with "
                f"{answer.describe()}"
            ).with_evidence(peer)
            break
    peer.request("logging/setLevel", {"level": _QUIET_LEVEL})
    return outcome


def _refuses_unknown_levels(peer: Peer, run: Run) -> Outcome:
    if not peer.has("logging"):
        return not_applicable("the server does not declare logging")
    if peer.is_stateless:
        method = "tools/list" if peer.has("tools") else "server/discover"
        message = peer.message(method, {"_meta": {META_LOG_LEVEL: "mcptest-loud"}})
    else:
        message = peer.message("logging/setLevel", {"level": "mcptest-loud"})
    answer = peer.request_or_silence(message, is_judged=False)
    if answer.code == jsonrpc.INVALID_PARAMS:
        return PASSED
    return violated(
        "an unknown log level should get error -32602 (invalid params); the server answered with "
        f"{answer.describe()}"
    )


def _logs_only_if_declared(peer: Peer, run: Run) -> Outcome:
    """Provoke log messages: with requests that fail, and in the stateless era with a level."""
    if peer.has("logging"):
        return PASSED if _log_messages(peer) else not_applicable("the server declares logging")
    if peer.is_stateless:
        method = "tools/list" if peer.has("tools") else "server/discover"
        peer.request(method, {"_meta": {META_LOG_LEVEL: "debug"}})
    if not run.has_failed("BASE-20"):
        peer.send_bytes(b"this is not JSON")
    peer.settle()
    logs = _log_messages(peer)
    if logs:
        shown = excerpt(dump_json(logs[0]), 200)
        return violated(f"the server sends log messages, and does not declare logging: {shown}")
    return PASSED


def _log_messages(peer: Peer) -> list[Message]:
    return [each for each in peer.messages if each.get("method") == "notifications/message"]


def _keeps_secrets(peer: Peer, run: Run) -> Outcome:
    if not run.canary:
        return not_applicable("the server was not started by mcptest, so it has no secret of ours")
    if not any(map(_may_leak, run.messages())):
        # Few other checks were chosen.
        peer.request_or_silence(peer.message(f"mcptest/unknown-{run.suffix}"))
    messages = list(filter(_may_leak, run.messages()))
    for message in messages:
        if run.canary in dump_json(message):
            where = "an error" if "error" in message else "a log message"
            return violated(
                f"{where} holds the value of {run.canary_variable}, a secret in the environment"
            ).but(sent=(), received=(dump_json(message),))
    return PASSED if messages else not_applicable("no log message and no error came")


def _may_leak(message: Message) -> bool:
    return "error" in message or message.get("method") == "notifications/message"


# Pages


def _each_list(peer: Peer, judge: Callable[[Kind], Outcome | None]) -> Outcome:
    """The first violation among the lists that the server has."""
    outcomes = []
    for kind in KINDS.values():
        if peer.has(kind.capability):
            peer.clear_evidence()
            outcome = judge(kind)
            outcomes.append(outcome.with_evidence(peer) if outcome else None)
    found = [each for each in outcomes if each is not None]
    bad = [each for each in found if each.found == "violated"]
    if bad:
        return bad[0]
    return PASSED if found else not_applicable("no list of the server has what this is about")


def _lists_end(peer: Peer, run: Run) -> Outcome:
    def judge(kind: Kind) -> Outcome | None:
        pages, seen = ListPages(kind.method, kind.name, max_pages=50), set()
        while (params := pages.next_params()) is not None:
            answer = peer.request(kind.method, params)
            if answer.message is None:
                return could_not_run(f"{kind.method} got {answer.problem}")
            for entry in pages.add(answer.message):
                identity = entry.get(kind.key) if isinstance(entry, dict) else None
                if not isinstance(identity, str):
                    continue
                if identity in seen:
                    shown = excerpt(dump_json(identity), 80)
                    return violated(f"{kind.method} has {shown} twice, over all its pages")
                seen.add(identity)
        if pages.problem and pages.problem.kind in ("circle", "cursor", "endless"):
            return violated(pages.problem.message)
        return PASSED if pages.problem is None else None

    return _each_list(peer, judge)


def _refuses_unknown_cursors(peer: Peer, run: Run) -> Outcome:
    def judge(kind: Kind) -> Outcome | None:
        cursor = f"mcptest-unknown-{run.suffix}"
        answer = peer.request_or_silence(peer.message(kind.method, {"cursor": cursor}))
        if answer.code in (jsonrpc.INVALID_PARAMS, jsonrpc.METHOD_NOT_FOUND):
            return PASSED if answer.code == jsonrpc.INVALID_PARAMS else None
        return violated(
            f"{kind.method} with a cursor that the server never gave should get error -32602; the "
            f"server answered with {answer.describe()}"
        )

    return _each_list(peer, judge)


def _repeats_pages(peer: Peer, run: Run) -> Outcome:
    def judge(kind: Kind) -> Outcome | None:
        first = peer.request(kind.method)
        cursor = (first.result or {}).get("nextCursor")
        if not isinstance(cursor, str):
            return None
        pages = [peer.request(kind.method, {"cursor": cursor}) for _ in range(2)]
        lists = [(page.result or {}).get(kind.name) for page in pages]
        if lists[0] == lists[1]:
            return PASSED
        return violated(f"one cursor of {kind.method}, sent twice, got two different pages")

    return _each_list(peer, judge)


# Cancellation and progress


def _ignores_late_cancellations(peer: Peer, run: Run) -> Outcome:
    done = peer.next_id()
    peer.request(peer.harmless_method, id=done)
    # A second answer, which BASE-08 reports, comes before that of a later request.
    peer.settle()
    cancelled: tuple[Message, ...] = (
        {"requestId": done, "reason": "mcptest: it is finished"},
        {"requestId": f"never-sent-{run.suffix}"},
        {"reason": "mcptest: no id"},
    )
    for params in cancelled:
        peer.clear_evidence()
        peer.send(jsonrpc.notification("notifications/cancelled", params))
        answer = peer.settle()
        replies = peer.unasked_responses(answer)
        if replies or answer.message is None:
            seen = excerpt(dump_json(replies[0]), 120) if replies else answer.problem
            return violated(
                "notifications/cancelled for a request that is finished or unknown must be "
                f"ignored; the server answered with {seen}"
            )
    return PASSED


def _start_tool(peer: Peer, run: Run, hint: str, meta: Message) -> Pending:
    params = hinted_call(run.hints, hint)
    return peer.start(peer.message("tools/call", params | ({"_meta": meta} if meta else {})))


class _CancelledCall(Record):
    """A slow call that was cancelled: its request, what came before, and what came afterwards."""

    pending: Pending
    before: Answer
    after: Answer


def _cancel_slow_tool(peer: Peer, run: Run, token: str) -> _CancelledCall:
    """Cancel a slow call. UndecidedError if that would show nothing.

    A second call, which is not cancelled, shows how long the first would have taken: an answer that
    does not come by then does not come.
    """
    takes_s = float(run.hints["slow_tool"].get("seconds", 0.0))
    earliest_end = time.monotonic() + min(takes_s, _LONGEST_S)
    pending = _start_tool(peer, run, "slow_tool", {"progressToken": token})
    control: Pending | None = None
    try:
        before = pending.wait_until(lambda _: False, _RUNNING_S)
        answer = next(filter(pending.is_response, before.others), None)
        if answer is not None:
            seen = excerpt(dump_json(answer.get("result", answer.get("error"))), 120)
            reason = f"slow_tool answered within {_RUNNING_S:g} s, before it was cancelled: {seen}"
            raise UndecidedError(could_not_run(reason, needs="slow_tool"))
        params = {"requestId": pending.id, "reason": "mcptest: cancellation is checked"}
        peer.notify("notifications/cancelled", params)
        control = _start_tool(peer, run, "slow_tool", {})
        # A server may serve one call after the other.
        limit_s = 2.0 * min(takes_s, _LONGEST_S) + peer.timeout_s
        finished, after = _wait_for_both(control, pending, limit_s)
        if finished.message is None and not peer.is_lost:
            params = {"requestId": control.id, "reason": "mcptest: the call takes too long"}
            peer.notify("notifications/cancelled", params)
            reason = (
                f"slow_tool was not answered within {limit_s:g} s, although it was not cancelled: "
                "is slow_tool.seconds long enough?"
            )
            raise UndecidedError(could_not_run(reason, needs="slow_tool"))
        if not takes_s and not is_success(finished):
            reason = f"slow_tool does not succeed, and has no seconds: it got {finished.describe()}"
            raise UndecidedError(could_not_run(reason, needs="slow_tool"))
        if after.message is None:
            left_s = max(earliest_end - time.monotonic(), 0.0)
            after = pending.wait_until(pending.is_response, left_s + _WATCHED_S)
        return _CancelledCall(pending=pending, before=before, after=after)
    finally:
        pending.close()
        if control:
            control.close()


def _wait_for_both(control: Pending, cancelled: Pending, limit_s: float) -> tuple[Answer, Answer]:
    """Wait for the answer to `control`, and read what comes for the other request meanwhile.

    Over HTTP each has a stream of its own: what is read late would seem to have come late.
    """
    deadline = time.monotonic() + limit_s
    after = Answer()
    while True:
        if after.message is None:
            after = cancelled.look_for(cancelled.is_response, _PIECE_S)
        finished = control.look_for(control.is_response, _PIECE_S)
        is_over = control.peer.is_lost or time.monotonic() > deadline
        if finished.message is not None or is_over:
            return finished, after


def _stays_silent_after_cancellation(peer: Peer, run: Run) -> Outcome:
    cancelled = _cancel_slow_tool(peer, run, f"cancel-{run.suffix}")
    if cancelled.after.message is None:
        return PASSED
    return violated(f"a call that was cancelled still got {cancelled.after.describe()}")


def _stops_progress_after_cancellation(peer: Peer, run: Run) -> Outcome:
    token = f"progress-{run.suffix}"
    cancelled = _cancel_slow_tool(peer, run, token)
    first, later = (_progress_of(each, token) for each in (cancelled.before, cancelled.after))
    if not later:
        return not_applicable("slow_tool reports no progress") if not first else PASSED
    if len(later) - len(first) <= 1:
        # One may have been on its way.
        return PASSED
    return violated(f"{len(later) - len(first)} progress notifications came after the cancellation")


def _progress_of(answer: Answer, token: object) -> list[Message]:
    return [
        each
        for each in answer.others
        if each.get("method") == "notifications/progress"
        and jsonrpc.params_of(each).get("progressToken") == token
    ]


def _reports_no_unasked_progress(peer: Peer, run: Run) -> Outcome:
    silent = _start_tool(peer, run, "progress_tool", {})
    limit_s = max(peer.timeout_s, 2.0 * float(run.hints["progress_tool"].get("seconds", 1.0)))
    answer = silent.wait(limit_s)
    silent.close()
    if answer.message is None:
        return could_not_run(f"the call of progress_tool got {answer.problem}")
    unasked = [each for each in answer.others if each.get("method") == "notifications/progress"]
    if unasked:
        return violated("a call without a progress token got progress notifications")
    # With tokens of both types, for the passive rules about progress.
    has_progress = False
    for token in (f"token-{run.suffix}", 4711):
        asked = _start_tool(peer, run, "progress_tool", {"progressToken": token})
        answer = asked.wait(limit_s)
        asked.close()
        has_progress |= bool(_progress_of(answer, token))
    if not has_progress:
        return could_not_run(
            "progress_tool reports no progress with a progress token either: its call got "
            f"{answer.describe()}",
            needs="progress_tool",
        )
    return PASSED


CHECKS = {
    "LOG-01 capability": Check(
        property="log messages come only from a server that declares logging",
        run=_logs_only_if_declared,
        phase="malformed",
        transport="stdio",
        section="server/utilities/logging#Capabilities",
    ),
    "LOG-03 set-level-empty": Check(
        property="logging/setLevel accepts each of the eight levels with an empty result",
        run=_sets_every_level,
        until=_HANDSHAKE_END,
        section="server/utilities/logging#Setting Log Level",
    ),
    "LOG-04 invalid-level": Check(
        property="an unknown log level gets error -32602",
        run=_refuses_unknown_levels,
        level="SHOULD",
        explains=("BASE-27",),
        section="server/utilities/logging#Error Handling",
    ),
    "LOG-08 no-secrets": Check(
        property="no log message and no error holds a secret of the environment",
        run=_keeps_secrets,
        phase="end",
        section="server/utilities/logging#Security",
    ),
    "PAGE-02 terminates": Check(
        property="every list ends, with no cursor and no entry twice",
        run=_lists_end,
        level="SHOULD",
        section="server/utilities/pagination#Response Format",
    ),
    "PAGE-03 invalid-cursor": Check(
        property="an unknown cursor gets error -32602",
        run=_refuses_unknown_cursors,
        level="SHOULD",
        is_shared=True,
        section="server/utilities/pagination#Error Handling",
    ),
    "PAGE-04 stable": Check(
        property="one cursor, sent twice, gets the same page",
        run=_repeats_pages,
        level="SHOULD",
        explains=("LIFE-24",),
        section="server/utilities/pagination#Implementation Guidelines",
    ),
    "CANC-01 race-safe": Check(
        property="cancelling a request that is finished or unknown has no effect",
        run=_ignores_late_cancellations,
        phase="malformed",
        transport="stdio",
        section="basic/utilities/cancellation#Error Handling",
        stateless_section="basic/patterns/cancellation#Error Handling",
    ),
    "CANC-02 no-response-after": Check(
        property="a cancelled call gets no response",
        run=_stays_silent_after_cancellation,
        until=_HANDSHAKE_END,
        level="SHOULD",
        hint="slow_tool",
        section="basic/utilities/cancellation#Behavior Requirements",
        stateless_section="basic/patterns/cancellation#Behavior Requirements",
    ),
    "CANC-03 stops-work": Check(
        property="progress stops when a call is cancelled",
        run=_stops_progress_after_cancellation,
        level="SHOULD",
        hint="slow_tool",
        transport="stdio",
        section="basic/utilities/cancellation#Behavior Requirements",
        stateless_section="basic/patterns/cancellation#Behavior Requirements",
    ),
    "STDIO-09 cancel-silence": Check(
        property="a cancelled call gets no response",
        run=_stays_silent_after_cancellation,
        since=FIRST_STATELESS,
        hint="slow_tool",
        transport="stdio",
        section="basic/transports/stdio#Cancellation",
    ),
    "PROG-02 none-without-token": Check(
        property="a call without a progress token gets no progress notifications",
        run=_reports_no_unasked_progress,
        hint="progress_tool",
        section="basic/utilities/progress#Progress Flow",
        stateless_section="basic/patterns/progress#Progress Flow",
    ),
}
