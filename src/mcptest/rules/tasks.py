"""Rules about the extension for tasks: XTASK."""

from __future__ import annotations

from mcptest.protocol import jsonrpc
from mcptest.rules.client_requests import declared_in, is_declared
from mcptest.rules.rule import Latest, Rule, Watch, meta_of, show
from mcptest.rules.subscriptions import META_SUBSCRIPTION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcptest.rules.facts import Facts
    from mcptest.rules.rule import Entry, Findings

    Members = dict[str, Any]

__all__ = ["RULES"]

_EXTENSION = "io.modelcontextprotocol/tasks"
_META_TASK = "io.modelcontextprotocol/related-task"


def _declaring(entry: Entry, _: Facts) -> Findings:
    if entry.result.get("resultType") != "task" or entry.request is None:
        return None
    if is_declared(declared_in(entry.request), "extensions", _EXTENSION):
        return ()
    return [
        f'result.resultType is "task" in the answer to {show(entry.method)}, and the request did '
        f"not declare the extension {_EXTENSION}"
    ]


class _QuietTasks(Watch):
    """Knows the progress tokens of requests that became tasks, and who listens to tasks."""

    def __init__(self) -> None:
        self._tokens = Latest()
        self._listens = Latest()

    def see(self, entry: Entry, facts: Facts) -> Findings:
        if entry.is_client:
            self._listen(entry)
            return None
        if entry.kind == "notification":
            return self._check(entry, facts)
        if entry.result.get("resultType") != "task":
            return None
        token = meta_of(entry.request).get("progressToken")
        if token is not None:
            self._tokens.add(jsonrpc.id_key(token))
        return ()

    def _listen(self, entry: Entry) -> None:
        wanted = entry.params.get("notifications")
        if entry.kind == "request" and isinstance(wanted, dict) and wanted.get("taskIds"):
            self._listens.add(jsonrpc.id_key(entry.message.get("id")))

    def _check(self, entry: Entry, facts: Facts) -> Findings:
        meta = meta_of(entry.message)
        if _META_TASK in meta:
            return [f"{entry.method} came for a task: {show(meta[_META_TASK])}"]
        stream = meta.get(META_SUBSCRIPTION)
        if stream is not None and jsonrpc.id_key(stream) in self._listens:
            return [f"{entry.method} came on the stream {show(stream)}, which listens to tasks"]
        token = entry.params.get("progressToken")
        if token is None or jsonrpc.id_key(token) not in self._tokens or _is_in_use(token, facts):
            return None
        return [f"progress with the token {show(token)} came for a request that became a task"]


def _is_in_use(token: object, facts: Facts) -> bool:
    """True if an open request has given the token again."""
    key = jsonrpc.id_key(token)
    given = (meta_of(request).get("progressToken") for request in facts.open.values())
    return any(each is not None and jsonrpc.id_key(each) == key for each in given)


RULES = (
    Rule(
        id="XTASK-01",
        name="only-to-declaring",
        category="tasks",
        property="only a request that declared the extension for tasks is answered with one",
        since="2026-07-28",
        topics=("result",),
        look=_declaring,
        nothing="no request was answered with a task",
        elsewhere="no extension for tasks",
    ),
    Rule(
        id="XTASK-13",
        name="no-progress-no-log",
        category="tasks",
        property="no progress and no log message comes for a task",
        since="2026-07-28",
        topics=(
            "client:subscriptions/listen",
            "result:tools/call",
            "notification:notifications/progress",
            "notification:notifications/message",
        ),
        watch=_QuietTasks,
        nothing="no request was answered with a task",
        elsewhere="no extension for tasks",
    ),
)
