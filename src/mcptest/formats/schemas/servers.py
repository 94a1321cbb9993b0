"""How a server is started: `servers:` of a suite, and the config of Conductor files."""

from __future__ import annotations

from mcptest.core.plan import ISOLATIONS, Limits
from mcptest.core.revisions import REVISIONS
from mcptest.formats.conductor_config import _REQUIRED
from mcptest.formats.conductor_config import KEYS as CONFIG_KEYS
from mcptest.formats.http_keys import camel_case
from mcptest.formats.plugin_imports import _KEYS as PLUGIN_KEYS
from mcptest.formats.plugin_imports import PLUGIN_NAME
from mcptest.formats.schemas.client import client
from mcptest.formats.schemas.http_servers import command_or_url, http_members
from mcptest.formats.schemas.shape import closed, said, words
from mcptest.formats.schemas.values import (
    FLAG,
    NON_EMPTY,
    TEXT,
    TEXTS,
    duration,
    filled_text,
    filled_value,
    told,
    whole_number,
)
from mcptest.formats.suite_servers import SERVER_KEYS
from mcptest.formats.suite_variables import SOURCE_KEYS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcptest.formats.schemas.shape import Schema

__all__ = ["config_server", "plugins", "source", "suite_server"]

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
