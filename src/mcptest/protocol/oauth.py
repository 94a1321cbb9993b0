"""OAuth for MCP servers as data: challenges, metadata documents, and what follows from them.

A server that wants a token answers 401. Its protected-resource metadata (RFC 9728) names the
authorization servers that issue tokens for it, and the metadata of one of these (RFC 8414, or
OpenID Connect Discovery) names the token endpoint. Everything in these documents is from a server
that may be hostile: URLs are checked before they are used, and an `OAuthError` says what is wrong.

A login is the authorization code grant with PKCE (RFC 7636) through a browser, or the device grant
(RFC 8628), in which the user enters a code elsewhere. Everything that an authorization server says
is checked here before it is used or shown.
"""

from __future__ import annotations

import base64
import re
from urllib.parse import parse_qsl, quote, urlencode

from mcptest.core.plan import BASIC, POST, PRIVATE_KEY, PUBLIC
from mcptest.core.strict_json import NotJsonError, dump_json, parse_json
from mcptest.core.text import excerpt, quote_bytes
from mcptest.core.value_class import Record
from mcptest.protocol.http_address import BadUrlError, parse_url, same_origin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from mcptest.protocol.http_address import Address

    Document = dict[str, Any]

__all__ = [
    "CALLBACK_PATH",
    "CODE",
    "DEVICE",
    "REFRESH",
    "AuthorizationServer",
    "Challenge",
    "Client",
    "DevicePrompt",
    "LoginServer",
    "OAuthError",
    "ProtectedResource",
    "assume_endpoints",
    "build_authorization_url",
    "build_code_challenge",
    "check_resource_metadata_url",
    "choose_auth_method",
    "choose_issuer",
    "choose_login_scope",
    "choose_scope",
    "describe_client",
    "list_resource_metadata_urls",
    "list_server_metadata_urls",
    "parse_document",
    "parse_endpoint",
    "parse_object",
    "read_authorization_server",
    "read_callback",
    "read_challenge",
    "read_client",
    "read_device_prompt",
    "read_login_server",
    "read_protected_resource",
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
        raise OAuthError(f"{what} must be a URL and is {_show(url)}")
    try:
        address = parse_url(url)
    except BadUrlError as error:
        raise OAuthError(
            f"{what} is {_show(url)}, which is not the URL of a server: {error}"
        ) from None
    if "#" in url:
        raise OAuthError(f"{what} is {_show(url)}, which has a fragment")
    if address.is_internal and not server.is_internal:
        message = f"{what} is {_show(url)}, which is in this network, and the server is not"
        raise OAuthError(message, "a server elsewhere must not have requests sent to programs here")
    if address.scheme != "https" and not address.is_loopback:
        message = f"{what} is {_show(url)}, which does not begin with https://"
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
        message = f"{what} is {_show(url)}, which is not at {server.origin}"
        raise OAuthError(message, "a server publishes its protected-resource metadata itself")
    return url


def list_server_metadata_urls(issuer: str, server: Address) -> list[str]:
    """Where an authorization server publishes its metadata, in the order of the specification."""
    address = parse_endpoint(issuer, "the authorization server", server)
    if "?" in issuer:
        raise OAuthError(f"the authorization server is {_show(issuer)}, which has a query")
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
        message = f"{where}resource is {_show(resource)}, which is not {server.url}"
        hint = "a token for another resource must not be requested for this server"
        raise OAuthError(message, hint)
    issuers = document.get("authorization_servers")
    if not isinstance(issuers, list) or not all(isinstance(each, str) for each in issuers):
        message = f"{where}authorization_servers must be a list of URLs and is {_show(issuers)}"
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
    listed = ", ".join(_show(each) for each in found.issuers[:5])
    message = f"the server takes tokens of {listed}, and not of {_show(wanted)}"
    raise OAuthError(message, '"issuer" in "auth" is the authorization server of the credentials')


class AuthorizationServer(Record):
    """An authorization server: its identifier, its token endpoint, and what this takes.

    The lists are None if the metadata does not have them.
    """

    issuer: str
    token_endpoint: Address
    auth_methods: tuple[str, ...] | None = None
    signing_algorithms: tuple[str, ...] | None = None
    # The rest of the metadata, which only a login reads.
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
        message = f"the metadata of the authorization server {_show(issuer)} has the issuer "
        hint = "the two must be identical; credentials are not sent"
        if isinstance(said, str) and said.rstrip("/") == issuer.rstrip("/"):
            hint = 'they differ in the slash at the end alone; "issuer" in "auth" (--issuer of '
            hint += f"mcptest login) may be {said}"
        raise OAuthError(f"{message}{_show(said)}", hint)
    what = "token_endpoint in the metadata of the authorization server"
    return AuthorizationServer(
        issuer=str(said),
        token_endpoint=parse_endpoint(document.get("token_endpoint"), what, server),
        auth_methods=_names_in(document, "token_endpoint_auth_methods_supported"),
        signing_algorithms=_names_in(document, "token_endpoint_auth_signing_alg_values_supported"),
        document=document,
    )


def _names_in(document: Document, member: str) -> tuple[str, ...] | None:
    """A list of names in a document; None if there is none."""
    listed = document.get(member)
    if not isinstance(listed, list):
        return None
    return tuple(each for each in listed if isinstance(each, str))


def _show(value: object) -> str:
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
    message = f"the authorization server {_show(server.issuer)} takes no client with {needed}"
    hint = f"it supports {names}; the credentials may be for another one"
    raise OAuthError(message, hint)


# Logins

CODE, REFRESH = "authorization_code", "refresh_token"
DEVICE = "urn:ietf:params:oauth:grant-type:device_code"

CALLBACK_PATH = "/callback"

# The only way to derive the challenge of PKCE that is accepted.
_S256 = "S256"

# The scope by which some authorization servers decide about refresh tokens.
_OFFLINE = "offline_access"

_WHERE = "in the metadata of the authorization server"


# Logins: the authorization server


class LoginServer(Record):
    """What a login needs of an authorization server. An endpoint that it does not have is None.

    `sends_issuer` promises `iss` in answers (RFC 9207); `reads_client_documents` that the client
    id may be the URL of a document about the client.
    """

    known: AuthorizationServer
    authorization_endpoint: Address | None = None
    registration_endpoint: Address | None = None
    device_endpoint: Address | None = None
    has_pkce: bool = False
    sends_issuer: bool = False
    reads_client_documents: bool = False
    scopes: tuple[str, ...] = ()

    @property
    def issuer(self) -> str:
        return self.known.issuer


def read_login_server(known: AuthorizationServer, server: Address) -> LoginServer:
    """Check the metadata of an authorization server as far as a login needs it."""
    document = known.document

    def endpoint(member: str) -> Address | None:
        if document.get(member) is None:
            return None
        return parse_endpoint(document[member], f"{member} {_WHERE}", server)

    return LoginServer(
        known=known,
        authorization_endpoint=endpoint("authorization_endpoint"),
        registration_endpoint=endpoint("registration_endpoint"),
        device_endpoint=endpoint("device_authorization_endpoint"),
        has_pkce=_S256 in (_names_in(document, "code_challenge_methods_supported") or ()),
        sends_issuer=document.get("authorization_response_iss_parameter_supported") is True,
        reads_client_documents=document.get("client_id_metadata_document_supported") is True,
        scopes=_names_in(document, "scopes_supported") or (),
    )


def assume_endpoints(server: Address) -> Document:
    """The metadata of a server of revision 2025-03-26 that publishes none: fixed paths."""
    paths = {"authorization": "authorize", "token": "token", "registration": "register"}
    return {
        "issuer": server.origin,
        **{f"{name}_endpoint": f"{server.origin}/{path}" for name, path in paths.items()},
        "code_challenge_methods_supported": [_S256],
    }


def choose_login_scope(wanted: str, asked: str, server: LoginServer) -> str:
    """The scopes to request: the user's, else those that the server asks for.

    To these `offline_access` is added if the authorization server has it: it requests a token
    that can be renewed.
    """
    if wanted or not asked:
        return wanted
    added = [_OFFLINE] if _OFFLINE in server.scopes else []
    return " ".join(dict.fromkeys([*asked.split(), *added]))


# Logins: the client


class Client(Record):
    """A client that an authorization server knows, and how it authenticates there."""

    id: str
    secret: str = ""
    auth_method: str = PUBLIC


def describe_client(redirect_uri: str, scope: str, server: LoginServer, grant: str) -> Document:
    """The request that registers this program as a client (RFC 7591)."""
    listed = server.known.auth_methods
    usable = (PUBLIC, BASIC, POST)
    method = next((each for each in usable if listed is None or each in listed), "")
    if not method:
        raise OAuthError(
            f"the authorization server takes none of {', '.join(usable)}, but {_show(listed)}",
            "have a client registered there by hand, and give its --client-id",
        )
    found: Document = {
        "client_name": "mcptest",
        "application_type": "native",
        "grant_types": [grant, REFRESH],
        "token_endpoint_auth_method": method,
    }
    if grant == CODE:
        found |= {"redirect_uris": [redirect_uri], "response_types": ["code"]}
    return found | ({"scope": scope} if scope else {})


def read_client(document: Document) -> Client:
    """The client in the answer to a registration."""
    id, secret = document.get("client_id"), document.get("client_secret")
    if not isinstance(id, str) or not _is_plain(id):
        raise OAuthError(f"the registration gave the client id {_show(id)}, which cannot be used")
    has_secret = isinstance(secret, str) and bool(secret)
    method = document.get("token_endpoint_auth_method") or (BASIC if has_secret else PUBLIC)
    if method not in (PUBLIC, BASIC, POST) or (method != PUBLIC and not has_secret):
        what = "" if has_secret else ", without a client secret"
        raise OAuthError(f"the registration asks the client for {_show(method)}{what}")
    return Client(id=id, secret=str(secret) if has_secret else "", auth_method=method)


def _is_plain(text: str) -> bool:
    return bool(text) and text.isascii() and text.isprintable()


# Logins: with an authorization code

_LONGEST_URL = 8000

# Characters that a URL may have; others are percent-encoded, so that no program that is given the
# URL can take a part of it for something else.
_OF_URLS = "!#$%&'()*+,/:;=?@[]-._~"


def build_code_challenge(verifier: str) -> str:
    """The challenge of PKCE for a verifier."""
    # OpenSSL takes longer to load than the rest of a session over HTTP; only logins need it.
    import hashlib  # noqa: PLC0415

    digest = hashlib.sha256(verifier.encode("ascii")).digest()
    return base64.urlsafe_b64encode(digest).decode("ascii").rstrip("=")


def build_authorization_url(server: LoginServer, query: Mapping[str, str]) -> str:
    """The URL at which the user approves: https, or http on this machine."""
    address = server.authorization_endpoint
    if address is None:
        hint = "" if server.device_endpoint is None else "it has the device grant: --device"
        raise OAuthError(f"there is no authorization_endpoint {_WHERE}", hint)
    if not server.has_pkce:
        raise OAuthError(
            f"{_WHERE}, code_challenge_methods_supported does not have S256: "
            f"{_show(server.known.document.get('code_challenge_methods_supported'))}",
            "without PKCE a code could be used by another program, so it is not requested",
        )
    given = {key: value for key, value in query.items() if value}
    given |= {"response_type": "code", "code_challenge_method": _S256}
    joint = "&" if "?" in address.target else "?"
    url = quote(f"{address.url}{joint}{urlencode(given, quote_via=quote)}", safe=_OF_URLS)
    if len(url) > _LONGEST_URL:
        message = (
            f"the page to log in has a URL of {len(url):,} characters, with what the servers say"
        )
        raise OAuthError(message, f"browsers take {_LONGEST_URL:,}; --scope may help")
    return url


def read_callback(query: str, state: str, server: LoginServer) -> str:
    """The code in the query of a callback; an OAuthError if it is not for this login."""
    pairs = parse_qsl(query, keep_blank_values=True)
    found = dict(pairs)
    if len(found) != len(pairs):
        raise OAuthError("the answer to the login names a parameter twice")
    if found.get("state") != state:
        raise OAuthError(
            "the answer to the login has another state than the request; it is not used",
            "another program or page may have sent it; log in again",
        )
    issuer = found.get("iss")
    if issuer is None and server.sends_issuer:
        raise OAuthError(
            "the answer to the login has no iss, which the authorization server promises",
            "it may be from another authorization server, so its code is not sent",
        )
    if issuer is not None and issuer != server.issuer:
        raise OAuthError(
            f"the answer to the login is from {_show(issuer)}, and not from {_show(server.issuer)}",
            "the two must be identical; its code is not sent",
        )
    if "error" in found:
        said = [found[each] for each in ("error", "error_description") if found.get(each)]
        shown = [quote_bytes(each.encode("utf-8", "backslashreplace")) for each in said]
        raise OAuthError(f"the authorization server refused the login: {': '.join(shown)}")
    if not _is_plain(found.get("code", "")):
        raise OAuthError("the answer to the login has no code")
    return found["code"]


# Logins: on another device


class DevicePrompt(Record):
    """What the user has to do on another device, and how to wait for it."""

    device_code: str
    user_code: str
    url: str
    complete_url: str
    lasts_s: float
    interval_s: float


_USER_CODE = re.compile(r"[\x21-\x7e][\x20-\x7e]{0,99}")
_DEFAULT_INTERVAL_S = 5.0
_LONGEST_INTERVAL_S = 300.0
_LONGEST_PROMPT_S = 3600.0


def read_device_prompt(document: Document, server: Address) -> DevicePrompt:
    """The answer to a request for a device code."""
    where = "in the answer to the request for a device code, "
    code, user_code = document.get("device_code"), document.get("user_code")
    if not isinstance(code, str) or not _is_plain(code):
        raise OAuthError(f"{where}device_code must be a string of visible characters")
    if not isinstance(user_code, str) or not _USER_CODE.fullmatch(user_code):
        raise OAuthError(f"{where}user_code is {_show(user_code)}")
    url = _check_page(document.get("verification_uri"), f"{where}verification_uri", server)
    complete = document.get("verification_uri_complete")
    if complete is not None:
        complete = _check_page(complete, f"{where}verification_uri_complete", server)
    return DevicePrompt(
        device_code=code,
        user_code=user_code,
        url=url,
        complete_url=complete or "",
        lasts_s=_seconds(document.get("expires_in"), _LONGEST_PROMPT_S, _LONGEST_PROMPT_S),
        interval_s=_seconds(document.get("interval"), _DEFAULT_INTERVAL_S, _LONGEST_INTERVAL_S),
    )


def _check_page(url: object, what: str, server: Address) -> str:
    """A URL for the user to open: https, or on this machine."""
    parse_endpoint(url, what, server)
    return quote(str(url), safe=_OF_URLS)


def _seconds(value: object, default: float, longest: float) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or value <= 0:
        return default
    # Cut first: an integer may be too large for a float.
    return float(min(value, longest))
