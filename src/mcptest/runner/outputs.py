"""Hold the structured output of tools against their own schemas, without being asked.

What a server declares is read once. Its schemas must be JSON Schema, and what it answers must
be what it declares. Nothing that a schema refers to is ever fetched.
"""

from __future__ import annotations

import contextlib
import time

from mcptest.core import jsonrpc
from mcptest.core.errors import PatternTimeoutError, ServerError
from mcptest.core.framing import encode_line
from mcptest.core.kinds import FINDINGS
from mcptest.core.offer_kinds import KINDS
from mcptest.core.outcome import ABSENT, Mismatch
from mcptest.core.plan import Expectation, Step
from mcptest.core.record import Record
from mcptest.core.strict_json import dump_json
from mcptest.core.visible import visible
from mcptest.invariants.plain_schema import is_affordable, is_plainly_valid
from mcptest.matching.registry import BadSchemaError
from mcptest.matching.schema_matchers import SCHEMA_MATCHERS, declared_schema
from mcptest.runner.apart import judge_apart

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from mcptest.runner.launcher import Launcher, Reply
    from mcptest.runner.server import Server

__all__ = ["Outputs"]

_PATIENCE_S = 5.0
_MAX_PAGES = 100
# A few lines of schema can mean more work than there is time.
_LIMIT_S = 2.0
_READ_LIMIT_S = 1.0
_CHECK = SCHEMA_MATCHERS[0].check

_PATH = "result.structuredContent"
_WANTED = "what outputSchema says"


class _Tool(Record):
    """A tool's output schema, compiled; or what is wrong with one of its schemas.

    Where it is `plain`, most values can be seen to meet it without a validator.
    """

    schema: Any = None
    is_plain: bool = False
    output: Any = None
    mistakes: tuple[tuple[str, str], ...] = ()


class Outputs:
    """The schemas of the tools of every server."""

    def __init__(self) -> None:
        self._servers: dict[object, dict[str, _Tool]] = {}

    def learn(self, server: Server) -> dict[str, _Tool]:
        """What the tools of a server declare, by name. It is asked once."""
        spec = server.spec
        key = (spec.name, spec.command, spec.cwd, str(spec.env))
        if key not in self._servers:
            tools = dict(_listed(server))
            if not tools and not server.is_usable:
                return tools  # it is gone; the next one is asked again
            self._servers[key] = tools
        return self._servers[key]

    def judge(self, server: Server, tool: str, reply: Reply) -> tuple[Mismatch, ...]:
        """What is wrong with an answer of this tool, and with its schemas."""
        known = self.learn(server).get(tool)
        if known is None:
            return ()
        found = [
            Mismatch(
                path=f"tools/list {tool}.{key}",
                expected="a JSON Schema",
                actual=ABSENT,
                message=why,
            )
            for key, why in known.mistakes
        ]
        return (*found, *_judge_output(known, reply, server.launcher))


def _judge_output(tool: _Tool, reply: Reply, launcher: Launcher) -> Iterator[Mismatch]:
    message = reply.message if isinstance(reply.message, dict) else {}
    result = message.get("result")
    if tool.output is None or not isinstance(result, dict) or result.get("isError") is True:
        return
    value = result.get("structuredContent", ABSENT)
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


def _listed(server: Server) -> Iterator[tuple[str, _Tool]]:
    """Every tool that the server lists; none when it cannot say."""
    declared = server.capabilities
    if not isinstance(declared, dict) or KINDS["tools"].capability not in declared:
        return
    try:
        for entries in _pages(server):
            for entry in entries if isinstance(entries, list) else ():
                if isinstance(entry, dict) and isinstance(entry.get("name"), str):
                    yield entry["name"], _read(entry, server)
    except ServerError as error:
        kind = error.fault.kind if server.is_usable else "unclean_end"
        if kind in FINDINGS:
            server.findings.add(kind, error.fault.message)


def _pages(server: Server) -> Iterator[object]:
    """What each page holds, as far as it comes in time.

    Any client asks this before it calls a tool, so it is part of the session: captures have
    it, rules are asked about it, and what several servers offer can be compared.
    """
    deadline = time.monotonic() + _PATIENCE_S
    method, params = KINDS["tools"].method, dict[str, object]()
    for number in range(_MAX_PAGES):
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            return
        id = f"mcptest-tools-{number + 1}"
        line = encode_line(jsonrpc.request(id, method, params))
        step = Step(line=line, method=method, expectation=Expectation(), id=id)
        result = server.perform(step, left_s).message.get("result")
        if not isinstance(result, dict):
            return
        yield result.get(KINDS["tools"].name)
        cursor = result.get("nextCursor")
        if not isinstance(cursor, str):
            return
        params = {"cursor": cursor}


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


def _read(entry: dict[str, Any], server: Server) -> _Tool:
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
        schema=schema,
        is_plain=is_plain,
        output=compiled.get("outputSchema"),
        mistakes=tuple(mistakes),
    )
