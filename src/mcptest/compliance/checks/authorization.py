"""Checks of authorization over HTTP (AUTH): tokens, and the documents that lead to them.

A server takes part if it refuses requests without a token, or if the user gives one. Only invented
tokens are sent in these checks, and the one that the user gives for them; no client is registered,
and documents are only read from the origin of the server. They run before a session is opened, so
that a server can be checked whose token is not known.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from mcptest.compliance.check import (
    PASSED,
    Check,
    UndecidedError,
    could_not_run,
    not_applicable,
    violated,
)
from mcptest.compliance.checks.http import first_reply, http_peer, refuses_foreign
from mcptest.compliance.raw_connection import HttpPeer
from mcptest.core.coverage import KINDS
from mcptest.core.strict_json import NotJsonError, dump_json, parse_json
from mcptest.core.text import excerpt
from mcptest.protocol.http_address import BadUrlError, parse_url, same_origin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcptest.compliance.check import Outcome, Probe
    from mcptest.compliance.raw_connection import Peer
    from mcptest.compliance.run import Run
    from mcptest.transport.http.probe import HttpReply

    Members = dict[str, Any]

__all__ = ["CHECKS"]

_FIRST = "2025-03-26"
_RESOURCE_SERVER_SINCE = "2025-06-18"
_DISCOVERY_SINCE = "2025-11-25"

_RESOURCE_DOCUMENT = "/.well-known/oauth-protected-resource"
_SERVER_DOCUMENTS = ("/.well-known/oauth-authorization-server", "/.well-known/openid-configuration")


def _first_reply(peer: HttpPeer, run: Run, token: str | None, query: str = "") -> HttpReply:
    """The answer to the first request of a client, with this token instead of the user's."""
    return first_reply(
        peer.other_client(f"Bearer {token}" if token else ""), peer, run, query=query
    )


def _has_own_token(peer: HttpPeer) -> bool:
    return any(name.lower() == "authorization" for name in peer.http.headers or {})


def _lacks_protection(peer: Peer) -> str:
    """A server without a token has no users, so no hint is asked for."""
    return "" if _has_own_token(http_peer(peer)) else "that it needs a token"


def _protected_peer(peer: Peer, run: Run) -> HttpPeer:
    """The connection, if the server needs authorization; else UndecidedError."""
    peer = http_peer(peer)
    if run.needs_token is None:
        run.needs_token = _has_own_token(peer) or _first_reply(peer, run, None).status == 401
        peer.clear_evidence()
    if not run.needs_token:
        raise UndecidedError(not_applicable("the server needs no authorization"))
    return peer


def _needs_401(reply: HttpReply, what: str) -> Outcome:
    if reply.status == 401:
        return PASSED
    return violated(
        f"a request {what} must get HTTP status 401; the server answered with "
        f"{reply.status or reply.error}"
    )


def _refuses_without_token(peer: Peer, run: Run) -> Outcome:
    peer = _protected_peer(peer, run)
    reply = _first_reply(peer, run, None)
    return _needs_401(reply, "without a token")


def _refuses_invented_tokens(peer: Peer, run: Run) -> Outcome:
    peer = _protected_peer(peer, run)
    reply = _first_reply(peer, run, run.unknown_name("token"))
    return _needs_401(reply, "with an invented token")


def _refuses_tokens_in_queries(peer: Peer, run: Run) -> Outcome:
    peer = _protected_peer(peer, run)
    reply = _first_reply(peer, run, None, f"access_token={run.unknown_name('token')}")
    if reply.status >= 400:
        return PASSED
    return violated(
        "a token in the query of the URL (?access_token=…) must not be accepted; the server "
        f"answered with HTTP status {reply.status or reply.error}"
    )


def _repeats_no_tokens(peer: Peer, run: Run) -> Outcome:
    peer = http_peer(peer)
    token = run.unknown_name("secret-token")
    reply = _first_reply(peer, run, token)
    heads = " ".join(reply.headers.values()).encode("utf-8", "replace")
    if token.encode() in reply.body or token.encode() in heads:
        return violated("the answer repeats the token of the request, which may end up in logs")
    return PASSED


