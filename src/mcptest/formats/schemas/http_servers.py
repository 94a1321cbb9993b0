"""How a server on HTTP is reached: the same keys in a suite and in a config, spelt differently."""

from __future__ import annotations

from mcptest.formats.http_keys import AUTH_KEYS, GRANT_KEYS, HTTP_KEYS, TRANSPORTS
from mcptest.formats.schemas.shape import closed, said, words
from mcptest.formats.schemas.values import FLAG, NON_EMPTY, TEXT, filled_text, filled_value, told

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mcptest.formats.schemas.shape import Schema

    Spell = Callable[[str], str]

__all__ = ["command_or_url", "http_members"]


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
