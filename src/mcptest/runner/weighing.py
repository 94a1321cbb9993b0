"""Weigh a reply against an expectation, in bounded time and with what comes a little late."""

from __future__ import annotations

import time
from contextlib import nullcontext
from itertools import islice

from mcptest.core.record import ABSENT
from mcptest.runner.judging import (
    is_plainly_met,
    judge,
    notifications_may_still_come,
    stderr_may_still_come,
)
from mcptest.wire.cpu_limit import CpuLimit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest.core.outcome import Mismatch
    from mcptest.core.plan import Expectation
    from mcptest.core.text import Trail
    from mcptest.runner.launcher import Reply
    from mcptest.runner.server import Server

__all__ = ["MAX_MISMATCHES", "weighed"]

# How long stderr and notifications are waited for, and only where waiting could help.
_STDERR_PATIENCE_S = 0.25
_NOTIFICATION_PATIENCE_S = 2.0

MAX_MISMATCHES = 1000

# Above this an answer is judged in a process of its own, and may take a little longer.
_LARGE_BYTES = 256 * 1024
_SLOWEST_BYTES_PER_S = 4_000_000

# How long all patterns of one test may compute.
_PATTERN_LIMIT = CpuLimit(2.0)


def weighed(
    server: Server, expectation: Expectation, reply: Reply, trail: Trail = None
) -> tuple[Reply, tuple[Mismatch, ...]]:
    """The reply with all that came a little late, and every expectation it does not meet."""
    if is_plainly_met(expectation, reply):
        return reply, ()
    if expectation.has_remote_check:
        return _weighed_here(server, expectation, reply, trail)
    if not expectation.has_regex:
        reply = _with_latecomers(server, expectation, reply)
        return reply, _first(judge(expectation, reply, trail))
    with _PATTERN_LIMIT:
        if not expectation.has_foreign_check:
            reply = _with_latecomers(server, expectation, reply)
        if reply.size <= _LARGE_BYTES and not expectation.has_foreign_check:
            return reply, _first(judge(expectation, reply, trail))
    limit_s = max(_PATTERN_LIMIT.seconds, reply.size / _SLOWEST_BYTES_PER_S)
    whole = reply
    # Few answers are that large.
    from mcptest.runner.apart import judge_apart  # noqa: PLC0415

    return reply, judge_apart(
        lambda: _first(judge(expectation, whole, trail)), limit_s, server.launcher
    )


def _weighed_here(
    server: Server, expectation: Expectation, reply: Reply, trail: Trail
) -> tuple[Reply, tuple[Mismatch, ...]]:
    """The same where a copy of this process could not speak with the plugins of this one."""
    if expectation.has_foreign_check:
        from mcptest.runner.foreign import bounded  # noqa: PLC0415  # few ask both

        expectation = bounded(expectation, _PATTERN_LIMIT.seconds, server.launcher)
    with _PATTERN_LIMIT if expectation.has_regex else nullcontext():
        reply = _with_latecomers(server, expectation, reply)
        return reply, _first(judge(expectation, reply, trail))


def _with_late_values(server: Server, expectation: Expectation, reply: Reply) -> Reply:
    """The same for assertions about what the server says beside its answer."""
    from mcptest.runner.asserting import may_still_hold  # noqa: PLC0415  # only suites have them

    deadline = time.monotonic() + _NOTIFICATION_PATIENCE_S
    while may_still_hold(expectation, reply, "notifications"):
        if not server.wait_for_notification(deadline):
            break
        reply = reply.but(notifications=server.notifications)
    deadline = time.monotonic() + _STDERR_PATIENCE_S
    while may_still_hold(expectation, reply, "stderr"):
        if not server.wait_for_stderr(deadline):
            break
        reply = reply.but(stderr=server.connection.stderr_since(reply.stderr_mark))
    return reply


def _first(mismatches: Iterator[Mismatch]) -> tuple[Mismatch, ...]:
    """As many as anybody can read: an answer can be wrong in a million places."""
    return tuple(islice(mismatches, MAX_MISMATCHES))


def _with_latecomers(server: Server, expectation: Expectation, reply: Reply) -> Reply:
    """The reply with what stderr and stdout bring a little later, where that could help."""
    if expectation.stderr is not ABSENT:
        deadline = time.monotonic() + _STDERR_PATIENCE_S
        while stderr_may_still_come(expectation, reply.stderr):
            if not server.wait_for_stderr(deadline):
                break
            reply = reply.but(stderr=server.connection.stderr_since(reply.stderr_mark))
    if expectation.assertions:
        reply = _with_late_values(server, expectation, reply)
    if expectation.notifications:
        deadline = time.monotonic() + _NOTIFICATION_PATIENCE_S
        while notifications_may_still_come(expectation, reply):
            if not server.wait_for_notification(deadline):
                break
            reply = reply.but(notifications=server.notifications)
    return reply
