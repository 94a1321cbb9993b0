"""Hold the structured output of tools against their own schemas, without being asked.

What a server declares is read once, and again when it says that its tools are others. Its
schemas must be JSON Schema, and what it answers must be what it declares. Nothing that a schema
refers to is ever fetched. What could not be checked is told.
"""

from __future__ import annotations

import contextlib
from itertools import chain
from weakref import ref

from mcptest.core.errors import PatternTimeoutError
from mcptest.core.outcome import ABSENT, Mismatch
from mcptest.core.record import Record
from mcptest.core.strict_json import dump_json
from mcptest.core.visible import visible
from mcptest.invariants.plain_schema import is_affordable, is_plainly_valid
from mcptest.matching.registry import BadSchemaError
from mcptest.matching.schema_matchers import SCHEMA_MATCHERS, declared_schema
from mcptest.runner.apart import judge_apart
from mcptest.runner.tool_list import read_tools

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any
    from weakref import ReferenceType

    from mcptest.runner.faces import ServerFace
    from mcptest.runner.launcher import Launcher, Reply

__all__ = ["Outputs"]

# A few lines of schema can mean more work than there is time.
_LIMIT_S = 2.0
_READ_LIMIT_S = 1.0
_CHECK = SCHEMA_MATCHERS[0].check

_PATH = "result.structuredContent"
_WANTED = "what outputSchema says"


class _Tool(Record):
    """A tool's output schema, compiled; or what is wrong with one of its schemas.

    Where it is `plain`, most values can be seen to meet it without a validator. `declared` is
    all that it says of its schemas, as text.
    """

    declared: str = ""
    schema: Any = None
    is_plain: bool = False
    output: Any = None
    mistakes: tuple[tuple[str, str], ...] = ()


class _Known(Record):
    """What the tools of a server declare, by name: once each, unless it lists them otherwise.

    `gap` says why there may be more tools. It was learned from this process, which had said so
    often until then that its tools are others.
    """

    tools: dict[str, tuple[_Tool, ...]]
    gap: str
    process: ReferenceType[ServerFace]
    changes: int

    def holds_for(self, server: ServerFace) -> bool:
        """Whether the list need not be read again."""
        changes = server.connection.inbox.tool_changes
        if self.process() is server:
            return changes == self.changes
        # Another process begins as the first one did.
        return not (changes or self.changes)


class Outputs:
    """The schemas of the tools of every server."""

    def __init__(self) -> None:
        self._servers: dict[object, _Known] = {}

    def learn(self, server: ServerFace) -> _Known:
        """What the tools of a server declare. It is asked once, and when it says so again."""
        spec = server.spec
        key = (spec.name, spec.command, spec.cwd, str(spec.env))
        known = self._servers.get(key)
        if known is None or not known.holds_for(server):
            known = _learned(server)
            if known.gap and not server.is_usable:
                return known  # it is gone; the next one is asked again
            self._servers[key] = known
        return known

    def judge(self, server: ServerFace, tool: str, reply: Reply) -> tuple[Mismatch, ...]:
        """What is wrong with an answer of this tool, and with its schemas."""
        known = self.learn(server)
        if tool in known.tools:
            launcher = server.launcher
            found = (_judge_tool(tool, each, reply, launcher) for each in known.tools[tool])
            return tuple(chain.from_iterable(found))
        if known.gap and _is_success(reply):
            why = f"tools are not held against their outputSchema: {known.gap}"
            server.findings.add("unchecked_output", f"answers of {why}")
        return ()


def _learned(server: ServerFace) -> _Known:
    changes = server.connection.inbox.tool_changes
    listed = read_tools(server)
    tools: dict[str, tuple[_Tool, ...]] = {}
    for entry in listed.entries:
        name = entry.get("name")
        if not isinstance(name, str):
            continue
        tool, others = _read(entry, server), tools.get(name, ())
        if not others:
            tools[name] = (tool,)
        elif all(tool.declared != other.declared for other in others):
            tools[name] = (*others, tool)
            why = "with other schemas each time; what it answers is held against all of them"
            server.findings.add("listed_twice", f"the tool {visible(name)} is listed twice, {why}")
    return _Known(tools=tools, gap=listed.gap, process=ref(server), changes=changes)


