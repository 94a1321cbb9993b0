"""The keys of a server that is reached over HTTP, in a config and in a suite."""

from __future__ import annotations

import re

from mcptest.core.plan import HttpSpec, OAuthSpec
from mcptest.formats.keys import FLAG, NON_EMPTY, STRING, Key, Keys, one_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from mcptest.formats.keys import Fields

    class Values(Protocol):
        """Where values come from: what is written, and the environment."""

        def header(self, fields: Fields, key: str) -> str: ...
        def secret(self, fields: Fields, key: str) -> str: ...


__all__ = [
    "AUTH_KEYS",
    "GRANT_KEYS",
    "HTTP_KEYS",
    "TRANSPORTS",
    "camel_case",
    "is_header_name",
    "is_our_header",
    "read_http",
]


TRANSPORTS = ("auto", "streamable-http", "sse")
GRANT_KEYS = Keys(
    {
        "token_url": Key(
            "url", "Where to fetch the token: https, or on this machine.", is_required=True
        ),
        "client_id": Key(STRING, "The client id."),
        "client_id_env": Key(NON_EMPTY, "The environment variable that holds the client id."),
        "client_secret_env": Key(
            NON_EMPTY,
            "The environment variable that holds the client secret.",
            is_required=True,
        ),
        "scope": Key(STRING, "The scopes to request."),
        "resource": Key(STRING, "The server that the token is for."),
    }
)
AUTH_KEYS = Keys(
    {
        "bearer_token_env": Key(
            NON_EMPTY, "The environment variable that holds a token.", "SHOP_TOKEN"
        ),
        "client_credentials": Key("grant", "Fetch a token by OAuth client credentials."),
    }
)
# Names as suites spell them; configs use camel case.
HTTP_KEYS = Keys(
    {
        "url": Key(
            "url",
            "Where the server is; {port} stands for a free port, in the command as well.",
            "http://127.0.0.1:3001/mcp",
        ),
        "headers": Key("headers", "Headers to send with every request."),
        "auth": Key("auth", "How to authenticate to the server."),
        "ca_file": Key(STRING, "Additional CA certificates to trust (a PEM file)."),
        "insecure_tls": Key(FLAG, "true: the server's certificate is not checked.", is_filled=True),
        "transport": Key(one_of(TRANSPORTS), "Which HTTP transport to use.", is_filled=True),
    }
)


def camel_case(key: str) -> str:
    """A key as configs spell it."""
    first, *others = key.split("_")
    return first + "".join(word.capitalize() for word in others)


# Headers that the transport sets.
_OURS = frozenset(
    [
        "accept",
        "accept-encoding",
        "connection",
        "content-length",
        "content-type",
        "host",
        "last-event-id",
        "mcp-method",
        "mcp-name",
        "mcp-protocol-version",
        "mcp-session-id",
        "transfer-encoding",
    ]
)
_TOKEN = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"


def is_header_name(name: str) -> bool:
    """True if HTTP allows this as the name of a header."""
    return re.fullmatch(_TOKEN, name) is not None


def is_our_header(name: str) -> bool:
    """True for a header that the transport sets, and a file may not."""
    return name.lower() in _OURS


def read_http(fields: Fields, spell: Callable[[str], str], values: Values) -> HttpSpec | None:
    """How a server on HTTP is reached; None for one that is not."""
    if "url" not in fields.mapping:
        for key in list(HTTP_KEYS)[1:]:
            if spell(key) in fields.mapping:
                message = f'"{spell(key)}" is for a server on HTTP, and there is no "url"'
                fields.complain(spell(key), "F003", message)
        return None
    url = fields.text("url")
    if isinstance(fields.mapping["url"], str):
        _check_url(fields, "url", url.replace("{port}", "65535"))
        if "{port}" in url and "command" not in fields.mapping:
            message = "{port} is a free port for a server that we start; there is no"
            help = "write the number of the port at which it listens, or how it is started"
            fields.complain("url", "F003", f'{message} "command"', help, on_key=False)
    headers = _headers(fields, values)
    auth = fields.mapping_at("auth")
    oauth = None
    if auth:
        oauth = _read_auth(auth, spell, values, headers)
    return HttpSpec(
        url=url,
        headers=headers,
        oauth=oauth,
        ca_file=fields.text(spell("ca_file")),
        insecure_tls=fields.flag(spell("insecure_tls"), False),
        transport=fields.choice("transport", TRANSPORTS, "auto"),
    )