def _needs_tokens_later(peer: Peer, run: Run) -> Outcome:
    peer = _protected_peer(peer, run)
    if not _has_own_token(peer):
        return could_not_run("needs a token: --bearer-env NAME")
    answer = peer.request(peer.harmless_method, headers={"Authorization": None}, is_judged=False)
    if answer.status == 401:
        return PASSED
    return violated(
        "a later request without a token must get HTTP status 401, because a session does not "
        f"prove identity; the server answered with {answer.describe()}"
    )


_OTHER_TOKEN = "other_token"


def _with_other_token(peer: HttpPeer, run: Run) -> dict[str, str]:
    """The header with the token of another user. UndecidedError if it is not accepted."""
    token = run.hints[_OTHER_TOKEN]
    reply = _first_reply(peer, run, token)
    peer.clear_evidence()
    if not 200 <= reply.status < 300:
        status = reply.status or reply.error
        reason = f"the server does not accept {_OTHER_TOKEN}: it answered with {status}"
        raise UndecidedError(could_not_run(reason))
    return {"Authorization": f"Bearer {token}"}


def _binds_sessions_to_users(peer: Peer, run: Run) -> Outcome:
    peer = http_peer(peer)
    if not peer.session_id:
        return not_applicable("the server has no sessions")
    headers = _with_other_token(peer, run)
    answer = peer.request("ping", headers=headers, is_judged=False)
    if answer.result is None:
        return PASSED
    return violated(
        "a session that one user has opened is served to another: a request with its id and the "
        f"token in {_OTHER_TOKEN} got {answer.describe()}; who learns the id can act in the session"
    )


def _shares_only_what_is_public(peer: Peer, run: Run) -> Outcome:
    """Compare lists that are public for two users; one that changes by itself proves nothing."""
    peer = http_peer(peer)
    headers = _with_other_token(peer, run)
    is_seen = False
    for kind in KINDS.values():
        if not peer.has(kind.capability):
            continue
        method = kind.method
        peer.clear_evidence()
        first = peer.request(method).result
        if first is None or first.get("cacheScope") != "public":
            continue
        other = peer.request(method, headers=headers).result
        if other is None:
            continue
        is_seen = True
        if other == first or peer.request(method).result != first:
            continue
        return violated(
            f"the result of {method} has the cacheScope public, and is not the same for the token "
            f"in {_OTHER_TOKEN}; a shared cache gives one user what is meant for the other"
        )
    return PASSED if is_seen else not_applicable("no list has the cacheScope public for both")


# Documents


def _challenge(peer: HttpPeer, run: Run) -> str:
    """The value of WWW-Authenticate in the answer to a request without a token."""
    return _first_reply(peer, run, None).header("www-authenticate")


def _names_the_document(peer: Peer, run: Run) -> Outcome:
    peer = _protected_peer(peer, run)
    challenge = _challenge(peer, run)
    if "resource_metadata=" in challenge:
        return PASSED
    shown = excerpt(challenge, 120) or "no such header"
    return violated(
        "status 401 must come with WWW-Authenticate and resource_metadata in it, the URL at which "
        f"clients learn where to log in; the server sent {shown}"
    )


def _read(peer: HttpPeer, path: str) -> Members | None:
    """A JSON document of the server, None if there is none."""
    address = peer.client.address.but(target=path)
    reply = peer.exchange("GET", {"Accept": "application/json"}, address=address)
    if reply.status != 200:
        return None
    try:
        value = parse_json(reply.body.decode("utf-8"))
    except (NotJsonError, UnicodeDecodeError):
        return None
    return value if isinstance(value, dict) else None


def _resource_document(peer: HttpPeer, run: Run) -> Members | None:
    """What the server says of itself: at the URL of its challenge, or where it is by default."""
    challenge = _challenge(peer, run)
    named = challenge.partition("resource_metadata=")[2].strip('"').partition('"')[0]
    path = urlsplit(peer.client.address.target).path.rstrip("/")
    paths = [f"{_RESOURCE_DOCUMENT}{path}", _RESOURCE_DOCUMENT]
    try:
        address = parse_url(named) if named else None
    except BadUrlError:
        address = None
    if address and same_origin(address, peer.client.address):
        paths.insert(0, address.target)
    found = (_read(peer, path) for path in paths)
    return next((each for each in found if each is not None), None)


