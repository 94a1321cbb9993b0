"""Rules about the extension for tasks: XTASK."""

from __future__ import annotations

from mcptest.core import jsonrpc
from mcptest.invariants.asking import declared_in, is_declared, meta_of
from mcptest.invariants.listening import META_SUBSCRIPTION
from mcptest.invariants.memory import Latest
from mcptest.invariants.rule import Looking, Rule, at_levels
from mcptest.invariants.wording import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.invariants.facts import Facts
    from mcptest.invariants.rule import Breaches
    from mcptest.invariants.said import Said

__all__ = ["TASK_RULES"]

_EXTENSION = "io.modelcontextprotocol/tasks"
_META_TASK = "io.modelcontextprotocol/related-task"


def _declaring(said: Said, _: Facts) -> Breaches:
    if said.result.get("resultType") != "task" or said.request is None:
        return None
    if is_declared(declared_in(said.request), "extensions", _EXTENSION):
        return ()
    return [
        f'result.resultType is "task" in the answer to {shown(said.method)}, and the request did '
        f"not declare the extension {_EXTENSION}"
    ]


class _QuietTasks:
    """Knows the progress tokens of requests that became tasks, and who listens to tasks."""

    def __init__(self) -> None:
        self._tokens = Latest()
        self._listens = Latest()

    def see(self, said: Said, facts: Facts) -> Breaches:
        if said.is_client:
            self._listen(said)
            return None
        if said.kind == "notification":
            return self._check(said, facts)
        if said.result.get("resultType") != "task":
            return None
        token = meta_of(said.request).get("progressToken")
        if token is not None:
            self._tokens.note(jsonrpc.id_key(token))
        return ()

    def _listen(self, said: Said) -> None:
        wanted = said.params.get("notifications")
        if said.kind == "request" and isinstance(wanted, dict) and wanted.get("taskIds"):
            self._listens.note(jsonrpc.id_key(said.message.get("id")))

    def _check(self, said: Said, facts: Facts) -> Breaches:
        meta = meta_of(said.message)
        if _META_TASK in meta:
            return [f"{said.method} came for a task: {shown(meta[_META_TASK])}"]
        stream = meta.get(META_SUBSCRIPTION)
        if stream is not None and jsonrpc.id_key(stream) in self._listens:
            return [f"{said.method} came on the stream {shown(stream)}, which listens to tasks"]
        token = said.params.get("progressToken")
        if token is None or jsonrpc.id_key(token) not in self._tokens or _is_in_use(token, facts):
            return None
        return [f"progress with the token {shown(token)} came for a request that became a task"]

    def end(self, _: Facts) -> Breaches:
        return None


def _is_in_use(token: object, facts: Facts) -> bool:
    """Whether a request that is open has given the token again."""
    key = jsonrpc.id_key(token)
    given = (meta_of(request).get("progressToken") for request in facts.open.values())
    return any(each is not None and jsonrpc.id_key(each) == key for each in given)


TASK_RULES = (
    Rule(
        id="XTASK-01",
        name="only-to-declaring",
        category="tasks",
        property="only a request that declared the extension for tasks is answered with one",
        levels=at_levels("E"),
        topics=("result",),
        start=lambda: Looking(_declaring),
        nothing="no request was answered with a task",
        elsewhere="no extension for tasks",
    ),
    Rule(
        id="XTASK-13",
        name="no-progress-no-log",
        category="tasks",
        property="no progress and no log message comes for a task",
        levels=at_levels("E"),
        topics=(
            "client:subscriptions/listen",
            "result:tools/call",
            "notification:notifications/progress",
            "notification:notifications/message",
        ),
        start=_QuietTasks,
        nothing="no request was answered with a task",
        elsewhere="no extension for tasks",
    ),
)
