"""The credentials that requests to a server carry: headers, and a token obtained by OAuth.

A token is obtained in several requests. They are written as generators: each yields a request and
is sent the answer to it, so that the caller decides how to wait. `discover_authorization` finds
out where tokens for a server are issued; `Credentials.obtain` requests one there, by the grant of
client credentials. Another grant needs only other forms at the token endpoint.
"""

from __future__ import annotations

import base64
import os
import time
from urllib.parse import quote_plus, urlencode

from mcptest.core.plan import BASIC, POST, PUBLIC
from mcptest.core.secrets import LEARNED, names_secret
from mcptest.core.text import quote_bytes, visible
from mcptest.core.value_class import Record
from mcptest.protocol.http_address import parse_url
from mcptest.protocol.oauth import (
    AuthorizationServer,
    Challenge,
    OAuthError,
    check_resource_metadata_url,
    choose_auth_method,
    choose_issuer,
    choose_scope,
    list_resource_metadata_urls,
    list_server_metadata_urls,
    parse_document,
    parse_object,
    read_authorization_server,
    read_challenge,
    read_protected_resource,
)
from mcptest.transport.http.client import HttpRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Mapping
    from typing import Any, TypeVar

    from mcptest.core.plan import HttpSpec, OAuthSpec
    from mcptest.protocol.http_address import Address
    from mcptest.protocol.oauth import ProtectedResource
    from mcptest.transport.process.signals import Interrupts

    Result = TypeVar("Result")
    # Yields requests, is sent their answers.
    Requests = Generator[HttpRequest, "Fetched", Result]

__all__ = [
    "MARGIN_S",
    "MAX_DOCUMENT_BYTES",
    "Authorization",
    "Credentials",
    "Fetched",
    "NoMetadataError",
    "Token",
    "credentials_for",
    "describe_problem",
    "discover_authorization",
    "fetch_error",
    "fetch_token",
    "is_sendable",
    "make_token_request",
    "read_token",
]

# Metadata and answers with a token are much smaller.
MAX_DOCUMENT_BYTES = 256 * 1024


class Fetched(Record):
    """The answer to a request; `problem` says why there is none."""

    status: int = 0
    body: bytes = b""
    problem: str = ""


def fetch_error(request: HttpRequest, problem: str, hint: str) -> OAuthError:
    """The error of a request for a token or metadata whose answer cannot be used."""
    place = visible(request.address.url.partition("?")[0])
    if request.method == "GET":
        return OAuthError(f"the authorization server could not be found: {place}: {problem}")
    return OAuthError(f"no token could be fetched at {place}: {problem}", hint)


# Discovery


class Authorization(Record):
    """Where tokens for a server are issued, and what the server says about itself."""

    issued_by: AuthorizationServer
    resource: ProtectedResource | None = None


_NOT_FOUND = "status 404"


class NoMetadataError(OAuthError):
    """No metadata of an authorization server was found.

    A server `is_of_older_server` if it has none of any kind: in revision 2025-03-26 that means
    endpoints at fixed paths.
    """

    is_of_older_server = False


def discover_authorization(
    server: Address, challenge: Challenge, wanted_issuer: str = ""
) -> Requests[Authorization]:
    """Find the authorization server of a server that refused a request with this challenge."""
    found = yield from _find_resource(server, challenge)
    issuer = choose_issuer(found, wanted_issuer) if found else wanted_issuer or server.origin
    notes: list[str] = []
    # Without metadata of its own the server is the issuer, as in revision 2025-03-26.
    is_own = found is None and not wanted_issuer
    for url in list_server_metadata_urls(issuer, server):
        document = yield from _fetch_document(url, notes)
        if document is not None:
            known = read_authorization_server(document, issuer, server, ignores_slash=is_own)
            return Authorization(issued_by=known, resource=found)
    message = f"the authorization server {visible(issuer)} has no metadata"
    if is_own:
        message = "the server wants a token and has no metadata that says where it is issued"
    hint = '"auth" may name the token endpoint itself: "token_url" (in a config "tokenUrl")'
    error = NoMetadataError(f"{message}: {'; '.join(notes)}", hint)
    error.is_of_older_server = is_own and all(note.endswith(_NOT_FOUND) for note in notes)
    raise error