def _judge_tool(name: str, tool: _Tool, reply: Reply, launcher: Launcher) -> Iterator[Mismatch]:
    for key, why in tool.mistakes:
        path = f"tools/list {name}.{key}"
        yield Mismatch(path=path, expected="a JSON Schema", actual=ABSENT, message=why)
    yield from _judge_output(tool, reply, launcher)


def _is_success(reply: Reply) -> bool:
    """Whether an answer would have to be what an outputSchema says."""
    message = reply.message if isinstance(reply.message, dict) else {}
    result = message.get("result")
    return isinstance(result, dict) and result.get("isError") is not True


def _judge_output(tool: _Tool, reply: Reply, launcher: Launcher) -> Iterator[Mismatch]:
    if tool.output is None or not _is_success(reply):
        return
    value = reply.message["result"].get("structuredContent", ABSENT)
    if value is ABSENT:
        why = "is missing: the tool declares an outputSchema, so it must answer with it"
        yield Mismatch(path=_PATH, expected=_WANTED, actual=ABSENT, message=why)
    elif not (tool.is_plain and is_plainly_valid(tool.schema, value)):
        yield from _weighed(tool, value, launcher)


def _weighed(tool: _Tool, value: object, launcher: Launcher) -> tuple[Mismatch, ...]:
    """What a validator says, where it may take long in a process of its own."""

    def judge() -> tuple[Mismatch, ...]:
        miss = _CHECK(tool.output, value)
        if miss is None:
            return ()
        why = f"does not meet the tool's own outputSchema: {miss.why}"
        return (Mismatch(path=_PATH, expected=_WANTED, actual=value, message=why),)

    # What is no object is true or false, and no work at all.
    if not isinstance(tool.schema, dict) or is_affordable(tool.schema, value):
        return judge()
    try:
        return judge_apart(judge, _LIMIT_S, launcher)
    except (PatternTimeoutError, EOFError):
        # What cannot be judged is never taken for right.
        why = f"cannot be held against the tool's outputSchema: that takes over {_LIMIT_S:g} s"
        return (Mismatch(path=_PATH, expected=_WANTED, actual=value, message=why),)


def _compiled(schema: object, launcher: Launcher) -> Any:
    """The schema, ready to judge by; BadSchemaError when it is none, or none that can be read."""
    if "$" in dump_json(schema):
        # What refers to itself over and over can take for ever to be read, and no signal to us
        # ends that. It is tried where it can be ended.
        try:
            judge_apart(lambda: _tried(schema), _READ_LIMIT_S, launcher)
        except PatternTimeoutError:
            raise BadSchemaError(f"which takes over {_READ_LIMIT_S:g} s to read") from None
    return declared_schema(schema)


def _tried(schema: object) -> tuple[()]:
    # What is wrong with it is told when it is read here.
    with contextlib.suppress(BadSchemaError):
        declared_schema(schema)
    return ()


def _read(entry: dict[str, Any], server: ServerFace) -> _Tool:
    compiled: dict[str, Any] = {}
    mistakes = []
    for key in ("inputSchema", "outputSchema"):
        if key not in entry:
            continue
        try:
            compiled[key] = _compiled(entry[key], server.launcher)
        except BadSchemaError as error:
            reason = str(error).strip().removeprefix("which ")
            why = f"is no JSON Schema that can be used: it {reason}"
            mistakes.append((key, why))
            server.findings.add(
                "bad_schema", f"the {key} of the tool {visible(entry['name'])} {why}"
            )
    schema = entry.get("outputSchema")
    # Only a validator knows the formats of texts.
    is_plain = isinstance(schema, dict) and '"format"' not in dump_json(schema)
    return _Tool(
        declared=dump_json([entry.get("inputSchema"), schema]),
        schema=schema,
        is_plain=is_plain,
        output=compiled.get("outputSchema"),
        mistakes=tuple(mistakes),
    )
