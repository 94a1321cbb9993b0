"""What a contract says of the server itself: who it is, what it can do, what its tools take."""

from __future__ import annotations

from mcptest import __version__
from mcptest.matching.tags import has_blanks
from mcptest.mock.eras import REMOVED, STATELESS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mcptest.mock.script import Cue, Script

    About = tuple[str, str, dict[str, object]]

__all__ = ["about_server", "input_schemas", "unplayable_cases"]


def about_server(
    script: Script, welcoming: Iterable[Cue], capabilities: dict[str, object]
) -> About:
    """The name, the version and the capabilities, as the handshake in a contract has them."""
    result: object = {}
    for cue in welcoming:
        result = script.answer_to(cue).get("result")
        break
    members = result if isinstance(result, dict) else {}
    info = members.get("serverInfo")
    info = info if isinstance(info, dict) else {}
    declared = members.get("capabilities")
    if isinstance(declared, dict) and not has_blanks(declared):
        capabilities = declared
    return _text(info, "name", script.name), _text(info, "version", __version__), capabilities


def _text(info: Mapping[str, object], key: str, otherwise: str) -> str:
    value = info.get(key)
    return value if isinstance(value, str) else otherwise


def input_schemas(script: Script, derived: dict[str, object]) -> dict[str, object]:
    """The schemas of the arguments of tools by name: as they are listed, else as derived."""
    found = dict(_schemas(derived))
    for cue in script.cues_for("request", "tools/list"):
        found |= dict(_schemas(script.answer_to(cue).get("result")))
    return found


def _schemas(result: object) -> Iterator[tuple[str, object]]:
    tools = result.get("tools") if isinstance(result, dict) else None
    for tool in tools if isinstance(tools, list) else ():
        name = tool.get("name") if isinstance(tool, dict) else None
        if isinstance(name, str):
            yield name, tool.get("inputSchema")


def unplayable_cases(script: Script) -> str:
    """A sentence about the cases that a client without handshake can never exercise, or ""."""
    methods = REMOVED - {"initialize"}
    count = sum(any(script.cues[cue].method in methods for cue in act.cues) for act in script.acts)
    if not count:
        return ""
    cases = "1 case asks" if count == 1 else f"{count} cases ask"
    return f"{cases} for what revision {STATELESS} does not have, and cannot be exercised in it"
