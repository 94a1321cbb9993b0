"""How a server is started: `servers:` of a suite, and the config of Conductor files."""

from __future__ import annotations

from mcptest.core.plan import ISOLATIONS, Limits
from mcptest.core.record import Record
from mcptest.formats.config import _ACTIONS, _ERROR, _REQUIRED, CLIENT_KEYS, PLUGIN_NAME
from mcptest.formats.config import _KEYS as PLUGIN_KEYS
from mcptest.formats.config import KEYS as CONFIG_KEYS
from mcptest.formats.http_servers import AUTH_KEYS, GRANT_KEYS, HTTP_KEYS, TRANSPORTS, camel_case
from mcptest.formats.schemas.parts import (
    FLAG,
    NON_EMPTY,
    TEXT,
    TEXTS,
    closed,
    document,
    duration,
    filled_text,
    filled_value,
    said,
    told,
    whole_number,
    words,
)
from mcptest.formats.suite.servers import SERVER_KEYS
from mcptest.formats.suite.variables import SOURCE_KEYS
from mcptest.protocol.revisions import REVISIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mcptest.formats.schemas.parts import Schema

    Spell = Callable[[str], str]

__all__ = ["config_schema", "config_server", "plugins", "source", "suite_server"]


# The schema of `conductor.config.json`.


_EXAMPLE = {"name": "files", "command": "python3", "args": ["server.py", "test-data"]}


def config_schema() -> Schema:
    """What may stand in a config."""
    members = {"subprocess_matchers": plugins()}
    imports = said("Plugins for the test files.", closed(tuple(members), members))
    body = {**config_server({"imports": imports}), "examples": [_EXAMPLE]}
    description = "How the server under test is started: conductor.config.json."
    return document("config", "mcptest config", description, body, {})


_MOST_LINE_BYTES = 1 << 31

_CWD = "The working folder of the server."
_INHERIT = "false: the server gets only a few variables of the environment, such as PATH."
_STARTUP = "Longest wait until the server is ready and the handshake done."
_READY = "A regular expression that must appear on stderr before the handshake begins."
_TIMEOUT = "Longest wait for one answer; 30 s when nothing is said."
_VERSION = "The revision of the protocol that is offered."
_ISOLATION = "What gets a server process of its own."
_LINE = f"Longest line that the server may write, in bytes; {Limits().max_line_bytes} otherwise."

# No name of a variable is empty or holds =, and no value holds NUL.
_VARIABLE: Schema = {"pattern": "^[^=]+$"}
_NO_NUL: Schema = {"pattern": r"^[^\u0000]*$", **told("no value of a variable holds NUL")}

# `${NAME}` is closed wherever it is opened.
_CLOSED = told("a variable is written ${NAME}, and no value holds NUL")
_CONFIG_VALUE = r"^(?:[^$\u0000]|\$(?!\{)|\$\{[^}\u0000]*\})*$"


def suite_server() -> Schema:
    """One server of a suite; `${name}` may stand anywhere in it."""
    version = words(tuple(REVISIONS))
    members = {
        "command": said(
            "The program and its arguments; no shell is involved.",
            filled_value(_argv()),
            ["python3", "server.py"],
        ),
        "env": _suite_env(),
        "inherit_env": said(_INHERIT, filled_value(FLAG)),
        "cwd": said(f"{_CWD} Relative to the suite's.", TEXT, "${CONFIG_DIR}"),
        "startup_timeout": filled_text(duration(_STARTUP, "20s")),
        "ready_pattern": said(_READY, TEXT, "listening on"),
        "timeout": filled_text(duration(_TIMEOUT)),
        "protocol_version": said(_VERSION, filled_text(version)),
        "isolation": said(_ISOLATION, filled_text(words(ISOLATIONS))),
        "max_line_bytes": said(_LINE, filled_value(whole_number(1, _MOST_LINE_BYTES))),
        "client": client(is_filled=True),
        **http_members(str, header={**source(), "type": ["string", "object"]}, is_filled=True),
    }
    return {**closed(SERVER_KEYS, members), **command_or_url(("command",), str)}