def _find_resource(server: Address, challenge: Challenge) -> Requests[ProtectedResource | None]:
    """The protected-resource metadata of a server; None if it has none."""
    notes: list[str] = []
    if named := challenge.resource_metadata:
        urls = [check_resource_metadata_url(named, server)]
    else:
        urls = list_resource_metadata_urls(server)
    for url in urls:
        document = yield from _fetch_document(url, notes)
        if document is not None:
            return read_protected_resource(document, server)
    if named:
        message = "the server names protected-resource metadata that cannot be used"
        raise OAuthError(f"{message}: {notes[0]}")
    return None


def _fetch_document(url: str, notes: list[str]) -> Requests[dict[str, Any] | None]:
    """The document at a URL; a note says why there is none."""
    headers = (("Accept", "application/json"), ("Accept-Encoding", "identity"))
    answer = yield HttpRequest(
        method="GET", address=parse_url(url), headers=headers, follows_redirects=False
    )
    found = answer.problem or parse_document(answer.status, answer.body)
    if isinstance(found, str):
        notes.append(f"{visible(url)}: {found}")
        return None
    return found


# Credentials

# A token is replaced this long before it expires.
MARGIN_S = 10.0

# An upper bound for the life of a token.
_LONGEST_S = 1e9

# Members of the answer that are secrets, also if the token cannot be used.
_SECRET_MEMBERS = ("access_token", "refresh_token", "id_token")

# How many fresh tokens a server may refuse before that is reported.
_MAX_FRESH = 1

_UNAUTHORIZED, _FORBIDDEN = 401, 403

# How long a signed assertion is valid.
_ASSERTION_S = 300
_ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"


class Credentials:
    """Headers of the config and the current token, by the client credentials grant of OAuth."""

    def __init__(self, spec: HttpSpec, server: Address) -> None:
        self._headers = dict(spec.headers or {})
        self._oauth = spec.oauth
        self._server = server
        self.token = ""
        self._ends_at = float("inf")
        self._refused = 0
        # A token endpoint of the config is asked before the first message; otherwise it is the
        # server that says whether it wants a token.
        self._authorization: Authorization | None = None
        if spec.oauth and spec.oauth.token_url:
            endpoint, issuer = parse_url(spec.oauth.token_url), spec.oauth.issuer
            # A signed assertion is for the issuer or, if that is not known, for the endpoint.
            known = AuthorizationServer(
                issuer=issuer or spec.oauth.token_url, token_endpoint=endpoint
            )
            self._authorization = Authorization(issued_by=known)
        self._is_wanted = self._authorization is not None
        self._challenge = Challenge()
        # The authorization server that the credentials were sent to.
        self._issuer = ""
        self._scope = ""

    @property
    def hint(self) -> str:
        """What to check if no token can be obtained."""
        return '"auth" says where the token is fetched and with which credentials'

    @property
    def is_ready(self) -> bool:
        """True if a request can be sent with them."""
        if self.token:
            return time.monotonic() < self._ends_at
        return not self._is_wanted

    @property
    def has_secrets(self) -> bool:
        """True if requests carry credentials."""
        return bool(self.token) or any(map(names_secret, self._headers))

    def headers(self) -> dict[str, str]:
        token = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        return self._headers | token

    def take_success(self) -> None:
        """Note that the server accepts the token; if it refuses it later, it has expired."""
        self._refused = 0

    def take_refusal(self, status: int, headers: Mapping[str, str]) -> bool:
        """True if an answer with this status asks for another token; it is then wanted.

        After a 401 the authorization server is looked for again: the server may have changed it.
        After a 403, the scopes that the server asks for are added, unless the config names them.
        """
        oauth = self._oauth
        if oauth is None or self._refused >= _MAX_FRESH:
            return False
        challenge = read_challenge(headers.get("www-authenticate", ""))
        if status == _FORBIDDEN:
            is_about_scope = challenge.error == "insufficient_scope" and bool(challenge.scope)
            if not (is_about_scope and self.token) or oauth.scope:
                return False
        elif status != _UNAUTHORIZED:
            return False
        elif not oauth.token_url:
            self._authorization = None
        if self.token:
            self._refused += 1
        self._challenge = challenge
        self.token, self._is_wanted = "", True
        return True

    def describe(self) -> str:
        """Where the current token is from, for a server that refuses it."""
        if not self.token or not self._authorization:
            return ""
        said = f"it was given a token of {visible(self._authorization.issued_by.issuer)}"
        resource = self._resource
        said += f" for the resource {visible(resource)}" if resource else ""
        return said + (f" with the scope {visible(self._scope)}" if self._scope else "")

    @property
    def _resource(self) -> str:
        assert self._oauth
        found = self._authorization.resource if self._authorization else None
        return self._oauth.resource or (found.resource if found else "")

    def obtain(self) -> Requests[None]:
        """Obtain a token; an OAuthError says why there is none."""
        oauth = self._oauth
        assert oauth
        if self._authorization is None:
            found = yield from discover_authorization(self._server, self._challenge, oauth.issuer)
            issuer = found.issued_by.issuer
            if self._issuer and issuer != self._issuer:
                # Credentials belong to the authorization server that they were first sent to.
                message = f"the server now names the authorization server {visible(issuer)}; the "
                message += f"credentials were for {visible(self._issuer)} and are not sent there"
                raise OAuthError(message, '"issuer" in "auth" names the one that they are for')
            self._authorization = found
        issued_by, resource = self._authorization.issued_by, self._authorization.resource
        self._scope = oauth.scope or choose_scope(self._challenge, resource, self._scope)
        # Challenges are about one refusal.
        self._challenge = Challenge()
        self._issuer = issued_by.issuer
        form = {
            "grant_type": "client_credentials",
            "scope": self._scope,
            "resource": self._resource,
        }
        request = make_token_request(oauth, issued_by, form)
        token = yield from fetch_token(request, self.hint)
        self.token = token.access
        self._ends_at = time.monotonic() + token.usable_s


