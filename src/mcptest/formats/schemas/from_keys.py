"""Build JSON Schemas from the keys that loaders declare (`formats.fields`).

A schema states several things about one value at once: what it says about strings, lists and
mappings does not interfere, so few `oneOf` are needed and editors can show one clear message.
"""

from __future__ import annotations

import re

from mcptest.core.plan import ACCEPT_DEFAULTS, PRIVATE_KEY
from mcptest.core.project import schema_url
from mcptest.formats.config import (
    AUTH_KEYS,
    ELICITATION_ACTIONS,
    GRANT_KEYS,
    HTTP_KEYS,
    IMPORT_KEYS,
    KEYS,
    PLUGIN_KEYS,
    PLUGIN_NAME,
    camel_case,
)
from mcptest.formats.fields import (
    _SWITCHES,
    _WRITTEN,
    ANYTHING,
    EACH_KEYS,
    MAX_DURATION_S,
    NAME,
    NON_EMPTY,
    ROW_ENDINGS,
    STRING,
    Key,
    Keys,
)
from mcptest.formats.suite.variables import SOURCE_KEYS
from mcptest.matching.suite_matchers import _SCALAR_ROOTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from mcptest.formats.fields import Key, Schema

    Spell = Callable[[str], str]

__all__ = [
    "NAME_PATTERN",
    "NOT_BLANK",
    "Types",
    "add_server_types",
    "command_or_url",
    "config_schema",
    "config_server",
    "describe",
    "document",
    "field_path",
    "filled",
    "in_any_case",
    "list_of",
    "object_with",
    "pattern_message",
    "ref",
    "source",
    "target",
]


class Types:
    """The types that keys of a format name, and the schema of a mapping with declared keys.

    In a format with references, `${name}` is allowed wherever a key is declared with `is_filled`.
    """

    def __init__(self, *, has_references: bool = False) -> None:
        self.has_references = has_references
        self.named: dict[str, Schema] = {
            "duration": _duration(),
            "tags": {"type": ["string", "array"], "items": STRING},
            "skip": _skip(),
            "row_file": {
                "type": "string",
                "pattern": f"(?:{'|'.join(map(re.escape, ROW_ENDINGS))})$",
                **pattern_message(f"a file that ends in {', '.join(ROW_ENDINGS)}"),
            },
        }
        # Rows, or a file of them.
        row = {"type": "object", "minProperties": 1, "propertyNames": {"pattern": NAME_PATTERN}}
        files = {**self.mapping(EACH_KEYS), "type": ["array", "object"]}
        self.named["each"] = {**list_of(row), **files}

    def mapping(self, keys: Keys, required: Iterable[str] | None = None) -> Schema:
        """A mapping with these keys, and no others."""
        members = {name: self.schema(key) for name, key in keys.items()}
        return object_with(members, keys.required if required is None else required)

    def schema(self, key: Key) -> Schema:
        """The schema of one key's value."""
        if isinstance(key.type, Keys):
            schema = self.mapping(key.type)
        elif isinstance(key.type, str):
            schema = self.named[key.type]
        else:
            schema = key.type
        if key.is_filled and self.has_references:
            schema = filled(schema)
        description = f"{key.description} {schema.get('description', '')}".rstrip()
        examples = key.examples or schema.get("examples", ())
        return describe(description, schema, *examples)


def object_with(members: Mapping[str, Schema], required: Iterable[str] = ()) -> Schema:
    """A mapping with these members, and no others."""
    needed = {"required": list(required)} if required else {}
    return {"type": "object", "properties": members, **needed, "additionalProperties": False}


def list_of(items: Schema) -> Schema:
    """A list with at least one item."""
    return {"type": "array", "minItems": 1, "items": items}


def describe(description: str, schema: Schema, *examples: object) -> Schema:
    """The schema with what an editor shows beside it."""
    shown = {"examples": list(examples)} if examples else {}
    return {**schema, "description": description, **shown}


def ref(name: str) -> Schema:
    """A reference to a definition."""
    return {"$ref": f"#/$defs/{name}"}


def document(
    name: str, title: str, description: str, body: Schema, definitions: Mapping[str, Schema]
) -> Schema:
    """The schema of a whole file."""
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": schema_url(name),
        "title": title,
        "description": description,
    }
    tail = {"$defs": dict(definitions)} if definitions else {}
    return {**head, **body, **tail}


def pattern_message(sentence: str) -> Schema:
    """What editors that know this keyword show instead of the regular expression."""
    return {"patternErrorMessage": sentence}


# References: `${name}` as a whole string, and anywhere in one; `$${name}` is not a reference.

_WHOLE = r"^\$\{[^}]*\}$"
_SOMEWHERE = r"(?:^|[^$])\$\{[^}]*\}"


