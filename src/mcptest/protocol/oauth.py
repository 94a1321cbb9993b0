"""OAuth for MCP servers as data: challenges, metadata documents, and what follows from them.

A server that wants a token answers 401. Its protected-resource metadata (RFC 9728) names the
authorization servers that issue tokens for it, and the metadata of one of these (RFC 8414, or
OpenID Connect Discovery) names the token endpoint. Everything in these documents is from a server
that may be hostile: URLs are checked before they are used, and an `OAuthError` says what is wrong.
"""

from __future__ import annotations

import re

from mcptest.core.plan import BASIC, POST, PRIVATE_KEY
from mcptest.core.record import Record
from mcptest.core.strict_json import NotJsonError, dump_json, parse_json
from mcptest.core.text import excerpt
from mcptest.protocol.http_address import BadUrlError, parse_url, same_origin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcptest.protocol.http_address import Address

    Document = dict[str, Any]

__all__ = [
    "AuthorizationServer",
    "Challenge",
    "OAuthError",
    "ProtectedResource",
    "check_resource_metadata_url",
    "choose_auth_method",
    "choose_issuer",
    "choose_scope",
    "list_resource_metadata_urls",
    "list_server_metadata_urls",
    "names_in",
    "parse_document",
    "parse_endpoint",
    "parse_object",
    "read_authorization_server",
    "read_challenge",
    "read_protected_resource",
    "show",
]


class OAuthError(Exception):
    """No token can be had; `hint` says what to do."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


_RESOURCE_PATH = "/.well-known/oauth-protected-resource"
_OAUTH_PATH = "/.well-known/oauth-authorization-server"
_OPENID_PATH = "/.well-known/openid-configuration"

# Names and tokens that are quoted in messages are cut after this many characters.
_SHOWN = 200


# Challenges


class Challenge(Record):
    """What a 401 or 403 says in `WWW-Authenticate`, in its challenge for a bearer token."""

    resource_metadata: str = ""
    scope: str = ""
    error: str = ""


_NAME = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
# A parameter with its value, or the name of a scheme.
_PART = re.compile(rf'({_NAME})\s*=\s*("(?:[^"\\]|\\.)*"|{_NAME})|({_NAME}=*)')


def read_challenge(header: str) -> Challenge:
    """The bearer challenge of a `WWW-Authenticate` header, which may have several challenges."""
    found: dict[str, str] = {}
    scheme = ""
    for name, value, word in _PART.findall(header):
        if word:
            scheme = word.lower()
        elif scheme == "bearer":
            text = re.sub(r"\\(.)", r"\1", value[1:-1]) if value.startswith('"') else value
            found.setdefault(name.lower(), text)
    return Challenge(
        resource_metadata=found.get("resource_metadata", ""),
        scope=found.get("scope", ""),
        error=found.get("error", ""),
    )


# URLs


def parse_endpoint(url: object, what: str, server: Address) -> Address:
    """A URL from a metadata document: https, or on this machine.

    It must not be an address of this machine or its network unless the server is there, too.
    """
    if not isinstance(url, str) or not url:
        raise OAuthError(f"{what} must be a URL and is {show(url)}")
    try:
        address = parse_url(url)
    except BadUrlError as error:
        raise OAuthError(
            f"{what} is {show(url)}, which is not the URL of a server: {error}"
        ) from None
    if "#" in url:
        raise OAuthError(f"{what} is {show(url)}, which has a fragment")
    if address.is_internal and not server.is_internal:
        message = f"{what} is {show(url)}, which is in this network, and the server is not"
        raise OAuthError(message, "a server elsewhere must not have requests sent to programs here")
    if address.scheme != "https" and not address.is_loopback:
        message = f"{what} is {show(url)}, which does not begin with https://"
        raise OAuthError(message, "credentials and tokens are sent over https only")
    return address


def list_resource_metadata_urls(server: Address) -> list[str]:
    """Where the metadata of a server is if it does not say so: by its path, then at the root."""
    path = server.target.partition("?")[0].rstrip("/")
    urls = [f"{server.origin}{_RESOURCE_PATH}{path}", f"{server.origin}{_RESOURCE_PATH}"]
    return list(dict.fromkeys(urls))


def check_resource_metadata_url(url: str, server: Address) -> str:
    """The URL of the metadata that a challenge names; it must be the server's own."""
    what = "resource_metadata in the WWW-Authenticate header"
    if not same_origin(parse_endpoint(url, what, server), server):
        message = f"{what} is {show(url)}, which is not at {server.origin}"
        raise OAuthError(message, "a server publishes its protected-resource metadata itself")
    return url


def list_server_metadata_urls(issuer: str, server: Address) -> list[str]:
    """Where an authorization server publishes its metadata, in the order of the specification."""
    address = parse_endpoint(issuer, "the authorization server", server)
    if "?" in issuer:
        raise OAuthError(f"the authorization server is {show(issuer)}, which has a query")
    path = address.target.rstrip("/")
    urls = [
        f"{address.origin}{_OAUTH_PATH}{path}",
        f"{address.origin}{_OPENID_PATH}{path}",
        f"{address.origin}{path}{_OPENID_PATH}",
    ]
    return list(dict.fromkeys(urls))


# Documents


def parse_document(status: int, raw: bytes) -> Document | str:
    """The JSON object of an answer, or why there is none."""
    if 300 <= status < 400:
        return f"status {status}, and redirects are not followed"
    if status != 200:
        return f"status {status}"
    found = parse_object(raw)
    return "status 200, and the body is not a JSON object" if found is None else found


