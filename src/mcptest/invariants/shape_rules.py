"""Rules about the shapes of messages and of the schemas in them."""

from __future__ import annotations

from mcptest.invariants.rule import Looking, Rule, at_levels
from mcptest.invariants.sentences import gathered
from mcptest.invariants.shape_checks import faults_of, rows_at, told
from mcptest.invariants.shape_schemas import schema_faults
from mcptest.invariants.shape_table import MESSAGES
from mcptest.invariants.wording import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from mcptest.invariants.facts import Facts
    from mcptest.invariants.rule import Breaches
    from mcptest.invariants.said import Said

__all__ = ["SHAPE_RULES"]

# The shape of each message, by revision and then by topic.
_SHAPES = {
    letter: {kind.replace(" ", ":"): shape for kind, shape in rows_at(MESSAGES, letter)}
    for letter in "ABCDE"
}
_TOPICS = tuple(dict.fromkeys(topic for shapes in _SHAPES.values() for topic in shapes))


def _frame_shape(said: Said, facts: Facts) -> Breaches:
    found: Breaches = None
    for letter in sorted(facts.letters):
        breaches = _faults_at(said, letter)
        # Before a version is agreed on, it is enough to be right in one of them.
        if breaches is not None and (found is None or len(breaches) < len(found)):
            found = breaches
    return found


def _faults_at(said: Said, letter: str) -> list[str] | None:
    shape = _SHAPES[letter].get(f"{said.kind}:{said.method}")
    if shape is None:
        return None
    member = "result" if said.kind == "result" else "params"
    name = shape.removesuffix("?")
    if member not in said.message:
        return [] if name != shape else [told((None, member), "an object", "missing")]
    value = said.message[member]
    if member == "result" and isinstance(value, dict):
        name = _result_shape(name, letter, said, value)
    return faults_of(name, letter, value, (None, member))


def _result_shape(name: str, letter: str, said: Said, result: dict[str, Any]) -> str:
    """The shape of a result, which in some revisions says itself what it is."""
    if letter == "D" and said.method == "tools/call" and "task" in said.asked and "task" in result:
        return "CreateTaskResult"
    if letter != "E" or not isinstance(result.get("resultType"), str):
        return name
    if result["resultType"] == "complete":
        return name
    return "InputRequired" if result["resultType"] == "input_required" else "Result"


class _ToolSchemas:
    """Looks at the schemas of tools; a list that comes again as it was is not judged again."""

    def __init__(self) -> None:
        self._tools: list[Any] = []
        self._found: Breaches = None

    def see(self, said: Said, _: Facts) -> Breaches:
        tools = said.result.get("tools")
        if not isinstance(tools, list):
            return None
        if tools != self._tools:
            self._tools, self._found = tools, gathered(_judged(tools))
        return self._found

    def end(self, _: Facts) -> Breaches:
        return None


def _judged(tools: list[Any]) -> Iterator[Breaches]:
    for index, tool in enumerate(tools):
        for member in ("inputSchema", "outputSchema"):
            schema = tool.get(member) if isinstance(tool, dict) else None
            if isinstance(schema, dict):
                path = ((((None, "result"), "tools"), index), member)
                faults = schema_faults(schema, path)
                if faults:
                    name = shown(tool.get("name"))
                    faults = [f"{fault} (the tool {name})" for fault in faults]
                yield faults


SHAPE_RULES = (
    Rule(
        id="BASE-39",
        name="schema-dialect-valid",
        category="base",
        property="the schemas of every tool are valid in the dialect they name, or else in "
        "JSON Schema 2020-12",
        levels=at_levels("DE"),
        topics=("result:tools/list",),
        start=_ToolSchemas,
        nothing="no tool with a schema in a known dialect was listed",
        elsewhere="no default dialect for schemas",
    ),
    Rule(
        id="BASE-41",
        name="frame-matches-schema",
        category="base",
        property="every result, request and notification of the server has the members its "
        "method needs, and they are of the right types",
        levels=at_levels("ABCDE"),
        topics=_TOPICS,
        start=lambda: Looking(_frame_shape),
        nothing="the server sent nothing that has a shape of its own",
    ),
)