def credentials_for(spec: HttpSpec, server: Address, interrupts: Interrupts) -> Credentials:
    """The credentials of a server: those of the config, or the tokens of a login."""
    if not spec.uses_login:
        return Credentials(spec, server)
    # Most servers have no login.
    from mcptest.transport.http.stored_login import LoginCredentials  # noqa: PLC0415

    return LoginCredentials(spec, server, interrupts)


class Token(Record):
    """A token that was issued. `lasts_s` is infinite if the answer does not say how long."""

    access: str
    refresh: str = ""
    lasts_s: float = float("inf")
    scope: str = ""

    @property
    def usable_s(self) -> float:
        """How long it can be used."""
        return max(1.0, self.lasts_s - MARGIN_S)


def fetch_token(request: HttpRequest, hint: str) -> Requests[Token]:
    """Fetch a token; an OAuthError with this hint says why there is none."""
    answer = yield request
    found = answer.problem or read_token(answer.status, answer.body)
    if isinstance(found, str):
        raise fetch_error(request, found, hint)
    return found


def read_token(status: int, raw: bytes) -> Token | str:
    """The token in an answer of the token endpoint, or why there is none."""
    found = parse_object(raw)
    secrets = [(found or {}).get(name) for name in _SECRET_MEMBERS]
    # Secrets that were fetched are never shown.
    LEARNED.add(*(secret for secret in secrets if isinstance(secret, str)))
    token = (found or {}).get("access_token")
    if found is None or status != 200 or not isinstance(token, str) or not is_sendable(token):
        return f"status {status}, {describe_problem(found, raw, status)}"
    kind = found.get("token_type", "Bearer")
    if not isinstance(kind, str) or kind.lower() != "bearer":
        said = quote_bytes(str(kind).encode("utf-8", "backslashreplace"))
        return f"the token_type is {said}, and only Bearer tokens are supported"
    lasts_s, refresh, scope = (found.get(key) for key in ("expires_in", "refresh_token", "scope"))
    if not isinstance(lasts_s, (int, float)) or lasts_s <= 0:
        lasts_s = float("inf")
    return Token(
        access=token,
        refresh=refresh if isinstance(refresh, str) else "",
        lasts_s=min(lasts_s, _LONGEST_S) if lasts_s < float("inf") else lasts_s,
        scope=scope if isinstance(scope, str) else "",
    )


