"""Logging in by OAuth as data: the requests that a user approves, and the answers to them.

A login is the authorization code grant with PKCE (RFC 7636) through a browser, or the device grant
(RFC 8628), in which the user enters a code elsewhere. `mcptest.protocol.oauth` has what precedes
it: challenges and metadata. Everything that an authorization server says is checked here before it
is used or shown.
"""

from __future__ import annotations

import base64
import hashlib
import re
from urllib.parse import parse_qsl, quote, urlencode

from mcptest.core.plan import BASIC, POST, PUBLIC
from mcptest.core.record import Record
from mcptest.core.text import quote_bytes
from mcptest.protocol.oauth import OAuthError, names_in, parse_endpoint, show

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from mcptest.protocol.http_address import Address
    from mcptest.protocol.oauth import AuthorizationServer

    Document = dict[str, Any]

__all__ = [
    "CALLBACK_PATH",
    "CODE",
    "DEVICE",
    "REFRESH",
    "Client",
    "DevicePrompt",
    "LoginServer",
    "assume_endpoints",
    "build_authorization_url",
    "build_code_challenge",
    "choose_login_scope",
    "describe_client",
    "read_callback",
    "read_client",
    "read_device_prompt",
    "read_login_server",
]

CODE, REFRESH = "authorization_code", "refresh_token"
DEVICE = "urn:ietf:params:oauth:grant-type:device_code"

CALLBACK_PATH = "/callback"

# The only way to derive the challenge of PKCE that is accepted.
_S256 = "S256"

# The scope by which some authorization servers decide about refresh tokens.
_OFFLINE = "offline_access"

_WHERE = "in the metadata of the authorization server"


# The authorization server


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
        has_pkce=_S256 in (names_in(document, "code_challenge_methods_supported") or ()),
        sends_issuer=document.get("authorization_response_iss_parameter_supported") is True,
        reads_client_documents=document.get("client_id_metadata_document_supported") is True,
        scopes=names_in(document, "scopes_supported") or (),
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


# The client


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
            f"the authorization server takes none of {', '.join(usable)}, but {show(listed)}",
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
        raise OAuthError(f"the registration gave the client id {show(id)}, which cannot be used")
    has_secret = isinstance(secret, str) and bool(secret)
    method = document.get("token_endpoint_auth_method") or (BASIC if has_secret else PUBLIC)
    if method not in (PUBLIC, BASIC, POST) or (method != PUBLIC and not has_secret):
        what = "" if has_secret else ", without a client secret"
        raise OAuthError(f"the registration asks the client for {show(method)}{what}")
    return Client(id=id, secret=str(secret) if has_secret else "", auth_method=method)


def _is_plain(text: str) -> bool:
    return bool(text) and text.isascii() and text.isprintable()


# Authorization code


_LONGEST_URL = 8000

# Characters that a URL may have; others are percent-encoded, so that no program that is given the
# URL can take a part of it for something else.
_OF_URLS = "!#$%&'()*+,/:;=?@[]-._~"


def build_code_challenge(verifier: str) -> str:
    """The challenge of PKCE for a verifier."""
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
            f"{show(server.known.document.get('code_challenge_methods_supported'))}",
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
            f"the answer to the login is from {show(issuer)}, and not from {show(server.issuer)}",
            "the two must be identical; its code is not sent",
        )
    if "error" in found:
        said = [found[each] for each in ("error", "error_description") if found.get(each)]
        shown = [quote_bytes(each.encode("utf-8", "backslashreplace")) for each in said]
        raise OAuthError(f"the authorization server refused the login: {': '.join(shown)}")
    if not _is_plain(found.get("code", "")):
        raise OAuthError("the answer to the login has no code")
    return found["code"]


# Devices


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
        raise OAuthError(f"{where}user_code is {show(user_code)}")
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