def _has_a_document(peer: Peer, run: Run) -> Outcome:
    peer = _protected_peer(peer, run)
    if _resource_document(peer, run) is not None:
        return PASSED
    return violated(
        f"there is no protected resource metadata (JSON) at {_RESOURCE_DOCUMENT}, nor at a URL in "
        "WWW-Authenticate, so clients cannot learn where to log in"
    )


def _names_authorization_servers(peer: Peer, run: Run) -> Outcome:
    peer = _protected_peer(peer, run)
    document = _resource_document(peer, run)
    if document is None:
        return not_applicable("there is no protected resource metadata, which AUTH-03 reports")
    servers = document.get("authorization_servers")
    if not isinstance(servers, list) or not servers:
        return violated("the protected resource metadata lists no authorization server")
    resource, own = document.get("resource"), peer.client.address
    if isinstance(resource, str) and resource.rstrip("/") in (
        own.url.rstrip("/"),
        own.origin,
        own.url.partition("?")[0].rstrip("/"),
    ):
        return PASSED
    shown = excerpt(dump_json(resource), 80)
    return violated(f"resource in the metadata must be the URL of the server; it is {shown}")


def _own_issuer(peer: HttpPeer, run: Run) -> str:
    """The authorization server, if it has the origin of the server; "" if not."""
    document = _resource_document(peer, run) or {}
    servers = document.get("authorization_servers")
    issuer = servers[0] if isinstance(servers, list) and servers else ""
    try:
        is_own = isinstance(issuer, str) and same_origin(parse_url(issuer), peer.client.address)
    except BadUrlError:
        is_own = False
    return issuer if is_own else ""


_ELSEWHERE = "the authorization server is another one, which is not contacted"


def _server_document(peer: HttpPeer, issuer: str) -> Members | None:
    path = urlsplit(issuer).path.rstrip("/")
    paths = [f"{document}{path}" for document in _SERVER_DOCUMENTS]
    paths.append(f"{path}{_SERVER_DOCUMENTS[1]}")
    found = (_read(peer, path) for path in paths)
    return next((each for each in found if each is not None), None)


def _describes_the_authorization_server(peer: Peer, run: Run) -> Outcome:
    peer = _protected_peer(peer, run)
    issuer = _own_issuer(peer, run)
    if not issuer:
        return not_applicable(_ELSEWHERE)
    document = _server_document(peer, issuer)
    if document is None:
        return violated(f"the authorization server {issuer} has no metadata document")
    if document.get("issuer") != issuer:
        shown = excerpt(dump_json(document.get("issuer")), 80)
        return violated(f"issuer in the document of {issuer} must be equal; it is {shown}")
    if run.version >= _DISCOVERY_SINCE and "code_challenge_methods_supported" not in document:
        message = f"the document of {issuer} has no code_challenge_methods_supported, so that "
        return violated(f"{message}clients must refuse to log in (PKCE)")
    return PASSED


def _has_secure_endpoints(peer: Peer, run: Run) -> Outcome:
    peer = _protected_peer(peer, run)
    issuer = _own_issuer(peer, run)
    document = _server_document(peer, issuer) if issuer else None
    if document is None:
        return not_applicable(_ELSEWHERE if not issuer else "there is no metadata document")
    for name in ("authorization_endpoint", "token_endpoint", "registration_endpoint"):
        url = document.get(name)
        try:
            address = parse_url(url) if isinstance(url, str) else None
        except BadUrlError:
            return violated(f"{name} is not a URL: {excerpt(dump_json(url), 80)}")
        if address and address.scheme != "https" and not address.is_loopback:
            return violated(f"{name} must be https: {excerpt(address.url, 120)}")
    return PASSED


def _is_described_at_the_root(peer: Peer, run: Run) -> Outcome:
    peer = _protected_peer(peer, run)
    if _read(peer, _SERVER_DOCUMENTS[0]) is not None:
        return PASSED
    replies = [
        peer.exchange("GET", {}, address=peer.client.address.but(target=path))
        for path in ("/authorize", "/token")
    ]
    if any(reply.status not in (0, 404) for reply in replies):
        return PASSED
    return violated(
        f"there is neither a document at {_SERVER_DOCUMENTS[0]} nor an endpoint at /authorize or "
        "/token, so that clients cannot log in"
    )


