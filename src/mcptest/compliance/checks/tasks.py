"""Checks of tasks: experimental in 2025-11-25 (TASK), an extension in 2026-07-28 (XTASK).

The extension is checked only where the server declares it. Checks that need a task make one of the
tool that the hint `slow_tool` names, one of them of `failing_tool`, and cancel it.
"""

from __future__ import annotations

import time
from functools import partial

from mcptest.compliance.check import (
    PASSED,
    Check,
    Outcome,
    could_not_run,
    not_applicable,
    violated,
)
from mcptest.compliance.checks.features import (
    hinted_call,
    is_success,
    no_callable_tool,
    require_entries,
    require_tools,
    sample_call,
    show_name,
    task_support,
    try_call,
    undeclared,
)
from mcptest.core.strict_json import dump_json
from mcptest.core.text import excerpt
from mcptest.protocol.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND, tool_failure
from mcptest.protocol.revisions import (
    HEADER_MISMATCH,
    META_CAPABILITIES,
    META_TASK,
    MISSING_CAPABILITY,
    TASKS_EXTENSION,
)
from mcptest.rules.shared import is_iso_date

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from mcptest.compliance.raw_connection import Answer, Peer
    from mcptest.compliance.run import Run

    Message = dict[str, Any]

__all__ = ["CHECKS"]

_ENDED = ("completed", "failed", "cancelled")
_TTL_MS = 60_000
_MAX_TOOLS = 10


# Tasks of 2025-11-25


def _offers(peer: Peer, *path: str) -> bool:
    """True if the server declares a part of its tasks, such as `list` or `requests.tools.call`."""
    value: object = peer.capabilities.get("tasks")
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return value is not None and value is not False


_CALL = ("requests", "tools", "call")


def _lacks_tasks(peer: Peer) -> str:
    return "" if _offers(peer, *_CALL) else "tasks.requests.tools.call"


def _ignores_undeclared_tasks(peer: Peer, run: Run) -> Outcome:
    if _offers(peer, *_CALL):
        return not_applicable("the server declares tasks.requests.tools.call")
    tools = require_tools(peer, run)
    for tool in tools[:_MAX_TOOLS]:
        params = sample_call(tool)
        # A call that fails is as good: it must fail in the same way with a task.
        plain = try_call(peer, params)
        if plain.result is None:
            continue
        peer.clear_evidence()
        answer = peer.request("tools/call", {**params, "task": {"ttl": _TTL_MS}})
        if is_success(answer) or tool_failure(answer.result or {}):
            return PASSED
        return violated(
            f"the server does not declare tasks.requests.tools.call, so it must ignore the member "
            f"task of a call; the tool {show_name(tool)} was answered with {answer.describe()}"
        )
    return not_applicable("no call of a tool with made-up arguments got a result")


def _refuses_unknown_tasks(peer: Peer, run: Run) -> Outcome:
    if not _offers(peer):
        return undeclared("tasks")
    methods = ["tasks/get", "tasks/result"]
    if _offers(peer, "cancel"):
        methods.append("tasks/cancel")
    for method in methods:
        peer.clear_evidence()
        answer = peer.request(method, {"taskId": run.unknown_name("task")})
        if answer.code != INVALID_PARAMS:
            return violated(
                f"{method} of a task that does not exist got {answer.describe()}; expected error "
                "-32602"
            )
    return PASSED


def _refuses_bad_cursor(peer: Peer, run: Run) -> Outcome:
    if not _offers(peer, "list"):
        return not_applicable("the server does not declare tasks.list")
    answer = peer.request("tasks/list", {"cursor": run.unknown_name("cursor")})
    if answer.code == INVALID_PARAMS:
        return PASSED
    return violated(
        f"tasks/list with a cursor that was never given got {answer.describe()}; expected error "
        "-32602"
    )