def config_server(also: dict[str, Schema], required: Sequence[str] = _REQUIRED) -> Schema:
    """The server of a config, and of a block in a test file; `also` stands beside its keys."""
    members = {
        "name": said("What reports call the server.", TEXT, "files"),
        "command": said("The program; no shell is involved.", NON_EMPTY, "python3"),
        "args": said("Its arguments.", TEXTS, ["server.py"]),
        "cwd": said(f"{_CWD} Relative to the config's.", TEXT),
        "env": said(
            "Variables to set for the server; ${NAME} takes a value from the environment.",
            {
                "type": "object",
                "propertyNames": _VARIABLE,
                "additionalProperties": {"type": "string", "pattern": _CONFIG_VALUE, **_CLOSED},
            },
            {"API_KEY": "${MY_API_KEY}"},
        ),
        "inheritEnv": said(_INHERIT, FLAG),
        "startupTimeout": duration(_STARTUP, "20s"),
        "readyPattern": said(_READY, TEXT, "listening on"),
        "timeout": duration(_TIMEOUT),
        "protocolVersion": said(_VERSION, words(tuple(REVISIONS))),
        "isolation": said(_ISOLATION, words(ISOLATIONS)),
        "maxLineBytes": said(_LINE, whole_number(1, _MOST_LINE_BYTES)),
        "client": client(is_filled=False),
        "strictInvariants": said("true: a broken rule about whole sessions fails the run.", FLAG),
        **http_members(
            camel_case,
            header={"type": "string", "pattern": _CONFIG_VALUE, **_CLOSED},
            is_filled=False,
        ),
    }
    always = [key for key in required if key not in ("command", "args")]
    started = [key for key in required if key in ("command", "args")]
    return {
        **closed((*CONFIG_KEYS, *also), {**members, **also}, always),
        **command_or_url(started, camel_case),
    }


def plugins() -> Schema:
    """`subprocess_matchers`: the programs that judge values."""
    members = {
        "command": said("The program and its arguments.", _argv(), ["python3", "geo.py"]),
        "call_timeout": duration("Longest wait for one verdict.", "5s"),
    }
    return said(
        "Programs that judge values, by the name that match:plugin:NAME.METHOD asks them by.",
        {
            "type": "object",
            "propertyNames": {"pattern": f"^{PLUGIN_NAME}$"},
            "additionalProperties": closed(PLUGIN_KEYS, members, ("command",)),
        },
    )


def _argv() -> Schema:
    return {"type": "array", "minItems": 1, "prefixItems": [NON_EMPTY], "items": TEXT}


def source() -> Schema:
    """A value that comes from the environment."""
    members = {
        "from_env": said("The environment variable that holds the value.", NON_EMPTY, "REGION"),
        "secret_env": said(
            "The environment variable that holds a secret: it is blanked in every output.",
            NON_EMPTY,
            "API_TOKEN",
        ),
        "default": said("The value when the variable is not set; secrets have none.", TEXT),
    }
    return {
        **closed(SOURCE_KEYS, members),
        "minProperties": 1,
        "dependentRequired": {"default": ["from_env"]},
        "dependentSchemas": {"from_env": {"properties": {"secret_env": False}}},
    }


def _suite_env() -> Schema:
    value = {**source(), "type": ["string", "object"], **_NO_NUL}
    return said(
        "Variables to set for the server.",
        {"type": "object", "propertyNames": _VARIABLE, "additionalProperties": value},
        {"SHOP_MODE": "test", "TOKEN": {"secret_env": "API_TOKEN"}},
    )


# How a server on HTTP is reached: the same keys in a suite and in a config, spelt differently.


def http_members(spell: Spell, *, header: Schema, is_filled: bool) -> dict[str, Schema]:
    """The keys of a server on HTTP; `header` is what a header may be."""
    flag, transport = FLAG, words(TRANSPORTS)
    if is_filled:
        flag, transport = filled_value(flag), filled_text(transport)
    members = {
        "url": said(
            "Where the server is; {port} stands for a free port, in the command as well.",
            _url(is_filled),
            "http://127.0.0.1:3001/mcp",
        ),
        "headers": said(
            "Headers that go with every request.",
            {
                "type": "object",
                "propertyNames": {"pattern": r"^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$"},
                "additionalProperties": header,
            },
        ),
        "auth": said("Who we are to the server.", _auth(spell, is_filled)),
        "ca_file": said("Further authorities that TLS believes, as a PEM file.", TEXT),
        "insecure_tls": said("true: the server's certificate is not checked.", flag),
        "transport": said("Which transport over HTTP is spoken.", transport),
    }
    return {spell(key): members[key] for key in HTTP_KEYS}


def _url(is_filled: bool) -> Schema:
    # A scheme means the same in capitals.
    scheme = "[hH][tT][tT][pP][sS]?://[^/]"
    pattern = rf"^(?:{scheme}|\$\{{)" if is_filled else f"^{scheme}"
    return {"type": "string", "pattern": pattern, **told("it begins with http:// or https://")}


def _auth(spell: Spell, is_filled: bool) -> Schema:
    bearer, grant = (spell(key) for key in AUTH_KEYS)
    members = {
        bearer: said("The environment variable that holds a token.", NON_EMPTY, "SHOP_TOKEN"),
        grant: said("Fetch a token by the OAuth grant for machines.", _grant(spell, is_filled)),
    }
    return {**closed((bearer, grant), members), "minProperties": 1, "maxProperties": 1}