def _check(property: str, run: Probe, **more: Any) -> Check:
    more = {"since": _FIRST, "phase": "launch"} | more
    return Check(property=property, run=run, transport="http", **more)


CHECKS = {
    "AUTH-01 401-without-token": _check(
        "a request without a token gets status 401",
        _refuses_without_token,
        explains=("AUTH-07",),
        section="basic/authorization#Error Handling",
    ),
    "AUTH-02 www-authenticate": _check(
        "status 401 comes with the URL of the protected resource metadata",
        _names_the_document,
        since=_RESOURCE_SERVER_SINCE,
        until=_RESOURCE_SERVER_SINCE,
        section="basic/authorization#Authorization Server Location",
    ),
    "AUTH-03 metadata-discoverable": _check(
        "the protected resource metadata can be found",
        _has_a_document,
        since=_DISCOVERY_SINCE,
        section="basic/authorization#Protected Resource Metadata Discovery Requirements",
        stateless_section="basic/authorization#Authorization Server Discovery",
    ),
    "AUTH-04 prm-has-as": _check(
        "the protected resource metadata names an authorization server, and the server itself",
        _names_authorization_servers,
        since=_RESOURCE_SERVER_SINCE,
        section="basic/authorization#Authorization Server Location",
        stateless_section="basic/authorization#Authorization Server Discovery",
    ),
    "AUTH-05 invalid-token-401": _check(
        "a request with an invented token gets status 401",
        _refuses_invented_tokens,
        section="basic/authorization#Error Handling",
        stateless_section="basic/authorization#Token Handling",
    ),
    "AUTH-07 every-request": _check(
        "every request needs a token",
        _needs_tokens_later,
        phase="session",
        section="basic/authorization#Access Token Usage",
        stateless_section="basic/authorization#Token Requirements",
    ),
    "AUTH-08 token-not-in-query": _check(
        "a token in the query of the URL is not accepted",
        _refuses_tokens_in_queries,
        section="basic/authorization#Access Token Usage",
        stateless_section="basic/authorization#Token Requirements",
    ),
    "AUTH-10 as-metadata": _check(
        "the metadata of the authorization server names it as the issuer",
        _describes_the_authorization_server,
        since=_RESOURCE_SERVER_SINCE,
        section="basic/authorization#Authorization Server Metadata Discovery",
        stateless_section="basic/authorization#Authorization Server Discovery",
    ),
    "AUTH-11 as-https": _check(
        "the endpoints of the authorization server are https",
        _has_secure_endpoints,
        section="basic/authorization#Security Considerations",
    ),
    "AUTH-12 b-metadata-at-root": _check(
        "the authorization server is described at the root of the origin, or has default paths",
        _is_described_at_the_root,
        until=_FIRST,
        section="basic/authorization#Authorization Server Metadata Discovery",
        older_sections={"2025-03-26": "basic/authorization#Server Metadata Discovery"},
    ),
    "AUTH-20 state-bound-to-user": _check(
        "a session is served only to the user who opened it",
        _binds_sessions_to_users,
        since=_RESOURCE_SERVER_SINCE,
        until=_DISCOVERY_SINCE,
        level="SHOULD",
        phase="session",
        hint=_OTHER_TOKEN,
        server_lacks=_lacks_protection,
        section="basic/security_best_practices#Session Hijacking",
    ),
    "CACHE-06 public-not-personal": _check(
        "lists that are public are the same for every user",
        _shares_only_what_is_public,
        since="2026-07-28",
        phase="session",
        hint=_OTHER_TOKEN,
        server_lacks=_lacks_protection,
        section="server/utilities/caching#Cache Scope Field",
    ),
    "AUTH-21 dns-rebinding": _check(
        "a request with a foreign Host and Origin is refused",
        lambda peer, run: refuses_foreign(peer, run, "evil.example"),
        since="",
        phase="session",
        section="basic/transports#Security Warning",
        stateless_section="basic/transports/streamable-http#Security & Endpoint",
    ),
    "AUTH-22 no-credential-echo": _check(
        "tokens are not repeated in answers",
        _repeats_no_tokens,
        section="basic/authorization#Security Considerations",
    ),
}