def _refuses_calls(wanted: str, *, as_task: bool) -> Callable[[Peer, Run], Outcome]:
    """The check that tools refuse to be called in the way that they do not support."""

    def check(peer: Peer, run: Run) -> Outcome:
        tools = require_entries(peer, "tools")
        fitting = [tool for tool in tools if task_support(tool) == wanted]
        if not fitting:
            return not_applicable(f"no tool has taskSupport {wanted}")
        tool = next(filter(run.may_call, fitting), None)
        if tool is None:
            return no_callable_tool(f"no tool with taskSupport {wanted} may be called")
        params = sample_call(tool) | ({"task": {"ttl": _TTL_MS}} if as_task else {})
        answer = peer.request("tools/call", params)
        if answer.code == METHOD_NOT_FOUND:
            return PASSED
        task = (answer.result or {}).get("task")
        if isinstance(task, dict) and _offers(peer, "cancel"):
            peer.request("tasks/cancel", {"taskId": task.get("taskId")})
        how = "as a task" if as_task else "without a task"
        return violated(
            f"the tool {show_name(tool)} has taskSupport {wanted}; called {how} it was answered "
            f"with {answer.describe()}; expected error -32601"
        )

    return check


class _Task:
    """A task made of the slow tool of the hints: what the call was answered with, and its id."""

    def __init__(self, peer: Peer, call: Message) -> None:
        self.peer = peer
        self.call = call
        params = {**call, "task": {"ttl": _TTL_MS}}
        self.answer = peer.request("tools/call", params)
        task = (self.answer.result or {}).get("task")
        self.shown: Message = task if isinstance(task, dict) else {}
        id = self.shown.get("taskId")
        self.id = id if isinstance(id, str) else ""

    def request(self, method: str, timeout_s: float | None = None) -> Answer:
        return self.peer.request(method, {"taskId": self.id}, timeout_s=timeout_s)

    def cancel(self) -> None:
        """Leave no task behind that still works."""
        if self.id and _offers(self.peer, "cancel"):
            self.request("tasks/cancel")


def _with_task(
    judge: Callable[[_Task, float], Outcome], *parts: str, is_needed: bool = True
) -> Callable[[Peer, Run], Outcome]:
    """A check with a task, for servers that declare these parts of tasks.

    `judge` also gets the seconds in which the task should have ended. Unless the task `is_needed`,
    `judge` is also called when the server did not make one.
    """

    def check(peer: Peer, run: Run) -> Outcome:
        for part in parts:
            if not _offers(peer, part):
                return not_applicable(f"the server does not declare tasks.{part}")
        call = hinted_call(run.hints, "slow_tool")
        name = call["name"]
        tools = [tool for tool in peer.list_all("tools") or () if tool.get("name") == name]
        if not tools or task_support(tools[0]) == "forbidden":
            return not_applicable(f"the tool {excerpt(str(name), 60)} cannot be called as a task")
        peer.clear_evidence()
        task = _Task(peer, call)
        if is_needed and not task.id:
            return could_not_run(f"no task was made: the call got {task.answer.describe()}")
        try:
            return judge(task, run.hints["slow_tool"].get("seconds", 0) + peer.timeout_s)
        finally:
            task.cancel()

    return check


def _creates_task(task: _Task, wait_s: float) -> Outcome:
    if task.id:
        return PASSED
    return violated(
        f"a call of the tool {show_name(task.call)} as a task got {task.answer.describe()}; "
        "expected a result with the member task, whose taskId is a string"
    )


def _has_own_id(task: _Task, wait_s: float) -> Outcome:
    other = _Task(task.peer, task.call)
    other.cancel()
    if not other.id:
        return could_not_run(f"no second task was made: the call got {other.answer.describe()}")
    if other.id != task.id:
        return PASSED
    return violated(f"two tasks have the same taskId, {dump_json(task.id)}")


def _has_dates(task: _Task, wait_s: float) -> Outcome:
    """Look at the format of the dates; BASE-41 reports what is not there, or not a string."""
    got = task.request("tasks/get").result
    for where, shown in (("the answer to the call", task.shown), ("tasks/get", got or {})):
        for name in ("createdAt", "lastUpdatedAt"):
            value = shown.get(name)
            if not isinstance(value, str):
                return not_applicable(f"the task in {where} has no {name}, which BASE-41 reports")
            if not is_iso_date(value):
                return violated(
                    f"{name} of the task in {where} is {excerpt(dump_json(value), 80)}; expected a "
                    "date and time as in ISO 8601"
                )
    return PASSED


