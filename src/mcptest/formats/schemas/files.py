"""The schemas of all files but configs: tests, manifests, snapshots, hints, expected failures."""

from __future__ import annotations

from mcptest.core.value_class import Record
from mcptest.formats import conductor
from mcptest.formats.cases import CASE, EXTENSIONS
from mcptest.formats.conductor import (
    ANSWER_KEYS,
    FORMS,
    SLIPPED_KEYS,
    TEST_KEYS,
)
from mcptest.formats.fields import (
    ANYTHING,
    FLAG,
    NON_EMPTY,
    STRING,
    STRINGS,
    Keys,
    one_of,
    whole_number,
)
from mcptest.formats.lane_files import (
    CHANGE_KEYS,
    EXPECTED_KEYS,
    HINT_KEYS,
    NONE,
    SECRET_KEYS,
    TOOL_KEYS,
)
from mcptest.formats.schemas.expectations import (
    EXPECTED,
    MATCHER,
    expected_definitions,
    matcher,
    pattern_of,
)
from mcptest.formats.schemas.from_keys import (
    NAME_PATTERN,
    Types,
    add_server_types,
    command_or_url,
    config_server,
    describe,
    document,
    field_path,
    filled,
    list_of,
    object_with,
    pattern_message,
    ref,
    source,
    target,
)
from mcptest.formats.snapshots import KEYS, VERSION
from mcptest.formats.suite.expect import ASSERTION_KEYS, BUDGETS, EXPECT_KEYS
from mcptest.formats.suite.lanes import (
    AGENT_KEYS,
    CHECK_KEYS,
    CHECKS,
    COMPLIANCE_KEYS,
    CRITERION_KEYS,
    EVAL_KEYS,
    RUBRIC_KEYS,
    TARGETS_OF_AGENTS,
)
from mcptest.formats.suite.loader import (
    COVERAGE_KEYS,
    FILE_KEYS,
    IMPORT_KEYS,
    PERFORMANCE_KEYS,
)
from mcptest.formats.suite.servers import SAID_BY_FROM, SERVER_KEYS
from mcptest.formats.suite.tests import ARGS, CALL_KEYS, CALLS, ENTRY_KEYS, STEP_KEYS
from mcptest.formats.suite.variables import CONFIG_DIR
from mcptest.matching.patterns import PREFIX
from mcptest.matching.suite_matchers import ROOTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcptest.formats.fields import Schema
    from mcptest.matching.registry import Registry

__all__ = [
    "ManifestTables",
    "cases_schema",
    "conductor_schema",
    "expected_failures_schema",
    "hints_schema",
    "manifest_schema",
    "snapshot_schema",
    "suite_schema",
]


# Conductor: `*.test.mcp.yml`.

_CONDUCTOR_EXAMPLE = {
    "description": "The tools of the server",
    "tests": [
        {
            "it": "reads a file",
            "tool": "read_file",
            "arguments": {"path": "hello.txt"},
            "expect": {
                "response": {
                    "result": {
                        "match:partial": {"content": [{"type": "text", "text": "match:Hello"}]}
                    }
                }
            },
        }
    ],
}


def conductor_schema(registry: Registry) -> Schema:
    """The schema of a Conductor file, with the patterns of this registry."""
    types = Types(has_references=True)
    types.named |= {
        "tests": list_of(ref("test")),
        "server": config_server(),
        "response": _response(),
        "stderr": {**STRING, **pattern_of(registry, is_prefix_needed=True)},
        "performance": {**types.mapping(conductor.PERFORMANCE_KEYS), "minProperties": 1},
        "notifications": list_of({"type": ["string", "object"], "allOf": [ref(EXPECTED)]}),
        "capture": {
            "type": "object",
            "minProperties": 1,
            "propertyNames": {"pattern": NAME_PATTERN},
            "additionalProperties": field_path(),
        },
    }
    types.named["expect"] = {**types.mapping(conductor.EXPECT_KEYS), "minProperties": 1}
    test = {**types.mapping(TEST_KEYS), **_together()}
    for key in SLIPPED_KEYS:
        test["properties"][key] = {**types.schema(conductor.EXPECT_KEYS[key]), "deprecated": True}
    body = types.mapping(conductor.FILE_KEYS)
    # Accepted from those who come from another tool, with a warning.
    unread = describe("Not read: give the config on the command line.", {"deprecated": True})
    body["properties"]["config"] = unread
    body["examples"] = [_CONDUCTOR_EXAMPLE]
    definitions = {"test": test, **expected_definitions(registry)}
    description = "Tests of one server, each a request and what to expect: *.test.mcp.yml."
    return document("conductor", "mcptest test file", description, body, definitions)