def _headers(fields: Fields, values: Values) -> dict[str, str]:
    inner = fields.mapping_at("headers")
    found = {}
    for name in inner.mapping if inner else ():
        assert inner
        if not is_header_name(name):
            inner.complain(name, "F009", f"{name!r} is no name of a header")
        elif is_our_header(name):
            inner.complain(name, "F003", f"the header {name} is set by mcptest itself")
        else:
            found[name] = values.header(inner, name)
            _refuse_unsendable(inner, name, found[name])
    return found


def _refuse_unsendable(fields: Fields, key: str, value: str) -> None:
    if not value.isprintable() or not value.isascii():
        fields.complain(key, "F009", "a header holds visible ASCII only", on_key=False)


def _read_auth(
    fields: Fields, spell: Callable[[str], str], values: Values, headers: dict[str, str]
) -> OAuthSpec | None:
    bearer, grant = (spell(key) for key in AUTH_KEYS)
    fields.refuse_unknown((bearer, grant), '"auth"')
    given = [key for key in (bearer, grant) if key in fields.mapping]
    # A misspelt key has been reported already.
    if len(given) > 1 or not fields.mapping:
        message = f'"auth" needs either "{bearer}" or "{grant}"'
        fields.complain(given[1] if given else "", "F003" if given else "F007", message)
    if any(name.lower() == "authorization" for name in headers):
        message = '"auth" and the header "Authorization" both say who we are; give one of them'
        fields.complain("", "F003", message)
        return None
    if bearer in fields.mapping:
        token = values.secret(fields, bearer)
        _refuse_unsendable(fields, bearer, token)
        headers["Authorization"] = f"Bearer {token}"
    inner = fields.mapping_at(grant)
    return _read_grant(inner, spell, values) if inner else None


def _read_grant(fields: Fields, spell: Callable[[str], str], values: Values) -> OAuthSpec:
    where = f'"{spell("client_credentials")}"'
    fields.check_keys(GRANT_KEYS.spelled(spell), where)
    token_url = fields.text(spell("token_url"))
    if isinstance(fields.mapping.get(spell("token_url")), str):
        _check_url(fields, spell("token_url"), token_url, needs_tls=True)
    id_key, id_env = spell("client_id"), spell("client_id_env")
    if (id_key in fields.mapping) == (id_env in fields.mapping):
        message = f'{where} needs either "{id_key}" or "{id_env}"'
        fields.complain("", "F003", message)
    secret = spell("client_secret_env")
    return OAuthSpec(
        token_url=token_url,
        client_id=fields.text(id_key) or _env(fields, id_env, values),
        client_secret=_env(fields, secret, values),
        scope=fields.text("scope"),
        resource=fields.text("resource"),
    )


def _env(fields: Fields, key: str, values: Values) -> str:
    return values.secret(fields, key) if key in fields.mapping else ""


def _check_url(fields: Fields, key: str, url: str, *, needs_tls: bool = False) -> None:
    # What takes URLs apart is loaded by those files alone that have some.
    from mcptest.protocol.http_address import BadUrlError, parse_url  # noqa: PLC0415

    try:
        address = parse_url(url)
    except BadUrlError as error:
        message = f'"{key}" is no URL of a server: {error}'
        fields.complain(key, "F009", message, on_key=False)
        return
    if needs_tls and address.scheme != "https" and not address.is_loopback:
        message = f'"{key}" must begin with https://: credentials are sent there'
        fields.complain(key, "F009", message, on_key=False)