def filled(schema: Schema) -> Schema:
    """The same where `${name}` may be in a string, or replace a whole value of another type."""
    if "enum" in schema:
        wrong = pattern_message(f"one of {', '.join(schema['enum'])}")
        return {"anyOf": [schema, {"type": "string", "pattern": _SOMEWHERE, **wrong}]}
    types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if "string" not in types:
        wrong = pattern_message("a text can only be a reference here, such as ${name}")
        return {**schema, "type": [*types, "string"], "pattern": _WHOLE, **wrong}
    if "pattern" in schema:
        return {**schema, "pattern": f"{schema['pattern']}|{_SOMEWHERE}"}
    return schema


# Types that several formats have.

NAME_PATTERN = f"^{NAME}$"
NOT_BLANK: Schema = {"pattern": r"\S", "patternErrorMessage": "it must not be blank"}


# JSON Schema has no named groups.
_NO_CAPTURES = re.sub(r"(?<!\\)\((?:\?P<\w+>|(?!\?))", "(?:", _WRITTEN)


def _duration() -> Schema:
    return {
        "description": 'Milliseconds, or a text such as "500ms", "2s" or "1m".',
        "type": ["number", "string"],
        "exclusiveMinimum": 0,
        "maximum": int(MAX_DURATION_S * 1000),
        # At least one digit is not 0.
        "pattern": f"^(?=[^1-9]*[1-9]){_NO_CAPTURES}$",
        **pattern_message(
            'a time is a number of milliseconds, or a text such as "500ms", "2s" or "1m"'
        ),
        "examples": ["2s"],
    }


def _skip() -> Schema:
    switches = "|".join(map(in_any_case, sorted(_SWITCHES)))
    return {
        "type": ["boolean", "string"],
        # Other versions of YAML take these words for booleans; none of them is a reason.
        "pattern": rf"^(?!(?:{switches})$)[\s\S]*\S",
        **pattern_message("true, false or a reason; in YAML 1.2 only true and false are booleans"),
    }


def field_path() -> Schema:
    """A path into an answer, as `matching.json_values.read_path` reads it."""
    wrong = pattern_message("a path into the answer, such as result.content[0].text")
    return {"type": "string", "pattern": f"^(?:{_STEP}|{_WORD}){_FURTHER}$", **wrong}


_ESCAPE = r'\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4})'
_QUOTED = rf"""(?:"(?:[^"\\]|{_ESCAPE})*"|'[^']*')"""
_STEP = rf"(?:\[(?:[0-9]{{1,9}}|\*|{_QUOTED})\]|{_QUOTED})"
_WORD = r"""[^.\[\]"'][^.\[\]"]*"""
_FURTHER = rf"(?:\.?{_STEP}|\.{_WORD})*"


def target(roots: Sequence[str]) -> Schema:
    """A path of a suite that begins with one of these roots; some roots have no members."""
    flat = [root for root in roots if root in _SCALAR_ROOTS]
    deep = [root for root in roots if root not in flat]
    ways = [_first(deep) + _FURTHER, *([_first(flat)] if flat else [])]
    wrong = pattern_message(
        f'a path that begins with {", ".join(roots)}; keys, dots, [0], [*], ["a key"]'
    )
    return {"type": "string", "pattern": f"^(?:{'|'.join(ways)})$", **wrong}


def _first(roots: Sequence[str]) -> str:
    """A regular expression for the first step, in any notation."""
    choice = f"(?:{'|'.join(roots)})"
    quoted = [mark + choice + mark for mark in ('"', "'")]
    in_brackets = [rf"\[{each}\]" for each in quoted]
    return f"(?:{'|'.join((choice, *quoted, *in_brackets))})"


def in_any_case(text: str) -> str:
    """A regular expression for a word in lower and upper case."""
    return "".join(f"[{each.upper()}{each}]" if each.isalpha() else each for each in text)


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
        "allOf": [
            {"oneOf": [{"required": [spell(key)]} for key in keys]}
            for keys in (("client_id", "client_id_env"), ("client_secret_env", "private_key_env"))
        ],
        "if": {
            "properties": {spell("token_endpoint_auth_method"): {"const": PRIVATE_KEY}},
            "required": [spell("token_endpoint_auth_method")],
        },
        "then": {"required": [spell("private_key_env")]},
        "else": {
            "if": {"required": [spell("token_endpoint_auth_method")]},
            "then": {"required": [spell("client_secret_env")]},
        },
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

    def word(*words: str) -> Schema:
        wrong = pattern_message(f"one of {', '.join(words)}")
        return fill({"type": "string", "pattern": f"^(?:{'|'.join(words)})$", **wrong})

    action = word(*ELICITATION_ACTIONS)
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
    types.named["elicitation"] = answers(word(*ELICITATION_ACTIONS, ACCEPT_DEFAULTS), elicited)
