"""The schemas of the files of `mcptest compliance run`: hints and expected failures."""

from __future__ import annotations

from mcptest.formats.keys import NON_EMPTY
from mcptest.formats.lane_files import (
    CHANGE_KEYS,
    EXPECTED_KEYS,
    HINT_KEYS,
    NONE,
    SECRET_KEYS,
    TOOL_KEYS,
)
from mcptest.formats.schemas.types import Types, document, pattern_message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.formats.keys import Keys, Schema

__all__ = ["expected_failures_schema", "hints_schema"]


def hints_schema() -> Schema:
    """The schema of a file of hints."""
    types = Types()

    def text_or(keys: Keys) -> Schema:
        return {**types.mapping(keys), "type": ["object", "string"], "minLength": 1}

    types.named["tool_hint"] = text_or(TOOL_KEYS)
    types.named["change_hint"] = text_or(CHANGE_KEYS)
    types.named["secret_hint"] = {
        **types.mapping(SECRET_KEYS),
        "type": ["object", "string"],
        "pattern": f"^{NONE}$",
        **pattern_message("{secret_env: NAME}, or none"),
    }
    types.named["command_hint"] = {
        "type": ["array", "string"],
        "items": {"type": "string"},
        "minItems": 1,
        "pattern": f"^{NONE}$",
        **pattern_message("a list of the program and its arguments, or none"),
    }
    types.named["path_hint"] = NON_EMPTY
    body = {**types.mapping(HINT_KEYS), "examples": [{"slow_tool": {"name": "sleep"}}]}
    description = (
        "How mcptest compliance run can provoke what it cannot find out by itself; "
        f'"{NONE}" for what the server does not have.'
    )
    return document("hints", "mcptest hints", description, body, {})


def expected_failures_schema() -> Schema:
    """The schema of a file of expected failures."""
    entry = Types().mapping(EXPECTED_KEYS)
    example = [{"check": "HTTP-02", "reason": "a proxy checks it", "until": "2027-01-01"}]
    body: Schema = {"type": "array", "items": entry, "examples": [example]}
    description = "Failures of mcptest compliance run that are accepted, each with its reason."
    return document("expected-failures", "mcptest expected failures", description, body, {})
