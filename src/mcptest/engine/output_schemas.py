"""Judge the structured output of tools by the output schemas that their server declares.

What a server declares is read once, and again when it says that its tools are others. Its schemas
must be JSON Schema, and what it answers must be what it declares. Nothing that a schema refers to
is ever fetched. What could not be checked is reported.
"""

from __future__ import annotations

from functools import cached_property, partial
from itertools import chain
from weakref import ref

from mcptest.core.errors import EndedError, PatternTimeoutError
from mcptest.core.results import Mismatch
from mcptest.core.strict_json import dump_json
from mcptest.core.text import visible
from mcptest.core.value_class import ABSENT, Record
from mcptest.engine.judge import find_read_failure
from mcptest.engine.pool import read_tools
from mcptest.matching.matchers.objects import JSON_SCHEMA, declared_schema
from mcptest.matching.registry import BadSchemaError
from mcptest.protocol.jsonrpc import tool_failure
from mcptest.rules.schemas import can_surely_be_compiled, is_affordable, is_plainly_valid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any
    from weakref import ReferenceType

    from mcptest.core.plan import ServerSpec
    from mcptest.engine.server import Launcher, Reply, Server

__all__ = ["OutputSchemas"]

# A small schema can require more work than there is time.
_LIMIT_S = 2.0
_CHECK = JSON_SCHEMA.check

_PATH = "result.structuredContent"
_WANTED = "what outputSchema says"
_BEFORE = ", as it was listed when the call was sent"


class _OutputSchema:
    """An output schema that can be used.

    Most values can be seen to meet it without a validator, which takes longer to load than a small
    run: it is made when it is needed.
    """

    def __init__(self, schema: Any) -> None:
        self.schema = schema
        # Only the validator knows formats.
        self._is_plain = isinstance(schema, dict) and '"format"' not in dump_json(schema)

    @cached_property
    def compiled(self) -> Any:
        return declared_schema(self.schema)

    def is_plainly_met(self, value: object) -> bool:
        return self._is_plain and is_plainly_valid(self.schema, value)


class _Tool(Record):
    """A tool's output schema, and what is wrong with any of its schemas.

    `declared` is all that the tool says of its schemas, as text. `when` says when it did, if not
    now.
    """

    declared: str = ""
    output: _OutputSchema | None = None
    when: str = ""
    mistakes: tuple[tuple[str, str], ...] = ()


class _ToolList(Record):
    """What the tools of a server declare, by name.

    `gap` says why there may be more tools. The list was read from `process`, after so many
    announced `changes`. A list that `is_final` is not read again.
    """

    spec: ServerSpec
    tools: dict[str, tuple[_Tool, ...]]
    gap: str
    process: ReferenceType[Server]
    changes: int
    is_final: bool = False

    def holds_for(self, server: Server) -> bool:
        """Whether the list need not be read again."""
        if self.is_final:
            return True
        changes = server.connection.inbox.tool_changes
        if self.process() is server:
            return changes == self.changes
        # A new process begins like the first one.
        return not (changes or self.changes)

    def has_applied_to(self, server: Server) -> bool:
        """Whether this list applied to this process before it announced a change."""
        return self.process() is server or not self.changes


class OutputSchemas:
    """The schemas of the tools of every server."""

    def __init__(self) -> None:
        self._servers: list[_ToolList] = []

    def read_tools_of(self, server: Server) -> _ToolList:
        """What the tools of a server declare; read once, and after each announced change."""
        before = self._find(server.spec)
        if before and before.holds_for(server):
            return before
        known = _read_list(server)
        if known.gap and not server.is_usable:
            return known  # it is gone; the next one is asked again
        if before:
            self._servers = [each for each in self._servers if each is not before]
        if before and known.gap:
            # A server that says that its tools changed and cannot list them is not asked again.
            why = (
                f"the server said that its tools are others, and it is not known which: {known.gap}"
            )
            server.findings.add("unchecked_output", f"{why}; what it listed before is what counts")
            known = known.but(tools={**before.tools, **known.tools}, is_final=True)
        self._servers.append(known)
        return known

    def _find(self, spec: ServerSpec) -> _ToolList | None:
        same = (known for known in self._servers if known.spec is spec)
        equal = (known for known in self._servers if known.spec == spec)
        return next(same, None) or next(equal, None)

    def judge(self, server: Server, tool: str, reply: Reply) -> tuple[Mismatch, ...]:
        """The mismatches of an answer of this tool, and of its schemas."""
        before = self._find(server.spec)
        known = self.read_tools_of(server)
        tools = known.tools.get(tool, ())
        if before and before is not known and before.has_applied_to(server):
            # A change that is announced with the answer does not apply to it.
            others = [each.declared for each in tools]
            old = (each for each in before.tools.get(tool, ()) if each.declared not in others)
            tools = (*tools, *(each.but(when=_BEFORE) for each in old))
        if tools:
            found = (_judge_tool(tool, each, reply, server.launcher) for each in tools)
            return tuple(chain.from_iterable(found))
        if known.gap and _is_success(reply):
            why = f"tools are not held against their outputSchema: {known.gap}"
            server.findings.add("unchecked_output", f"answers of {why}")
        return ()