def _starts_working(task: _Task, wait_s: float) -> Outcome:
    status = task.shown.get("status")
    if status == "working":
        return PASSED
    return violated(f"a new task has the status {dump_json(status)}; expected working")


def _waits_for_result(task: _Task, wait_s: float) -> Outcome:
    answer = task.request("tasks/result", wait_s)
    if answer.message is None:
        return could_not_run(
            f"tasks/result got {answer.describe()}: is slow_tool.seconds long enough?"
        )
    got = task.request("tasks/get")
    if got.result is None:
        return could_not_run(f"tasks/get got {got.describe()}")
    status = got.result.get("status")
    if status in _ENDED:
        return PASSED
    return violated(
        f"tasks/result was answered while the task has the status {dump_json(status)}; expected no "
        "answer before the task has ended"
    )


def _names_task_in_result(task: _Task, wait_s: float) -> Outcome:
    result = task.request("tasks/result", wait_s).result
    if result is None:
        return could_not_run("tasks/result was not answered with a result")
    meta = result.get("_meta")
    related = meta.get(META_TASK) if isinstance(meta, dict) else None
    if isinstance(related, dict) and related.get("taskId") == task.id:
        return PASSED
    return violated(
        f"the result of tasks/result has {dump_json(related)} as {META_TASK} in its _meta; "
        "expected the taskId of the task"
    )


def _refuses_to_cancel_ended(task: _Task, wait_s: float) -> Outcome:
    first = task.request("tasks/cancel")
    if first.result is None:
        return could_not_run(f"tasks/cancel got {first.describe()}")
    task.peer.clear_evidence()
    answer = task.request("tasks/cancel")
    if answer.code == INVALID_PARAMS:
        return PASSED
    return violated(
        f"tasks/cancel of a task that is cancelled already got {answer.describe()}; expected error "
        "-32602"
    )


def _stays_cancelled(task: _Task, wait_s: float) -> Outcome:
    answer = task.request("tasks/cancel")
    if answer.result is None:
        return could_not_run(f"tasks/cancel got {answer.describe()}")
    status = answer.result.get("status")
    if status != "cancelled":
        return violated(
            f"tasks/cancel was answered with the status {dump_json(status)}; expected cancelled"
        )
    # Until the work would have ended, had it not been cancelled.
    deadline = time.monotonic() + wait_s - task.peer.timeout_s + 0.5
    while time.monotonic() < deadline:
        task.peer.clear_evidence()
        status = (task.request("tasks/get").result or {}).get("status")
        if status != "cancelled":
            return violated(
                f"a task that was cancelled has the status {dump_json(status)} later; expected "
                "cancelled"
            )
        time.sleep(0.2)
    return PASSED


def _is_listed(task: _Task, wait_s: float) -> Outcome:
    if task.request("tasks/get").result is None:
        return could_not_run("tasks/get does not find the task")
    # Not with ListPages, which ends at a page that breaks a rule: that is not what is checked here.
    params: Message = {}
    for _ in range(50):
        result = task.peer.request("tasks/list", params).result or {}
        tasks = result.get("tasks")
        for each in tasks if isinstance(tasks, list) else ():
            if isinstance(each, dict) and each.get("taskId") == task.id:
                return PASSED
        if not isinstance(result.get("nextCursor"), str):
            break
        params = {"cursor": result["nextCursor"]}
    return violated("a task that tasks/get finds is not in tasks/list")


# The extension of 2026-07-28


def _lacks_extension(peer: Peer) -> str:
    extensions = peer.capabilities.get("extensions")
    is_declared = isinstance(extensions, dict) and TASKS_EXTENSION in extensions
    return "" if is_declared else f"the extension {TASKS_EXTENSION}"


_DECLARED: Message = {"_meta": {META_CAPABILITIES: {"extensions": {TASKS_EXTENSION: {}}}}}


def _refuses_unknown_extension_tasks(peer: Peer, run: Run) -> Outcome:
    params: Message = {"taskId": run.unknown_name("task"), **_DECLARED}
    for method in ("tasks/get", "tasks/update", "tasks/cancel"):
        peer.clear_evidence()
        more: Message = {"inputResponses": {}} if method == "tasks/update" else {}
        answer = peer.request(method, params | more)
        if answer.code != INVALID_PARAMS:
            return violated(
                f"{method} of a task that does not exist got {answer.describe()}; expected error "
                "-32602",
                level="" if method == "tasks/get" else "SHOULD",
            )
    return PASSED


