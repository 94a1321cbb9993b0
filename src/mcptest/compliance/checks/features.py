"""What the checks of tools, resources, prompts, completion and tasks have in common.

Whether a capability is declared exactly if its methods work is checked once: TOOL-01, RES-01,
PROMPT-01 and COMP-01 do it for these four, LIFE-13 for whatever else a server can declare.
"""

from __future__ import annotations

from contextlib import contextmanager

from mcptest.compliance.check import (
    PASSED,
    Outcome,
    UndecidedError,
    could_not_run,
    not_applicable,
    violated,
)
from mcptest.core.text import excerpt
from mcptest.explore.safe_tools import made_up_arguments
from mcptest.protocol.jsonrpc import METHOD_NOT_FOUND, tool_failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from mcptest.compliance.check import Probe
    from mcptest.compliance.raw_connection import Answer, Peer
    from mcptest.compliance.run import Run

    Message = dict[str, Any]

__all__ = [
    "answers_list",
    "declares_truly",
    "hinted_call",
    "is_read_only",
    "is_success",
    "judge_silence",
    "names_of",
    "no_callable_tool",
    "own_session",
    "require_entries",
    "require_tools",
    "sample_call",
    "show_name",
    "task_support",
    "try_call",
    "undeclared",
]


# How long a call with made-up arguments may take.
_PATIENCE_S = 2.0

# The check of the capability of each list.
_TRUTH = {"tools": "TOOL-01", "resources": "RES-01", "prompts": "PROMPT-01"}


def declares_truly(kind: str) -> Probe:
    """The check that tools, resources or prompts are declared if and only if they are served."""

    def check(peer: Peer, run: Run) -> Outcome:
        answer = peer.request_or_silence(peer.message(f"{kind}/list"))
        if peer.has(kind):
            if answer.code != METHOD_NOT_FOUND:
                return PASSED
            return violated(
                f"the server declares the capability {kind} and answered {kind}/list with "
                f"{answer.describe()}, as if it had no such method"
            )
        if (answer.result or {}).get(kind):
            return violated(
                f"the server does not declare the capability {kind}, and yet it answered "
                f"{kind}/list with {answer.describe()}; clients do not use what is not declared: "
                f'put "{kind}": {{}} into capabilities'
            )
        return PASSED

    return check


def answers_list(kind: str) -> Probe:
    """The check that tools, resources or prompts can be listed if they are declared."""

    def check(peer: Peer, run: Run) -> Outcome:
        if not peer.has(kind):
            return undeclared(kind)
        answer = peer.request_or_silence(peer.message(f"{kind}/list"))
        if answer.code == METHOD_NOT_FOUND:
            return not_applicable(
                f"the server has no method {kind}/list, as {_TRUTH[kind]} reports"
            )
        if isinstance((answer.result or {}).get(kind), list):
            return PASSED
        return violated(
            f"the server declares the capability {kind} and answered {kind}/list with "
            f"{answer.describe()} instead of a list, which may be empty"
        )

    return check


def require_entries(peer: Peer, kind: str) -> list[Message]:
    """The tools, resources or prompts, at least one. UndecidedError if there is none."""
    if not peer.has(kind):
        raise UndecidedError(undeclared(kind))
    entries = peer.list_all(kind)
    if entries is None:
        reason = f"the server did not answer {kind}/list with a list"
        raise UndecidedError(could_not_run(reason))
    if not entries:
        raise UndecidedError(not_applicable(f"the server lists no {kind}"))
    return entries


def undeclared(capability: str) -> Outcome:
    """The outcome of a check of a capability that the server does not declare."""
    return not_applicable(f"the server does not declare the capability {capability}")


def require_tools(peer: Peer, run: Run) -> list[Message]:
    """The tools that may be called, at least one. UndecidedError if there is none.

    Those that can only be called as a task are left out.
    """
    allowed = [tool for tool in require_entries(peer, "tools") if run.may_call(tool)]
    if not allowed:
        raise UndecidedError(no_callable_tool("no tool may be called"))
    plain = [tool for tool in allowed if task_support(tool) != "required"]
    if not plain:
        reason = "every tool that may be called must be called as a task"
        raise UndecidedError(not_applicable(reason))
    return plain


def is_read_only(tool: Message) -> bool:
    """True if a tool says of itself that it changes nothing."""
    annotations = tool.get("annotations")
    return isinstance(annotations, dict) and annotations.get("readOnlyHint") is True


def no_callable_tool(problem: str) -> Outcome:
    """The outcome of a check for which a tool must be called, and none may be."""
    reason = f"{problem}: none declares readOnlyHint, and --allow-tool names none"
    return could_not_run(reason).but(needs="--allow-tool")


def task_support(tool: Message) -> str:
    """Whether a tool can be called as a task: "required", "optional" or "forbidden"."""
    execution = tool.get("execution")
    support = execution.get("taskSupport") if isinstance(execution, dict) else None
    return support if isinstance(support, str) else "forbidden"


def sample_call(tool: Message) -> Message:
    """The params of a call with made-up arguments, which are harmless and fit the schema."""
    return {"name": tool["name"], "arguments": made_up_arguments(tool).arguments}


def hinted_call(hints: Mapping[str, Any], hint: str) -> Message:
    """The params of the call that a hint describes."""
    return {name: hints[hint][name] for name in ("name", "arguments")}


def try_call(peer: Peer, params: Message) -> Answer:
    """Call a tool that may be slow: after a moment the call is cancelled."""
    pending = peer.start(peer.message("tools/call", params))
    answer = pending.look_for(pending.is_response, _PATIENCE_S)
    if answer.message is None and not peer.is_lost and not answer.is_refused:
        reason = "mcptest: the call takes too long"
        peer.notify("notifications/cancelled", {"requestId": pending.id, "reason": reason})
    pending.close()
    return answer


@contextmanager
def own_session(peer: Peer, run: Run, *capabilities: str) -> Iterator[Peer]:
    """A session of a client with these capabilities; its evidence is that of the check."""
    fresh = run.connect(peer.version, capabilities={name: {} for name in capabilities})
    try:
        yield fresh
    finally:
        peer.sent, peer.received = fresh.sent, fresh.received
        fresh.end()


def is_success(answer: Answer) -> bool:
    """True if a call was answered with an ordinary result, not with an error or a question."""
    result = answer.result
    if result is None or answer.is_refused:
        return False
    is_complete = result.get("resultType", "complete") == "complete" and "task" not in result
    return is_complete and not tool_failure(result)


def judge_silence(peer: Peer, what: str, answer: Answer) -> Outcome | None:
    """The outcome if a message got no answer at all, None if it got one."""
    if answer.message is not None or answer.is_refused:
        return None
    if peer.is_lost:
        return violated(f"after {what} the server {peer.end_status}")
    # It may be slow: what else it would have done is not known.
    return could_not_run(f"{what} got {answer.describe()}")


def names_of(entries: list[Message], member: str = "name") -> Iterator[str]:
    """The names in a list that are strings."""
    return (each[member] for each in entries if isinstance(each.get(member), str))


def show_name(entry: Message) -> str:
    """The name of a tool or prompt for a message, shortened."""
    return excerpt(str(entry.get("name")), 60)
