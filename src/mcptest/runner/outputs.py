"""Hold the structured output of tools against their own schemas, without being asked.

What a server declares is read once. Its schemas must be JSON Schema, and what it answers must
be what it declares. Nothing that a schema refers to is ever fetched.
"""

from __future__ import annotations

import time

from mcptest.core.errors import ServerError
from mcptest.core.offer_kinds import KINDS
from mcptest.core.outcome import ABSENT, Mismatch
from mcptest.core.record import Record
from mcptest.core.visible import visible
from mcptest.matching.registry import BadSchemaError
from mcptest.matching.schema_matchers import SCHEMA_MATCHERS, declared_schema
from mcptest.runner.inventory import EndlessError, list_pages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from mcptest.runner.launcher import Reply
    from mcptest.runner.server import Server

__all__ = ["Outputs"]

_PATIENCE_S = 5.0
_CHECK = SCHEMA_MATCHERS[0].check


class _Tool(Record):
    """A tool's output schema, compiled; or what is wrong with one of its schemas."""

    output: Any = None
    mistakes: tuple[tuple[str, str], ...] = ()


class Outputs:
    """The schemas of the tools of every server, by the server's name."""

    def __init__(self) -> None:
        self._servers: dict[str, dict[str, _Tool]] = {}

    def judge(self, server: Server, tool: str, reply: Reply) -> tuple[Mismatch, ...]:
        """What is wrong with an answer of this tool, and with its schemas."""
        name = server.spec.name
        if name not in self._servers:
            self._servers[name] = dict(_tools_of(server))
        known = self._servers[name].get(tool)
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
        return (*found, *_judge_output(known, reply))


def _judge_output(tool: _Tool, reply: Reply) -> Iterator[Mismatch]:
    message = reply.message if isinstance(reply.message, dict) else {}
    result = message.get("result")
    if tool.output is None or not isinstance(result, dict) or result.get("isError") is True:
        return
    path = "result.structuredContent"
    value = result.get("structuredContent", ABSENT)
    if value is ABSENT:
        why = "is missing: the tool declares an outputSchema, so it must answer with it"
        yield Mismatch(path=path, expected="what outputSchema says", actual=ABSENT, message=why)
        return
    miss = _CHECK(tool.output, value)
    if miss:
        message_ = f"does not meet the tool's own outputSchema: {miss.why}"
        yield Mismatch(path=path, expected="what outputSchema says", actual=value, message=message_)


def _tools_of(server: Server) -> Iterator[tuple[str, _Tool]]:
    """Every tool that the server lists; none when it cannot say."""
    deadline = time.monotonic() + _PATIENCE_S
    try:
        for entries in list_pages(server, KINDS["tools"], deadline):
            for entry in entries if isinstance(entries, list) else ():
                if isinstance(entry, dict) and isinstance(entry.get("name"), str):
                    yield entry["name"], _read(entry, server)
    except (ServerError, EndlessError):
        return


def _read(entry: dict[str, Any], server: Server) -> _Tool:
    compiled: dict[str, Any] = {}
    mistakes = []
    for key in ("inputSchema", "outputSchema"):
        if key not in entry:
            continue
        try:
            compiled[key] = declared_schema(entry[key])
        except BadSchemaError as error:
            why = f"is no JSON Schema that can be used: {error}"
            mistakes.append((key, why))
            server.findings.add(
                "bad_schema", f"the {key} of the tool {visible(entry['name'])} {why}"
            )
    return _Tool(output=compiled.get("outputSchema"), mistakes=tuple(mistakes))