def _refuses_undeclared_clients(peer: Peer, run: Run) -> Outcome:
    for method in ("tasks/get", "tasks/update", "tasks/cancel"):
        peer.clear_evidence()
        more: Message = {"inputResponses": {}} if method == "tasks/update" else {}
        answer = peer.request(method, {"taskId": run.unknown_name("task")} | more)
        if answer.code != MISSING_CAPABILITY:
            return violated(
                f"{method} of a client that does not declare the extension {TASKS_EXTENSION} got "
                f"{answer.describe()}; expected error {MISSING_CAPABILITY}"
            )
    return PASSED


def _has_no_removed_methods(peer: Peer, run: Run) -> Outcome:
    if peer.has("tasks"):
        return violated(
            "the server declares the capability tasks, which only 2025-11-25 has, beside the "
            "extension"
        )
    params = {"taskId": run.unknown_name("task"), **_DECLARED}
    answer = peer.request("tasks/result", params)
    if answer.code == METHOD_NOT_FOUND:
        return PASSED
    return violated(
        f"tasks/result, which the extension does not have, got {answer.describe()}; expected error "
        "-32601"
    )


def _refuses_undeclared_listening(peer: Peer, run: Run) -> Outcome:
    filter = {"taskIds": [run.unknown_name("task")]}
    message = peer.message("subscriptions/listen", {"notifications": filter})
    pending = peer.start(message)
    method = "notifications/subscriptions/acknowledged"
    try:
        # A server that acknowledges this leaves the request open.
        answer = pending.wait_until(
            lambda each: pending.is_response(each) or each.get("method") == method
        )
    finally:
        pending.close()
    if answer.message is not None and pending.is_response(answer.message):
        if answer.code == MISSING_CAPABILITY:
            return PASSED
        came = answer.describe()
    else:
        came = "an acknowledgement" if answer.message else answer.describe()
        if peer.transport == "stdio":
            peer.notify("notifications/cancelled", {"requestId": message["id"]})
    return violated(
        f"subscriptions/listen to tasks, of a client that does not declare the extension "
        f"{TASKS_EXTENSION}, got {came}; expected error {MISSING_CAPABILITY}"
    )


def _compares_task_header(peer: Peer, run: Run) -> Outcome:
    params = {"taskId": run.unknown_name("task"), **_DECLARED}
    headers = {"Mcp-Name": run.unknown_name("other-task")}
    answer = peer.request("tasks/get", params, headers=headers, is_judged=False)
    if answer.code == HEADER_MISMATCH and answer.status == 400:
        return PASSED
    return violated(
        f"tasks/get whose header Mcp-Name is not the taskId in the body got {answer.describe()}; "
        f"expected HTTP status 400 and error {HEADER_MISMATCH}"
    )


class _ExtensionTask:
    """A task that the server made of a call of a tool of the hints."""

    def __init__(self, peer: Peer, run: Run, hint: str) -> None:
        self.peer = peer
        self.answer = peer.request("tools/call", hinted_call(run.hints, hint) | _DECLARED)
        result = self.answer.result or {}
        self.id = result.get("taskId") if result.get("resultType") == "task" else None

    def request(self, method: str) -> Answer:
        return self.peer.request(method, {"taskId": self.id, **_DECLARED})

    def poll(self, wait_s: float) -> Iterator[Answer]:
        """What tasks/get is answered with, until the time is over."""
        deadline = time.monotonic() + wait_s
        while True:
            self.peer.clear_evidence()
            yield self.request("tasks/get")
            if time.monotonic() > deadline:
                return
            time.sleep(0.1)


def _with_extension_task(
    judge: Callable[[_ExtensionTask, float], Outcome], hint: str = "slow_tool"
) -> Callable[[Peer, Run], Outcome]:
    def check(peer: Peer, run: Run) -> Outcome:
        task = _ExtensionTask(peer, run, hint)
        if not isinstance(task.id, str):
            return not_applicable(f"the server did not make a task of the call of {hint}")
        try:
            return judge(task, run.hints[hint].get("seconds", 0) + peer.timeout_s)
        finally:
            task.request("tasks/cancel")

    return check


