"""The lane `security` of suites: one scan of a server per case.

A scan makes connections of its own: the server of the tests is stopped first, because two servers
may not be able to run at the same time.
"""

from __future__ import annotations

import time

from mcptest.core.errors import InterruptedRunError
from mcptest.core.results import CaseResult, Mismatch
from mcptest.engine.pool import SingleServer
from mcptest.security.rules import RULES
from mcptest.security.run import Scanner, ScanOptions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest.core.plan import Case, ServerSpec
    from mcptest.core.security import BaselineEntry, ScanReport, ScanWish
    from mcptest.engine.pool import ServerPool

__all__ = ["scan_server"]

# A tool that answers in more time is given up.
_TIMEOUT_S = 10.0


def scan_server(case: Case, wish: ScanWish, spec: ServerSpec, pool: ServerPool) -> CaseResult:
    """The result of a scan: each finding that fails it is a mismatch, the others are notes."""
    began = time.monotonic()
    pool.take_inventory()
    pool.replace("the one before was stopped to be scanned")

    def connect(spec: ServerSpec) -> SingleServer:
        short = spec.but(timeout_s=min(spec.timeout_s, _TIMEOUT_S))
        return SingleServer(short, pool.launcher, lambda: None)

    scanner = Scanner(connect, ScanOptions(skip=frozenset(wish.skip), fail_on=wish.fail_on))
    if wish.others:
        scanner.compare([spec, *wish.others])
    else:
        scanner.run([spec])
    report = scanner.report()
    if report.interrupted:
        raise InterruptedRunError
    pool.record_answer()
    pool.record_pass()
    mine = {server.name for server in report.servers}
    report = report.with_baseline([each for each in wish.baseline if each.server in ("", *mine)])
    report = report.but(stale=tuple(each for each in report.stale if _is_stale(each, wish)))
    mismatches = tuple(_find_mismatches(report))
    return CaseResult(
        name=case.name,
        status="failed" if mismatches else "passed",
        line=case.line,
        duration_s=time.monotonic() - began,
        mismatches=mismatches,
        notes=_make_notes(report),
    )


def _is_stale(entry: BaselineEntry, wish: ScanWish) -> bool:
    """True unless another scan of the same suite may find what the entry is about."""
    if not wish.is_one_of_several:
        return True
    return not wish.others and bool(entry.server) and entry.id not in ("SEC-008", "SEC-012")


def _find_mismatches(report: ScanReport) -> Iterator[Mismatch]:
    for each in report.failing:
        yield Mismatch(
            path=f"{each.id} {each.path}",
            expected=f"no finding of severity {report.fail_on} or above",
            actual=each.evidence or each.message,
            message=f"{each.severity}, {each.confidence}: {each.message}",
            is_described=True,
        )
    for stale in report.stale:
        yield Mismatch(
            path=f"{stale.id} {stale.path}",
            expected="the finding that the baseline accepts",
            actual="nothing found",
            message="stale in the baseline: remove the entry",
            is_described=True,
        )
    for unread in report.unread:
        yield Mismatch(
            path="lists",
            expected="lists that can be read",
            actual=unread,
            message=f"not judged: {unread}",
            is_described=True,
        )


def _make_notes(report: ScanReport) -> tuple[str, ...]:
    light = [each for each in report.findings if each not in report.failing]
    return (
        *(f"{each.severity}: {each.id} {each.path}: {each.message}" for each in light),
        *(f"accepted: {each.id} {each.path}: {reason}" for each, reason in report.accepted),
        *(
            f"not run: {rule.id}: {rule.reason}"
            for rule in report.rules
            # A suite names no tools to probe.
            if rule.status == "not_run" and RULES[rule.id].needs != "tools"
        ),
        *report.notes,
    )
