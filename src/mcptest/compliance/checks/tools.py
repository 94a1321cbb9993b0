"""Checks of tools: declared, listed, called with arguments that their schemas rule out.

A tool is called only if `Run.may_call` allows it. TOOL-01 is the part of LIFE-13 that is about
tools.
"""

from __future__ import annotations

from itertools import islice

from mcptest.compliance.check import (
    PASSED,
    Check,
    Outcome,
    could_not_run,
    not_applicable,
    violated,
)
from mcptest.compliance.checks.features import (
    answers_list,
    declares_truly,
    is_read_only,
    is_success,
    judge_silence,
    names_of,
    require_entries,
    require_tools,
    sample_call,
    show_name,
    try_call,
    undeclared,
)
from mcptest.core.schema_walk import SchemaWalker, dict_at, required_names
from mcptest.core.strict_json import dump_json
from mcptest.core.text import excerpt
from mcptest.explore.arguments import describe_type
from mcptest.protocol.revisions import HEADER_MISMATCH
from mcptest.rules.schemas import is_affordable, make_validator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from mcptest.compliance.raw_connection import Peer
    from mcptest.compliance.run import Run

    Message = dict[str, Any]

__all__ = ["CHECKS"]

_MAX_TOOLS = 10
_MAX_INVALID_CALLS = 12
_MAX_LINKS = 5
# After so many calls that take long, no further ones are tried.
_MAX_SLOW = 2
_OBSERVER_LIMIT_S = 30.0


# Arguments that are not valid


def _validates_arguments(peer: Peer, run: Run) -> Outcome:
    tools = require_tools(peer, run)
    has_probed, slow = False, PASSED
    for tool in tools[:_MAX_TOOLS]:
        for how, arguments in islice(_invalid_arguments(tool), _MAX_INVALID_CALLS):
            peer.clear_evidence()
            has_probed = True
            what = f"a call of the tool {show_name(tool)} {how}"
            params = {"name": tool["name"], "arguments": arguments}
            answer = peer.request("tools/call", params)
            if outcome := judge_silence(peer, what, answer):
                if outcome.found == "violated":
                    return outcome
                slow = outcome
                break
            if is_success(answer):
                return violated(
                    f"{what} got {answer.describe()}, an ordinary success; it must be refused"
                )
    peer.clear_evidence()
    params = {"name": tools[0]["name"], "arguments": ["mcptest"]}
    what = f"a call of the tool {show_name(tools[0])} with an array as its arguments"
    answer = peer.request_or_silence(peer.message("tools/call", params), is_judged=False)
    if is_success(answer):
        return violated(f"{what} got {answer.describe()}, an ordinary success; it must be refused")
    if not has_probed:
        return not_applicable("no tool that may be called has arguments that could be wrong")
    return slow


def _reports_invalid_arguments(peer: Peer, run: Run) -> Outcome:
    tools = require_tools(peer, run)
    has_probed = False
    for tool in tools[:_MAX_TOOLS]:
        for how, arguments in islice(_invalid_arguments(tool), 1):
            peer.clear_evidence()
            params = {"name": tool["name"], "arguments": arguments}
            answer = peer.request("tools/call", params)
            if answer.error is not None and answer.code != HEADER_MISMATCH:
                return violated(
                    f"a call of the tool {show_name(tool)} {how} got {answer.describe()}; expected "
                    "a result with isError: true, from which the model can learn"
                )
            has_probed |= answer.result is not None and not is_success(answer)
    if not has_probed:
        return not_applicable("no call with arguments that are not valid was refused")
    return PASSED


def _invalid_arguments(tool: Message) -> Iterator[tuple[str, Message]]:
    """Arguments that the schema of a tool rules out, and what is wrong with them."""
    schema = tool.get("inputSchema")
    if not isinstance(schema, dict):
        return
    validator = make_validator(schema)
    if validator is None:
        return
    for how, arguments in _wrong_arguments(tool, schema):
        if is_affordable(schema, arguments) and not validator.is_valid(arguments):
            yield how, arguments


def _wrong_arguments(tool: Message, schema: Message) -> Iterator[tuple[str, Message]]:
    walker = SchemaWalker(schema)
    root = walker.root().schema
    good = sample_call(tool)["arguments"]
    for name in required_names(root):
        rest = {key: value for key, value in good.items() if key != name}
        yield f'without the required argument "{excerpt(name, 60)}"', rest
    for name, part in dict_at(root, "properties").items():
        kinds = [branch.get("type") for branch in walker.branches(part)]
        # No library takes these for a string or for a number.
        wrong: object = {"mcptest": True} if "string" in kinds else "mcptest"
        how = (
            f'with {dump_json(wrong)} as the argument "{excerpt(name, 60)}", which must be '
            f"{describe_type(part, walker)},"
        )
        yield how, {**good, name: wrong}


# Names, order, links


def _refuses_unknown_tools(peer: Peer, run: Run) -> Outcome:
    if not peer.has("tools"):
        return undeclared("tools")
    params = {"name": run.unknown_name("tool"), "arguments": {}}
    answer = peer.request_or_silence(peer.message("tools/call", params))
    if answer.error is not None:
        return PASSED
    return violated(
        f"a call of a tool that does not exist got {answer.describe()}; expected an error such as "
        "-32602, which clients can tell from a tool that failed"
    ).but(is_shared=(answer.result or {}).get("isError") is True)