def _is_found_at_once(task: _ExtensionTask, wait_s: float) -> Outcome:
    answer = task.request("tasks/get")
    if (answer.result or {}).get("taskId") == task.id:
        return PASSED
    return violated(
        f"tasks/get directly after a task was made got {answer.describe()}; expected the task"
    )


def _has_outcome(task: _ExtensionTask, wait_s: float) -> Outcome:
    """Wait for the end of a task; what it must have then depends on its status."""
    wanted = {"completed": "result", "failed": "error", "input_required": "inputRequests"}
    for answer in task.poll(wait_s):
        shown = answer.result
        if shown is None:
            return could_not_run(f"tasks/get got {answer.describe()}")
        status = shown.get("status")
        if shown.get("resultType") != "complete":
            return violated(
                f"the result of tasks/get has the resultType {dump_json(shown.get('resultType'))}; "
                "expected complete"
            )
        member = wanted.get(status) if isinstance(status, str) else None
        if member and not isinstance(shown.get(member), dict):
            return violated(
                f"tasks/get of a task with the status {status} got {answer.describe()}; expected "
                f"the member {member}"
            )
        if status in (*_ENDED, "input_required"):
            return PASSED
    return could_not_run("the task did not end in time: is slow_tool.seconds long enough?")


def _completes_with_failure(task: _ExtensionTask, wait_s: float) -> Outcome:
    """A tool that fails has a result, so its task is completed; failed is for JSON-RPC errors."""
    status: object = None
    for answer in task.poll(wait_s):
        shown = answer.result
        if shown is None:
            return could_not_run(f"tasks/get got {answer.describe()}")
        status = shown.get("status")
        if status == "completed":
            result = shown.get("result")
            if isinstance(result, dict) and tool_failure(result):
                return PASSED
            return could_not_run("the call of failing_tool did not fail")
        if status == "failed":
            return violated(
                "the task of a tool that fails with isError has the status failed; expected "
                "completed, with the result of the tool: failed is for JSON-RPC errors"
            )
        if status in _ENDED:
            break
    return could_not_run(f"the task of failing_tool has the status {dump_json(status)}")


def _acknowledges_cancel(task: _ExtensionTask, wait_s: float) -> Outcome:
    answer = task.request("tasks/cancel")
    result = answer.result
    more = [name for name in result or {} if name not in ("resultType", "_meta")]
    if result is not None and result.get("resultType") == "complete" and not more:
        return PASSED
    return violated(
        f"tasks/cancel got {answer.describe()}; expected a result that is complete and empty"
    )


# The slow checks make a task of the slow tool of the hints.
_task_check = partial(Check, server_lacks=_lacks_tasks, since="2025-11-25", until="2025-11-25")
_slow_check = partial(_task_check, hint="slow_tool")
_extension_check = partial(Check, server_lacks=_lacks_extension, since="2026-07-28")
_slow_extension_check = partial(_extension_check, hint="slow_tool")