def _response() -> Schema:
    """An answer as an object, or a pattern for all of it."""
    # They belong beside the response, not in it.
    apart = dict.fromkeys(conductor.EXPECT_KEYS, False)
    wrong = pattern_message('every answer says jsonrpc: "2.0", in quotes')
    version = {"type": "string", "pattern": rf"^(?:2\.0$|{PREFIX})", **wrong}
    return {
        "type": ["object", "string"],
        "minProperties": 1,
        "pattern": f"^{PREFIX}",
        **pattern_message("the answer as an object, or a pattern that begins with match:"),
        "properties": {"jsonrpc": version, **apart},
        "allOf": [ref(EXPECTED)],
    }


def _together() -> Schema:
    """Which keys of a test need or exclude each other."""
    no_arguments: Schema = {"properties": {"arguments": False}}
    no_name: Schema = {"properties": {"arguments": False, "unlisted": {"const": False}}}
    texts: Schema = {"properties": {"arguments": {"additionalProperties": STRING}}}
    forms: dict[str, Schema] = {
        "request": no_arguments,
        "resource": no_name,
        "prompt": texts,
        "list": no_name,
    }
    slipped = {
        key: {"properties": {"expect": {"properties": {key: False}}}} for key in SLIPPED_KEYS
    }
    return {
        "oneOf": [{"required": [form]} for form in FORMS],
        "anyOf": [{"required": [key]} for key in ("expect", *SLIPPED_KEYS)],
        "dependentSchemas": {**forms, **slipped},
        "allOf": [_without_answer(), _in_envelope(), _with_own_id()],
    }


def _with_own_id() -> Schema:
    """Only an id that is written can be sent unchanged."""
    keeps: Schema = {"required": ["wire_id"], "properties": {"wire_id": {"const": True}}}
    own: Schema = {"required": ["request"], "properties": {"request": {"required": ["id"]}}}
    return {"if": keeps, "then": own}


def _without_answer() -> Schema:
    """A notification has no answer, so nothing can be expected or saved."""
    notification: Schema = {
        "required": ["request"],
        "properties": {
            "request": {"type": "object", "minProperties": 1, "not": {"required": ["id"]}}
        },
    }
    nothing: Schema = {
        "expect": {"properties": {"response": {"not": {"type": "object"}}, "performance": False}},
        "performance": False,
        "capture": False,
    }
    return {"if": notification, "then": {"properties": nothing}}


def _in_envelope() -> Schema:
    """The answer to a short form has these keys at its top, unless there is a directive."""
    is_plain: Schema = {"propertyNames": {"pattern": f"^(?!{PREFIX})"}}
    answer: Schema = {"propertyNames": {"enum": sorted(ANSWER_KEYS)}}
    response: Schema = {"if": is_plain, "then": answer}
    return {
        "if": {"not": {"required": ["request"]}},
        "then": {"properties": {"expect": {"properties": {"response": response}}}},
    }


# Cases: `*.cases.yaml`.

_MESSAGE, _SENT = "message", "sent"
_MEMBERS = ("method", "result", "error")

# A key that begins like this holds a message.
_TURN = "^(?:in|out)"