def _read_list(server: Server) -> _ToolList:
    changes = server.connection.inbox.tool_changes
    listed = read_tools(server)
    tools: dict[str, tuple[_Tool, ...]] = {}
    for entry in listed.entries:
        name = entry.get("name")
        if not isinstance(name, str):
            continue
        tool, others = _read_tool(entry, server), tools.get(name, ())
        if not others:
            tools[name] = (tool,)
        elif all(tool.declared != other.declared for other in others):
            tools[name] = (*others, tool)
            why = "with other schemas each time; what it answers is held against all of them"
            server.findings.add("listed_twice", f"the tool {visible(name)} is listed twice, {why}")
    return _ToolList(
        spec=server.spec, tools=tools, gap=listed.gap, process=ref(server), changes=changes
    )


def _judge_tool(name: str, tool: _Tool, reply: Reply, launcher: Launcher) -> Iterator[Mismatch]:
    for key, why in tool.mistakes:
        path = f"tools/list {name}.{key}"
        yield _make_mismatch(path, "a JSON Schema", ABSENT, why)
    if tool.output is None or not _is_success(reply):
        return
    why = tool_failure(reply.message["result"])
    if why:
        path, value = "result.isError", reply.message["result"]["isError"]
        yield _make_mismatch(path, "true or false", value, why)
    value = reply.message["result"].get("structuredContent", ABSENT)
    if value is ABSENT:
        why = f"is missing: the tool declares an outputSchema{tool.when}, so it must answer with it"
        yield _make_mismatch(_PATH, _WANTED, ABSENT, why)
    elif not tool.output.is_plainly_met(value):
        yield from _validate(tool.output, tool.when, value, launcher)


def _make_mismatch(path: str, wanted: str, actual: object, message: str) -> Mismatch:
    return Mismatch(path=path, expected=wanted, actual=actual, message=message, is_described=True)


def _is_success(reply: Reply) -> bool:
    """Whether an answer must conform to the outputSchema."""
    message = reply.message if isinstance(reply.message, dict) else {}
    result = message.get("result")
    return isinstance(result, dict) and result.get("isError") is not True


def _validate(
    output: _OutputSchema, when: str, value: object, launcher: Launcher
) -> tuple[Mismatch, ...]:
    """The mismatches that the validator finds; large work is done in another process."""

    def judge() -> tuple[Mismatch, ...]:
        miss = _CHECK(output.compiled, value)
        if miss is None:
            return ()
        why = f"does not meet the tool's own outputSchema{when}: {miss.why}"
        return (_make_mismatch(_PATH, _WANTED, value, why),)

    # A boolean schema needs no work.
    if not isinstance(output.schema, dict) or is_affordable(output.schema, value):
        return judge()
    from mcptest.transport.process.isolated import judge_in_child  # noqa: PLC0415  # rare

    # A value that could not be validated is a mismatch.
    try:
        return judge_in_child(judge, _LIMIT_S, launcher)
    except (PatternTimeoutError, EOFError):
        reason = f"that takes over {_LIMIT_S:g} s"
    except EndedError as error:
        reason = f"that ends the program that does it: {error.how}"
    why = f"cannot be held against the tool's outputSchema{when}: {reason}"
    return (_make_mismatch(_PATH, _WANTED, value, why),)


def _read_tool(entry: dict[str, Any], server: Server) -> _Tool:
    usable, mistakes = set[str](), []
    trial = partial(find_read_failure, server.launcher)
    for key in ("inputSchema", "outputSchema"):
        if key not in entry:
            continue
        try:
            if not can_surely_be_compiled(entry[key]):
                declared_schema(entry[key], trial)
            usable.add(key)
        except BadSchemaError as error:
            reason = str(error).strip().removeprefix("which ")
            why = f"is not a JSON Schema that can be used: it {reason}"
            mistakes.append((key, why))
            server.findings.add(
                "bad_schema", f"the {key} of the tool {visible(entry['name'])} {why}"
            )
    schema = entry.get("outputSchema")
    return _Tool(
        declared=dump_json([entry.get("inputSchema"), schema]),
        output=_OutputSchema(schema) if "outputSchema" in usable else None,
        mistakes=tuple(mistakes),
    )