CHECKS = {
    "TASK-01 undeclared-ignored": Check(
        property="a server that does not declare tasks answers calls with a task as any other",
        run=_ignores_undeclared_tasks,
        since="2025-11-25",
        until="2025-11-25",
        section="basic/utilities/tasks#Task Support and Handling",
    ),
    "TASK-02 create-result": _slow_check(
        property="a call as a task is answered with the task",
        run=_with_task(_creates_task, is_needed=False),
        section="basic/utilities/tasks#Task Support and Handling",
    ),
    "TASK-03 id-string-unique": _slow_check(
        property="each task has an id of its own",
        run=_with_task(_has_own_id),
        section="basic/utilities/tasks#Task ID Requirements",
    ),
    "TASK-04 starts-working": _slow_check(
        property="a new task is working",
        run=_with_task(_starts_working),
        section="basic/utilities/tasks#Task Status Lifecycle",
    ),
    "TASK-06 timestamps": _slow_check(
        property="tasks say when they were created and updated, in ISO 8601",
        run=_with_task(_has_dates),
        section="basic/utilities/tasks#TTL and Resource Management",
    ),
    "TASK-08 result-blocks": _slow_check(
        property="tasks/result waits for the end of the task",
        run=_with_task(_waits_for_result),
        section="basic/utilities/tasks#Result Retrieval",
    ),
    "TASK-10 related-meta": _slow_check(
        property="the result of tasks/result names its task",
        run=_with_task(_names_task_in_result),
        section="basic/utilities/tasks#Associating Task-Related Messages",
    ),
    "TASK-11 unknown-id": Check(
        property="tasks that do not exist get the error -32602",
        run=_refuses_unknown_tasks,
        since="2025-11-25",
        until="2025-11-25",
        section="basic/utilities/tasks#Error Handling",
    ),
    "TASK-12 cancel-terminal": _slow_check(
        property="a task that has ended cannot be cancelled",
        run=_with_task(_refuses_to_cancel_ended, "cancel"),
        section="basic/utilities/tasks#Task Cancellation",
    ),
    "TASK-13 cancel-sticks": _slow_check(
        property="a task that was cancelled stays so",
        run=_with_task(_stays_cancelled, "cancel"),
        section="basic/utilities/tasks#Task Cancellation",
    ),
    "TASK-14 list-bad-cursor": Check(
        property="tasks/list refuses a cursor that it has not given with the error -32602",
        run=_refuses_bad_cursor,
        since="2025-11-25",
        until="2025-11-25",
        section="basic/utilities/tasks#Error Handling",
    ),
    "TASK-15 get-implies-list": _slow_check(
        property="a task that tasks/get finds is in tasks/list",
        run=_with_task(_is_listed, "list"),
        section="basic/utilities/tasks#Task Listing",
    ),
    "TASK-16 required-without-task": _task_check(
        property="a tool that requires a task gets the error -32601 when it is called without one",
        run=_refuses_calls("required", as_task=False),
        section="basic/utilities/tasks#Tool-Level Negotiation",
    ),
    "TASK-17 forbidden-with-task": _task_check(
        property="a tool that forbids tasks gets the error -32601 when it is called as one",
        run=_refuses_calls("forbidden", as_task=True),
        level="SHOULD",
        section="basic/utilities/tasks#Tool-Level Negotiation",
    ),
    "XTASK-03 durable-before-answer": _slow_extension_check(
        property="a task can be found as soon as the call is answered with it",
        run=_with_extension_task(_is_found_at_once),
        explains=("XTASK-04", "XTASK-07"),
        section="extensions/tasks/overview#Overview",
    ),
    "XTASK-04 get-shapes": _slow_extension_check(
        property="tasks/get of a task that has ended has its result or its error",
        run=_with_extension_task(_has_outcome),
        section="extensions/tasks/overview#Overview",
    ),
    "XTASK-05 failed-only-jsonrpc": _extension_check(
        property="the task of a tool that fails with isError is completed",
        run=_with_extension_task(_completes_with_failure, "failing_tool"),
        hint="failing_tool",
        section="extensions/tasks/overview#Overview",
    ),
    "XTASK-07 update-cancel-ack": _slow_extension_check(
        property="tasks/cancel is answered with an empty result",
        run=_with_extension_task(_acknowledges_cancel),
        section="extensions/tasks/overview#Overview",
    ),
    "XTASK-08 unknown-id": _extension_check(
        property="tasks that do not exist get the error -32602",
        run=_refuses_unknown_extension_tasks,
        section="extensions/tasks/overview#Overview",
    ),
    "XTASK-09 undeclared-methods": _extension_check(
        property="clients that do not declare the extension cannot use its methods",
        run=_refuses_undeclared_clients,
        section="extensions/tasks/overview#Overview",
    ),
    "XTASK-10 removed-methods": _extension_check(
        property="the extension has no tasks/result and no capability tasks",
        run=_has_no_removed_methods,
        section="extensions/tasks/overview#Overview",
    ),
    "XTASK-11 listen-needs-extension": _extension_check(
        property="clients that do not declare the extension cannot listen to tasks",
        run=_refuses_undeclared_listening,
        section="extensions/tasks/overview#Overview",
    ),
    "XTASK-12 mcp-name-task-id": _extension_check(
        property="requests about tasks whose header Mcp-Name is not the taskId are refused",
        run=_compares_task_header,
        transport="http",
        section="extensions/tasks/overview#Overview",
    ),
}