_CASES_EXAMPLE = {
    "case": "List tools",
    "in": {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
    "out": {"jsonrpc": "2.0", "id": 1, "result": {"tools": []}},
}


def cases_schema(registry: Registry) -> Schema:
    """The schema of one document of a case file."""
    types = Types()
    types.named["server"] = config_server(required=("command",))
    body: Schema = {
        **types.mapping(Keys({"case": CASE, **EXTENSIONS})),
        "patternProperties": {
            "^in": _sent_message(),
            "^out": _awaited_message(),
            # Whatever others keep there.
            "^_": {},
        },
        "anyOf": [
            # Some key is a turn, or the document only says how to start the server.
            {"not": {"propertyNames": {"not": {"pattern": _TURN}}}},
            *(
                {"required": [key], "propertyNames": {"pattern": "^_"}}
                for key in ("_server", "_protocol_version")
            ),
        ],
        "if": {"required": ["_patterns"], "properties": {"_patterns": {"const": True}}},
        "then": {"patternProperties": {"^in": ref(_SENT), "^out": ref(EXPECTED)}},
        "examples": [_CASES_EXAMPLE],
    }
    sent: Schema = {
        "pattern": f"^(?!{PREFIX})",
        **pattern_message("a pattern cannot be sent: it says what must come, not what to send"),
        "items": ref(_SENT),
        "additionalProperties": ref(_SENT),
    }
    message = {"type": "object", "anyOf": [{"required": [key]} for key in _MEMBERS]}
    definitions = {_MESSAGE: message, _SENT: sent, **expected_definitions(registry)}
    description = "One case: messages of the client under in…, of the server under out…, in order."
    return document("cases", "mcptest case", description, body, definitions)


def _sent_message() -> Schema:
    """What the client sends: one message, or a batch of them."""
    return describe(
        "What the client sends: a request, a notification or an answer, or a list of them.",
        {
            "type": ["object", "array"],
            "minItems": 1,
            "items": ref(_MESSAGE),
            "anyOf": [{"type": "array"}, ref(_MESSAGE)],
        },
        _CASES_EXAMPLE["in"],
    )


def _awaited_message() -> Schema:
    return describe(
        "What the server sends, awaited in this order.",
        {
            "properties": {"jsonrpc": {"type": "string"}},
            "not": {"required": ["result", "error"]},
            "allOf": [ref(_MESSAGE)],
        },
        _CASES_EXAMPLE["out"],
    )


# Manifests: what a mock offers, with canned answers.
#
# The loader of manifests is in a package above this one, so its tables are arguments.


class ManifestTables(Record):
    """The keys that the loader of manifests knows.

    `answers`, `contents` and `messages` are the keys of which a tool, a resource and a prompt
    have exactly one; beside `answers` a tool may have a list of them.
    """

    file: tuple[str, ...]
    tool: tuple[str, ...]
    answers: tuple[str, ...]
    resource: tuple[str, ...]
    contents: tuple[str, ...]
    prompt: tuple[str, ...]
    messages: tuple[str, ...]
    argument: tuple[str, ...]
    roles: tuple[str, ...]


_MOST_CODE = 1 << 31
_BASE64: Schema = {
    "pattern": "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$",
    **pattern_message("this is not base64"),
}

_MANIFEST_EXAMPLE = {
    "tools": [
        {
            "name": "greet",
            "inputSchema": {
                "type": "object",
                "properties": {"who": {"type": "string"}},
                "required": ["who"],
            },
            "answer": "Hello ${args.who}",
        }
    ]
}


def manifest_schema(registry: Registry, tables: ManifestTables) -> Schema:
    """The schema of a manifest."""
    members = {
        "name": describe("What the server calls itself.", STRING),
        "version": describe("The version of the server.", STRING),
        "instructions": describe("The instructions for clients.", STRING),
        "tools": describe("Its tools.", _possibly_empty_list(_manifest_tool(tables))),
        "resources": describe("Its resources.", _possibly_empty_list(_manifest_resource(tables))),
        "prompts": describe("Its prompts.", _possibly_empty_list(_manifest_prompt(tables))),
    }
    body = {**_manifest_object(tables.file, members), "examples": [_MANIFEST_EXAMPLE]}
    description = "What a mock server offers, with canned answers."
    definitions = expected_definitions(registry)
    return document("manifest", "mcptest manifest", description, body, definitions)


def _manifest_object(
    keys: Sequence[str], members: dict[str, Schema], required: Sequence[str] = ()
) -> Schema:
    """A mapping with the keys that the loader of manifests knows."""
    assert set(keys) == members.keys(), "every key of a manifest has its schema"
    return object_with(members, required)


def _possibly_empty_list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _exactly_one(keys: Sequence[str]) -> Schema:
    return {"oneOf": [{"required": [key]} for key in keys]}


def _offer_members(name: Schema) -> dict[str, Schema]:
    """What a list may say of everything that is offered."""
    return {
        "name": describe("Its name.", name),
        "title": describe("Its name for people.", STRING),
        "description": describe("What it is for.", STRING),
        "icons": describe("Its icons, as the protocol has them.", ANYTHING),
        "_meta": describe("What the protocol leaves to others.", ANYTHING),
    }


def _manifest_tool(tables: ManifestTables) -> Schema:
    answers = _manifest_answers()
    when = describe(
        "What the arguments must be like; it may have patterns.",
        {"type": "object", "allOf": [ref(EXPECTED)]},
        {"who": "Bob"},
    )
    choice = _manifest_object(("when", *tables.answers), {"when": when, **answers})
    several = {**_possibly_empty_list({**choice, **_exactly_one(tables.answers)}), "minItems": 1}
    schema: Schema = {
        "type": "object",
        "properties": {"type": {"const": "object"}},
        "required": ["type"],
    }
    members = {
        **_offer_members(NON_EMPTY),
        "inputSchema": describe("The JSON Schema of its arguments.", schema),
        "outputSchema": describe("The JSON Schema of its structured results.", {"type": "object"}),
        "annotations": describe("Hints about it, as the protocol has them.", ANYTHING),
        **answers,
        "answers": describe("Several answers: the first whose when fits is given.", several),
    }
    keys = (*tables.answers, "answers")
    return {**_manifest_object((*tables.tool, *keys), members, ("name",)), **_exactly_one(keys)}


def _manifest_answers() -> dict[str, Schema]:
    code = whole_number(-_MOST_CODE, _MOST_CODE)
    error = {
        "code": describe("Its number.", code, -32602),
        "message": describe("What went wrong.", STRING),
        "data": describe("More about it.", ANYTHING),
    }
    result: Schema = {"type": "object", "properties": {"content": {"type": "array"}}}
    return {
        "answer": describe(
            "The text of the answer; ${args.NAME} stands for an argument.", STRING, "Hello"
        ),
        "result": describe("The whole result.", result, {"structuredContent": {"ok": True}}),
        "error": describe("A JSON-RPC error.", object_with(error, ("code", "message"))),
    }


def _manifest_resource(tables: ManifestTables) -> Schema:
    members = {
        "uri": describe("What it is read by.", NON_EMPTY, "file:///readme.md"),
        **_offer_members(STRING),
        "mimeType": describe("The type of what it holds.", STRING, "text/plain"),
        "size": describe("How large it is, in bytes.", ANYTHING),
        "annotations": describe("Hints about it, as the protocol has them.", ANYTHING),
        "text": describe("The text that it holds.", STRING),
        "blob": describe("What it holds, as base64.", {"type": "string", **_BASE64}),
        "json": describe("A value that it holds as JSON.", ANYTHING),
    }
    found = _manifest_object((*tables.resource, *tables.contents), members, ("uri",))
    return {**found, **_exactly_one(tables.contents)}


def _manifest_prompt(tables: ManifestTables) -> Schema:
    argument = {
        "name": describe("Its name.", STRING),
        "title": describe("Its name for people.", ANYTHING),
        "description": describe("What it is for.", ANYTHING),
        "required": describe("Whether it must be given.", FLAG),
    }
    message = {
        "role": describe("Whose message it is.", one_of(tables.roles)),
        "content": describe(
            "A text, or content as the protocol has it.", {"type": ["string", "object"]}
        ),
    }
    messages = _possibly_empty_list(object_with(message, tuple(message)))
    members = {
        **_offer_members(NON_EMPTY),
        "arguments": describe(
            "What it takes.",
            _possibly_empty_list(_manifest_object(tables.argument, argument, ("name",))),
        ),
        "messages": describe("Its messages; ${args.NAME} stands for an argument.", messages),
        "text": describe("The text of its only message.", STRING, "Greet ${args.who}"),
    }
    found = _manifest_object((*tables.prompt, *tables.messages), members, ("name",))
    return {**found, **_exactly_one(tables.messages)}


# Snapshots of a suite.

_SNAPSHOT_EXAMPLE = {
    "version": VERSION,
    "snapshots": {"finds the order": {"content": [{"type": "text", "text": "A-17"}]}},
}


def snapshot_schema() -> Schema:
    """The schema of a file of snapshots."""
    body = {**Types().mapping(KEYS), "examples": [_SNAPSHOT_EXAMPLE]}
    description = "What the server answered when it was last accepted. mcptest writes this file."
    return document("snapshot", "mcptest snapshots", description, body, {})


# Suites: `mcptest.yaml`.

_ASSERTION = {"target": "result.content[0].text", "matcher": {"contains": "A-17"}}
_SUITE_EXAMPLE = {
    "servers": {"shop": {"command": ["python3", "shop_server.py"]}},
    "tools": [
        {
            "name": "finds the order",
            "tool": "find_order",
            "args": {"id": "A-17"},
            "expect": [_ASSERTION],
        }
    ],
}
_AGENT_EXAMPLE = {"target": "tool_calls[0].name", "matcher": {"exact": "find_order"}}


def suite_schema(registry: Registry) -> Schema:
    """The schema of a suite, with the patterns of this registry."""
    types = Types(has_references=True)
    header = {**source(types), "type": ["string", "object"]}
    add_server_types(types, header, spell=str)
    server = {
        **types.mapping(SERVER_KEYS),
        "if": {"required": ["from"]},
        "then": {"properties": dict.fromkeys(SAID_BY_FROM, False)},
        "else": command_or_url(("command",), spell=str),
    }
    types.named |= {
        "matcher": ref(MATCHER),
        "expect": ref("expect"),
        "steps": list_of(ref("step")),
        "capture": {
            "type": "object",
            "minProperties": 1,
            "propertyNames": {"pattern": NAME_PATTERN},
            "additionalProperties": target(("result", "error")),
        },
    }
    definitions = {
        "server": server,
        "source": source(types),
        "step": _step(types),
        "expect": _expect(types, ROOTS, [_ASSERTION]),
        MATCHER: matcher(registry),
    }
    _add_lane_types(types)
    types.named |= {
        "servers": {
            "type": "object",
            "minProperties": 1,
            "propertyNames": {"pattern": r"\S"},
            "additionalProperties": ref("server"),
        },
        "variables": _variables(),
        "imports": {**types.mapping(IMPORT_KEYS), **STRINGS, "type": ["array", "object"]},
        "coverage": {**types.mapping(COVERAGE_KEYS), "minProperties": 1},
        "performance": {**types.mapping(PERFORMANCE_KEYS), "minProperties": 1},
    }
    body = {**types.mapping(FILE_KEYS), "examples": [_SUITE_EXAMPLE]}
    description = "Servers, and everything that is asked of them: mcptest.yaml."
    return document("suite", "mcptest suite", description, body, definitions)


def _variables() -> Schema:
    is_source = {
        "type": "object",
        "anyOf": [{"required": ["from_env"]}, {"required": ["secret_env"]}],
    }
    return {
        "type": "object",
        "propertyNames": {"pattern": NAME_PATTERN},
        # It is the folder of the file, and cannot be set.
        "properties": {CONFIG_DIR: False},
        "additionalProperties": {"if": is_source, "then": ref("source")},
    }


# Tests, steps, and what they expect.

# A threshold needs assertions to weigh.
_WEIGHED = {"threshold": ["expect"]}

# A budget is beside `expect` or in it, not both.
_BUDGETS_ONCE = {
    budget: {"properties": {"expect": {"properties": {budget: False}}}} for budget in BUDGETS
}


def _entry(types: Types, lane: str) -> Schema:
    """One test: a call, or several steps."""
    call = CALLS[lane]
    return {
        **types.mapping(ENTRY_KEYS[lane]),
        "if": {"required": ["steps"]},
        "then": {"properties": dict.fromkeys((call, *CALL_KEYS), False)},
        "else": {"required": [call]},
        "dependentRequired": _WEIGHED,
        "dependentSchemas": _BUDGETS_ONCE,
    }


def _step(types: Types) -> Schema:
    return {
        **types.mapping(STEP_KEYS),
        "oneOf": [{"required": [call]} for call in CALLS.values()],
        "dependentRequired": _WEIGHED,
        "dependentSchemas": {
            "uri": {"properties": {"args": False}},
            "prompt": {"properties": {"args": types.schema(ARGS["prompt"])}},
            **_BUDGETS_ONCE,
        },
    }


def _expect(types: Types, roots: Sequence[str], example: object) -> Schema:
    """Assertions by themselves, or with budgets."""
    types.named["target"] = {
        **target(roots),
        "description": f"It begins with {', '.join(roots)}.",
    }
    assertions = list_of(filled(types.mapping(ASSERTION_KEYS)))
    types.named["assertions"] = assertions
    found = {
        **assertions,
        **types.mapping(EXPECT_KEYS),
        "type": ["array", "object"],
        "minProperties": 1,
        "dependentRequired": {"threshold": ["assertions"]},
    }
    return {**filled(found), "examples": [example]}


def _add_lane_types(types: Types) -> None:
    """Add the type of every key that holds tests."""
    for lane in CALLS:
        types.named[f"entries_of_{lane}"] = list_of(_entry(types, lane))
    types.named["expect_of_agent"] = _expect(types, TARGETS_OF_AGENTS, [_AGENT_EXAMPLE])
    agent = {**types.mapping(AGENT_KEYS), "dependentRequired": _WEIGHED}
    types.named["agents"] = list_of(agent)
    types.named["criteria"] = {"type": "array", "items": types.mapping(CRITERION_KEYS)}
    types.named["rubric"] = {**types.mapping(RUBRIC_KEYS), "type": ["string", "object"]}
    types.named["evals"] = list_of(types.mapping(EVAL_KEYS))
    types.named["checks"] = list_of(one_of(CHECKS))
    # One by one in a list, or several in a mapping.
    types.named["compliance"] = {
        **list_of(types.mapping(CHECK_KEYS)),
        **types.mapping(COMPLIANCE_KEYS),
        "type": ["array", "object"],
    }


# Hints and expected failures of `mcptest compliance run`.


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
