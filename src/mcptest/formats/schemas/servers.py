"""How a server is started or reached: `servers:` of a suite, and the config of Conductor files."""

from __future__ import annotations

from mcptest.formats.config import (
    ELICITATION_ACTIONS,
    IMPORT_KEYS,
    KEYS,
    PLUGIN_KEYS,
    PLUGIN_NAME,
)
from mcptest.formats.http_servers import AUTH_KEYS, GRANT_KEYS, HTTP_KEYS, camel_case
from mcptest.formats.keys import ANYTHING, NON_EMPTY, STRING, Key, Keys
from mcptest.formats.schemas.types import Types, describe, document, filled, pattern_message
from mcptest.formats.suite.variables import SOURCE_KEYS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mcptest.formats.keys import Schema

    Spell = Callable[[str], str]

__all__ = ["add_server_types", "command_or_url", "config_schema", "config_server", "source"]

_EXAMPLE = {"name": "files", "command": "python3", "args": ["server.py", "test-data"]}

# Values of variables hold no NUL; in a config, every `${` is closed.
_NO_NUL: Schema = {
    "pattern": r"^[^\u0000]*$",
    **pattern_message("no value of a variable holds NUL"),
}
_CONFIG_VALUE: Schema = {
    "type": "string",
    "pattern": r"^(?:[^$\u0000]|\$(?!\{)|\$\{[^}\u0000]*\})*$",
    **pattern_message("a variable is written ${NAME}, and no value holds NUL"),
}


def config_schema() -> Schema:
    """The schema of `conductor.config.json`."""
    body = config_server(Keys({"imports": Key(IMPORT_KEYS, "Plugins for the test files.")}))
    description = "How the server under test is started: conductor.config.json."
    return document("config", "mcptest config", description, {**body, "examples": [_EXAMPLE]}, {})


def config_server(
    also: dict[str, Key] | None = None, required: Sequence[str] = ("name", "command", "args")
) -> Schema:
    """The server of a config, or of a block in a test file; `also` are further keys."""
    types = Types()
    add_server_types(types, _CONFIG_VALUE, spell=camel_case)
    always = [key for key in required if key == "name"]
    started = [key for key in required if key != "name"]
    return {
        **types.mapping(Keys({**KEYS, **(also or {})}), always),
        **command_or_url(started, camel_case),
    }


def command_or_url(started: Sequence[str], spell: Spell) -> Schema:
    """That a server is started or reached; what needs a URL does not come without one.

    `started` are the keys that a server without a URL requires.
    """
    wrong = pattern_message("{port} is a free port for a server that we start")
    no_port = {"not": {"type": "string", "pattern": r"\{port\}", **wrong}}
    others = [spell(key) for key in HTTP_KEYS if key != "url"]
    return {
        "if": {"required": ["url"]},
        "then": {
            "if": {"not": {"required": ["command"]}},
            "then": {"properties": {"args": {"maxItems": 0}, "url": no_port}},
        },
        "else": {"required": list(started), "properties": dict.fromkeys(others, False)},
    }


def source(types: Types) -> Schema:
    """A value that comes from the environment."""
    return {
        **types.mapping(SOURCE_KEYS),
        "minProperties": 1,
        "dependentRequired": {"default": ["from_env"]},
        "dependentSchemas": {"from_env": {"properties": {"secret_env": False}}},
    }


def add_server_types(types: Types, value: Schema, spell: Spell) -> None:
    """Add the types that keys of a server name; `value` is a header or a variable."""
    # A scheme means the same in capitals.
    scheme = "[hH][tT][tT][pP][sS]?://[^/]"
    types.named |= {
        "argv": {"type": "array", "minItems": 1, "prefixItems": [NON_EMPTY], "items": STRING},
        "url": {
            "type": "string",
            "pattern": rf"^(?:{scheme}|\$\{{)" if types.has_references else f"^{scheme}",
            **pattern_message("it begins with http:// or https://"),
        },
        "headers": {
            "type": "object",
            "propertyNames": {"pattern": r"^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$"},
            "additionalProperties": value,
        },
        "env": {
            "type": "object",
            "propertyNames": {"pattern": "^[^=]+$"},
            "additionalProperties": {**_NO_NUL, **value},
        },
    }
    types.named["plugins"] = {
        "type": "object",
        "propertyNames": {"pattern": f"^{PLUGIN_NAME}$"},
        "additionalProperties": types.mapping(PLUGIN_KEYS),
    }
    types.named["grant"] = {
        **types.mapping(GRANT_KEYS.spelled(spell)),
        "oneOf": [{"required": [spell(key)]} for key in ("client_id", "client_id_env")],
    }
    types.named["auth"] = {
        **types.mapping(AUTH_KEYS.spelled(spell)),
        "minProperties": 1,
        "maxProperties": 1,
    }
    _add_client_types(types)


def _add_client_types(types: Types) -> None:
    """Add the scripted answers of a client."""
    fill: Callable[[Schema], Schema] = filled if types.has_references else lambda schema: schema
    wrong = pattern_message("a root is a URI that begins with file://")
    uri = fill({"type": "string", "pattern": "^file://", **wrong})
    root = {**uri, "type": ["string", "object"], "properties": {"uri": uri}, "required": ["uri"]}
    code = fill({"type": "integer"})
    error = fill({"type": "object", "properties": {"code": code}, "required": ["code"]})

    def answers(answer: Schema, result: Schema) -> Schema:
        """One answer, given every time, or a list of them; each is a result or an error."""
        one = {
            **answer,
            "type": ["string", "object"],
            "if": {"type": "object", "required": ["error"]},
            "then": {"properties": {"error": error}, "maxProperties": 1},
            "else": result,
        }
        return {**one, "type": [*one["type"], "array"], "minItems": 1, "items": one}

    wrong = pattern_message(f"one of {', '.join(ELICITATION_ACTIONS)}")
    pattern = f"^(?:{'|'.join(ELICITATION_ACTIONS)})$"
    action = fill({"type": "string", "pattern": pattern, **wrong})
    elicited: Schema = {
        "properties": {
            "action": describe("What the user does about it.", action),
            "content": describe("What the user fills in.", ANYTHING),
            "_meta": describe("Metadata of the protocol.", ANYTHING),
        },
        "required": ["action"],
        "additionalProperties": False,
    }
    types.named["roots"] = {"type": "array", "items": root}
    types.named["sampling"] = answers({}, {"required": ["role", "content", "model"]})
    types.named["elicitation"] = answers(action, elicited)