def make_token_request(
    oauth: OAuthSpec, server: AuthorizationServer, form: dict[str, str]
) -> HttpRequest:
    """A request to the token endpoint, with the credentials of the client (RFC 6749)."""
    headers = {
        "Accept": "application/json",
        "Accept-Encoding": "identity",
        "Content-Type": "application/x-www-form-urlencoded",
    }
    method = choose_auth_method(oauth.auth_method, bool(oauth.private_key), server)
    if method == BASIC:
        pair = f"{quote_plus(oauth.client_id)}:{quote_plus(oauth.client_secret)}"
        basic = base64.b64encode(pair.encode("utf-8")).decode("ascii")
        LEARNED.add(basic)
        headers["Authorization"] = f"Basic {basic}"
    elif method == PUBLIC:
        form = {**form, "client_id": oauth.client_id}
    elif method == POST:
        form = {**form, "client_id": oauth.client_id, "client_secret": oauth.client_secret}
    else:
        assertion = _sign_assertion(oauth, server)
        LEARNED.add(assertion)
        form = {
            **form,
            "client_id": oauth.client_id,
            "client_assertion_type": _ASSERTION_TYPE,
            "client_assertion": assertion,
        }
    return HttpRequest(
        method="POST",
        address=server.token_endpoint,
        headers=tuple(headers.items()),
        body=urlencode({key: value for key, value in form.items() if value}).encode("ascii"),
        follows_redirects=False,
    )


_EXTRA = "a signature needs PyJWT, of the extra mcptest[oauth]: pip install 'PyJWT[crypto]'"


def _sign_assertion(oauth: OAuthSpec, server: AuthorizationServer) -> str:
    """A JWT by which the client proves that it has its private key (RFC 7523)."""
    try:
        # An optional dependency, which takes longer to import than most runs take.
        import jwt  # noqa: PLC0415
        from cryptography.hazmat.primitives.serialization import (  # noqa: PLC0415
            load_pem_private_key,
        )
    except ImportError:
        raise OAuthError("private_key_jwt cannot be used: PyJWT is missing", _EXTRA) from None
    # CI systems often keep a key on one line.
    pem = oauth.private_key.replace("\\n", "\n").encode("utf-8", "surrogateescape")
    try:
        key = load_pem_private_key(pem, password=None)
    except (ValueError, TypeError) as error:
        # The reason quotes nothing of the key.
        hint = '"private_key_env" (in a config "privateKeyEnv") names the variable that holds it'
        message = (
            f"the private key is not a PEM of an unencrypted private key: {type(error).__name__}"
        )
        raise OAuthError(message, hint) from None
    now = int(time.time())
    claims = {
        "iss": oauth.client_id,
        "sub": oauth.client_id,
        "aud": server.issuer,
        "iat": now,
        "exp": now + _ASSERTION_S,
        "jti": os.urandom(16).hex(),
    }
    algorithm = _choose_algorithm(key, server)
    try:
        return jwt.encode(claims, pem, algorithm)
    except (jwt.exceptions.PyJWTError, TypeError, ValueError, NotImplementedError) as error:
        message = f"the private key cannot sign with {algorithm}: {type(error).__name__}"
        raise OAuthError(message) from None


# What can be signed with a key of a kind, the usual one first. Each elliptic curve has one.
_RSA = ("RS256", "PS256", "RS384", "PS384", "RS512", "PS512")
_CURVES = {"secp256r1": "ES256", "secp384r1": "ES384", "secp521r1": "ES512"}


def _choose_algorithm(key: object, server: AuthorizationServer) -> str:
    """The algorithm to sign with: one for this kind of key that the authorization server takes."""
    size, curve = getattr(key, "key_size", None), getattr(key, "curve", None)
    fit: tuple[str, ...] = ("EdDSA",) if size is None else _RSA
    if curve is not None:
        fit = (_CURVES.get(str(curve.name), ""),)
    listed = server.signing_algorithms
    found = next((each for each in fit if each and (listed is None or each in listed)), "")
    if not found:
        takes = ", ".join(listed or ()) or "none"
        message = f"the private key fits none of the signatures that are taken: {visible(takes)}"
        raise OAuthError(message)
    return found


def describe_problem(
    found: dict[str, Any] | None, raw: bytes, status: int, wanted: str = "access_token"
) -> str:
    """What is wrong with an answer. Nothing else of it is quoted: there may be a token in it."""
    if 300 <= status < 400:
        return "and redirects are not followed"
    if not raw.strip():
        return "no body"
    if found is None:
        return "and the body is not a JSON object"
    said = (found.get(member) for member in ("error", "error_description"))
    texts = [each for each in said if each and isinstance(each, str)]
    if texts:
        return ": ".join(quote_bytes(text.encode("utf-8", "backslashreplace")) for text in texts)
    if wanted not in found:
        return f'and no "{wanted}" in the body'
    if status != 200:
        return "which is to be 200"
    return f'and its "{wanted}" cannot be sent in a header'


def is_sendable(token: str) -> bool:
    return bool(token) and token.isascii() and token.isprintable() and " " not in token