def _grant(spell: Spell, is_filled: bool) -> Schema:
    said_of = {
        "token_url": ("Where the token is fetched; https, or on this machine.", _url(is_filled)),
        "client_id": ("Our name there.", TEXT),
        "client_id_env": ("The environment variable that holds our name there.", NON_EMPTY),
        "client_secret_env": ("The environment variable that holds our secret.", NON_EMPTY),
        "scope": ("What the token is to allow.", TEXT),
        "resource": ("The server that the token is for.", TEXT),
    }
    members = {spell(key): said(*said_of[key]) for key in GRANT_KEYS}
    needed = (spell("token_url"), spell("client_secret_env"))
    ids = [{"required": [spell(key)]} for key in ("client_id", "client_id_env")]
    return {**closed(tuple(members), members, needed), "oneOf": ids}


def _known_port() -> Schema:
    sentence = told("{port} is a free port for a server that we start")
    return {"not": {"type": "string", "pattern": r"\{port\}", **sentence}}


def command_or_url(started: Sequence[str], spell: Spell) -> Schema:
    """That a server is started or reached: what needs a URL does not come without one."""
    others = [spell(key) for key in HTTP_KEYS[1:]]
    return {
        "if": {"required": ["url"]},
        "then": {
            "if": {"not": {"required": ["command"]}},
            "then": {"properties": {"args": {"maxItems": 0}, "url": _known_port()}},
        },
        "else": {"required": list(started), "properties": dict.fromkeys(others, False)},
    }


# `client:`: what the client can do, and its scripted answers to the server.


class _Filling(Record):
    """What becomes of a schema where `${name}` may stand: for a text, and for any other value."""

    text: Callable[[Schema], Schema]
    value: Callable[[Schema], Schema]


def _as_it_is(schema: Schema) -> Schema:
    return schema


_FILLED = _Filling(text=filled_text, value=filled_value)
_WRITTEN = _Filling(text=_as_it_is, value=_as_it_is)


def client(*, is_filled: bool) -> Schema:
    """The client; `is_filled` says that `${name}` may stand in it, as in a suite."""
    fill = _FILLED if is_filled else _WRITTEN
    members = {
        "capabilities": said(
            "Capabilities to declare, beside those that follow from the answers.",
            fill.value({"type": "object"}),
        ),
        "roots": said(
            "The roots that the client tells of.",
            fill.value({"type": "array", "items": _root(fill)}),
            ["file:///project"],
        ),
        "sampling": said(
            "What a model answers: a text or a whole result, or a list of them, in turn.",
            _script(_sample(fill)),
            "The capital of France is Paris.",
        ),
        "elicitation": said(
            "What the user answers, or a list of answers, in turn.",
            _script(_elicitation(fill)),
            "decline",
            {"action": "accept", "content": {"name": "Ada"}},
        ),
    }
    description = "What the client can do, and its answers when the server asks."
    return said(description, fill.value(closed(CLIENT_KEYS, members)))


def _root(fill: _Filling) -> Schema:
    wrong = told("a root is a URI that begins with file://")
    uri = fill.text({"type": "string", "pattern": "^file://", **wrong})
    return {**uri, "type": ["string", "object"], "properties": {"uri": uri}, "required": ["uri"]}


def _script(answer: Schema) -> Schema:
    """One answer, given every time, or a list of them."""
    return {**answer, "type": [*answer["type"], "array"], "minItems": 1, "items": answer}


def _sample(fill: _Filling) -> Schema:
    result: Schema = {"required": ["role", "content", "model"]}
    return {"type": ["string", "object"], **_unless_error(fill, result)}


def _elicitation(fill: _Filling) -> Schema:
    wrong = told(f"one of {', '.join(_ACTIONS)}")
    action = fill.text({"type": "string", "pattern": f"^(?:{'|'.join(_ACTIONS)})$", **wrong})
    result: Schema = {
        "properties": {
            "action": said("What the user does about it.", action),
            "content": said("What the user fills in.", {}),
            "_meta": said("What the protocol leaves to others.", {}),
        },
        "required": ["action"],
        "additionalProperties": False,
    }
    return {**action, "type": ["string", "object"], **_unless_error(fill, result)}


def _unless_error(fill: _Filling, result: Schema) -> Schema:
    """An answer is a result, or an error and nothing else."""
    code = fill.value({"type": "integer"})
    error = fill.value({"type": "object", "properties": {"code": code}, "required": ["code"]})
    return {
        "if": {"type": "object", "required": [_ERROR]},
        "then": {"properties": {_ERROR: error}, "maxProperties": 1},
        "else": result,
    }