def _keeps_order(peer: Peer, run: Run) -> Outcome:
    # Without a tool there is no verdict.
    require_entries(peer, "tools")
    lists = [list(names_of(peer.read_list("tools") or [])) for _ in range(2)]
    both = set(lists[0]).intersection(lists[1])
    first, second = ([name for name in each if name in both] for each in lists)
    if len(first) < 2:
        return not_applicable("there are not two tools whose order could change")
    if first == second:
        return PASSED
    moved = next(pair for pair in zip(first, second, strict=False) if pair[0] != pair[1])
    return violated(
        f"tools/list was asked for twice and came in another order: where the first list has "
        f"{excerpt(moved[0], 60)}, the second has {excerpt(moved[1], 60)}"
    )


def _links_can_be_read(peer: Peer, run: Run) -> Outcome:
    tools = require_tools(peer, run)
    if not peer.has("resources"):
        return not_applicable("the server does not declare resources, to which a tool could link")
    skipped = (run.hints.get("slow_tool") or {}).get("name")
    links: dict[str, str | None] = {}
    slow = 0
    for tool in tools[:_MAX_TOOLS]:
        if tool["name"] != skipped and slow < _MAX_SLOW:
            answer = try_call(peer, sample_call(tool))
            slow += answer.message is None
            links |= dict.fromkeys(_linked_uris(answer.result or {}), str(tool["name"]))
    for uri, name in islice(links.items(), _MAX_LINKS):
        peer.clear_evidence()
        answer = peer.request("resources/read", {"uri": uri})
        if answer.result is None:
            return violated(
                f"the tool {excerpt(str(name), 60)} returned a link to {excerpt(uri, 120)}, and "
                f"resources/read of it got {answer.describe()}"
            )
    return PASSED if links else not_applicable("no tool that may be called returned a link")


def _linked_uris(result: Message) -> Iterator[str]:
    """The URIs of links that only this server can read: a client may fetch web pages itself."""
    content = result.get("content")
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and block.get("type") == "resource_link":
            uri = block.get("uri")
            if isinstance(uri, str) and not uri.lower().startswith(("http:", "https:")):
                yield uri


# Side effects


def _has_no_side_effects(peer: Peer, run: Run) -> Outcome:
    """Compare what the observer of the hints writes before and after calls of read-only tools."""
    tools = require_tools(peer, run)
    command = run.hints["readonly_observer"]
    before = run.observe(command, _OBSERVER_LIMIT_S)
    if before is None:
        return could_not_run("readonly_observer did not end in time, or ended with an error")
    if run.observe(command, _OBSERVER_LIMIT_S) != before:
        return could_not_run("readonly_observer writes something else each time it runs")
    has_called = False
    for tool in tools[:_MAX_TOOLS]:
        if not is_read_only(tool):
            continue
        peer.clear_evidence()
        answer = peer.request("tools/call", sample_call(tool))
        has_called |= is_success(answer)
        after = run.observe(command, _OBSERVER_LIMIT_S)
        if after != before:
            return violated(
                f"the tool {show_name(tool)} declares readOnlyHint: true, and after a call of it "
                "readonly_observer writes something else than before"
            )
    if not has_called:
        return could_not_run("no call of a read-only tool with made-up arguments succeeded")
    return PASSED


CHECKS = {
    "TOOL-01 capability": Check(
        property="tools are served if and only if the capability is declared",
        run=declares_truly("tools"),
        section="server/tools#Capabilities",
    ),
    "TOOL-02 list-answered": Check(
        property="a server that declares tools answers tools/list with a list",
        run=answers_list("tools"),
        explains=("LIFE-21", "PAGE-03"),
        section="server/tools#Listing Tools",
        stateless_section="server/tools#Capabilities",
    ),
    "TOOL-16 inputs-validated": Check(
        property="calls without a required argument, or with one of a wrong type, are refused",
        run=_validates_arguments,
        section="server/tools#Security Considerations",
    ),
    "TOOL-17 validation-as-tool-error": Check(
        property="arguments that are not valid get a result with isError, not a protocol error",
        run=_reports_invalid_arguments,
        since="2025-11-25",
        level="SHOULD",
        section="server/tools#Error Handling",
    ),
    "TOOL-18 unknown-tool-protocol-error": Check(
        property="a call of a tool that does not exist gets a protocol error",
        run=_refuses_unknown_tools,
        level="SHOULD",
        section="server/tools#Error Handling",
    ),
    "TOOL-21 order-stable": Check(
        property="tools/list has the same order each time",
        run=_keeps_order,
        explains=("LIFE-24",),
        since="2026-07-28",
        level="SHOULD",
        section="server/tools#Listing Tools",
        stateless_section="server/tools#Capabilities",
    ),
    "TOOL-22 no-side-effects-when-readonly": Check(
        property="tools that declare readOnlyHint change nothing that the observer sees",
        run=_has_no_side_effects,
        since="2025-03-26",
        level="SHOULD",
        hint="readonly_observer",
        server_lacks=lambda peer: "" if peer.has("tools") else "tools",
        section="server/tools#Tool",
    ),
    "TOOL-24 resource-link-readable": Check(
        property="resources to which tools link can be read",
        run=_links_can_be_read,
        since="2025-06-18",
        level="SHOULD",
        section="server/tools#Resource Links",
    ),
}