def parse_object(raw: bytes) -> Document | None:
    """The JSON object in an answer; None if it has none."""
    try:
        found = parse_json(raw.decode("utf-8"))
        # Half a character, which JSON can escape, could be neither sent nor stored.
        dump_json(found).encode("utf-8")
    except (UnicodeError, NotJsonError):
        return None
    return found if isinstance(found, dict) else None


class ProtectedResource(Record):
    """The metadata of the server under test: its name for itself, and who issues its tokens."""

    resource: str
    issuers: tuple[str, ...]
    scope: str = ""


def read_protected_resource(document: Document, server: Address) -> ProtectedResource:
    """Check the protected-resource metadata of a server."""
    where = "in the protected-resource metadata, "
    resource = document.get("resource")
    if not _covers(resource, server):
        message = f"{where}resource is {show(resource)}, which is not {server.url}"
        hint = "a token for another resource must not be requested for this server"
        raise OAuthError(message, hint)
    issuers = document.get("authorization_servers")
    if not isinstance(issuers, list) or not all(isinstance(each, str) for each in issuers):
        message = f"{where}authorization_servers must be a list of URLs and is {show(issuers)}"
        raise OAuthError(message)
    if not issuers:
        raise OAuthError(f"{where}authorization_servers is empty")
    scopes = document.get("scopes_supported")
    listed = scopes if isinstance(scopes, list) else []
    return ProtectedResource(
        resource=str(resource),
        issuers=tuple(issuers),
        scope=" ".join(each for each in listed if isinstance(each, str) and each),
    )


def _covers(resource: object, server: Address) -> bool:
    """True if a resource identifier is the server's URL, or a folder or the root above it."""
    try:
        address = parse_url(resource) if isinstance(resource, str) else None
    except BadUrlError:
        return False
    if address is None or not same_origin(address, server) or "#" in str(resource):
        return False
    ours, theirs = (each.target.partition("?")[0].rstrip("/") for each in (server, address))
    is_exact = address.target == server.target or "?" not in address.target
    return is_exact and (ours == theirs or ours.startswith(f"{theirs}/"))


def choose_issuer(found: ProtectedResource, wanted: str) -> str:
    """The authorization server to use: the wanted one if it is listed, else the first."""
    if not wanted:
        return found.issuers[0]
    if any(each.rstrip("/") == wanted.rstrip("/") for each in found.issuers):
        return wanted
    listed = ", ".join(show(each) for each in found.issuers[:5])
    message = f"the server takes tokens of {listed}, and not of {show(wanted)}"
    raise OAuthError(message, '"issuer" in "auth" is the authorization server of the credentials')


class AuthorizationServer(Record):
    """An authorization server: its identifier, its token endpoint, and what this takes.

    The lists are None if the metadata does not have them.
    """

    issuer: str
    token_endpoint: Address
    auth_methods: tuple[str, ...] | None = None
    signing_algorithms: tuple[str, ...] | None = None
    # The rest of the metadata, which only a login reads (`protocol.oauth_login`).
    document: Document = {}  # noqa: RUF012  # nothing of a record changes


def read_authorization_server(
    document: Document, issuer: str, server: Address, *, ignores_slash: bool = False
) -> AuthorizationServer:
    """Check the metadata of an authorization server.

    Its issuer must be the one that the metadata was requested for, character by character: else
    one authorization server could pass for another.
    """
    said = document.get("issuer")
    is_same = said == issuer
    if ignores_slash and isinstance(said, str):
        is_same = said.rstrip("/") == issuer.rstrip("/")
    if not is_same:
        message = f"the metadata of the authorization server {show(issuer)} has the issuer "
        hint = "the two must be identical; credentials are not sent"
        if isinstance(said, str) and said.rstrip("/") == issuer.rstrip("/"):
            hint = 'they differ in the slash at the end alone; "issuer" in "auth" (--issuer of '
            hint += f"mcptest login) may be {said}"
        raise OAuthError(f"{message}{show(said)}", hint)
    what = "token_endpoint in the metadata of the authorization server"
    return AuthorizationServer(
        issuer=str(said),
        token_endpoint=parse_endpoint(document.get("token_endpoint"), what, server),
        auth_methods=names_in(document, "token_endpoint_auth_methods_supported"),
        signing_algorithms=names_in(document, "token_endpoint_auth_signing_alg_values_supported"),
        document=document,
    )


def names_in(document: Document, member: str) -> tuple[str, ...] | None:
    """A list of names in a document; None if there is none."""
    listed = document.get(member)
    if not isinstance(listed, list):
        return None
    return tuple(each for each in listed if isinstance(each, str))


def show(value: object) -> str:
    """What a document says, for a sentence."""
    return excerpt(dump_json(value), _SHOWN)


# What is requested


def choose_scope(challenge: Challenge, found: ProtectedResource | None, before: str = "") -> str:
    """The scopes to request: those that the challenge names, else all that the server lists.

    `before` are those of an earlier token; they are requested again.
    """
    if challenge.scope:
        return " ".join(dict.fromkeys(f"{before} {challenge.scope}".split()))
    return before or (found.scope if found else "")


def choose_auth_method(wanted: str, has_key: bool, server: AuthorizationServer) -> str:
    """How the client authenticates at the token endpoint."""
    listed = server.auth_methods
    if wanted:
        return wanted
    usable = (PRIVATE_KEY,) if has_key else (BASIC, POST)
    for method in usable:
        if listed is None or method in listed:
            return method
    names = excerpt(", ".join(listed or ()), _SHOWN) or "none"
    needed = "a private key" if has_key else "a client secret"
    message = f"the authorization server {show(server.issuer)} takes no client with {needed}"
    hint = f"it supports {names}; the credentials may be for another one"
    raise OAuthError(message, hint)
