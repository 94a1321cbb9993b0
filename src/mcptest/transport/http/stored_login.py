"""Credentials of a login: the stored token of a server, renewed when it has expired."""

from __future__ import annotations

import os
import time

from mcptest.core.plan import OAuthSpec
from mcptest.core.text import visible
from mcptest.protocol.http_address import BadUrlError, parse_url
from mcptest.protocol.oauth import AuthorizationServer, Challenge, OAuthError, read_challenge
from mcptest.protocol.oauth_login import REFRESH
from mcptest.transport.http.authorization import (
    MARGIN_S,
    Credentials,
    is_sendable,
    read_token,
    token_request,
)
from mcptest.transport.http.token_store import find_store, login_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcptest.core.plan import HttpSpec
    from mcptest.protocol.http_address import Address
    from mcptest.transport.http.authorization import Requests, Token
    from mcptest.transport.http.channel import HttpRequest
    from mcptest.transport.http.token_store import Login
    from mcptest.transport.process.signals import Interrupts

__all__ = ["LoginCredentials", "renewed", "token_request_of"]

_UNAUTHORIZED, _FORBIDDEN = 401, 403


class LoginCredentials(Credentials):
    """Headers of the config and the token of a login, which is sent to this server alone."""

    def __init__(self, spec: HttpSpec, server: Address, interrupts: Interrupts) -> None:
        super().__init__(spec, server)
        self._interrupts = interrupts
        self._store = find_store(os.environ)
        self._login: Login | None = None
        # A token that the server has refused, and the challenge with which it did.
        self._spent = ""
        self._refusal = Challenge()
        self._is_renewed = False

    @property
    def hint(self) -> str:
        return f"run {login_command(self._server.url)}"

    @property
    def is_ready(self) -> bool:
        return bool(self.token) and time.monotonic() < self._ends_at

    def accepted(self) -> None:
        self._is_renewed = False

    def can_answer(self, status: int, headers: Mapping[str, str]) -> bool:
        """True if the server refused the token, and a renewed one may help."""
        self._refusal = Challenge()
        if status not in (_UNAUTHORIZED, _FORBIDDEN):
            return False
        self._refusal = read_challenge(headers.get("www-authenticate", ""))
        can_renew = self._login is not None and bool(self._login.refresh_token)
        if status == _FORBIDDEN or not can_renew or self._is_renewed:
            return False
        self._spent, self.token = self.token, ""
        self._is_renewed = True
        return True

    def describe(self) -> str:
        """What to do about a token that the server refuses."""
        if self._login is None:
            return ""
        missing = self._refusal.scope.split() if self._refusal.error == "insufficient_scope" else []
        # What servers say is repeated in a command only if a shell does nothing with it.
        words = filter(_is_scope, [*self._login.scope.split(), *missing])
        scope = " ".join(dict.fromkeys(words))
        said = f"the login is of {visible(self._login.issuer)}"
        said += f" with the scope {visible(self._login.scope)}" if self._login.scope else ""
        wanted = f' --scope "{scope}"' if missing else ""
        return f"{said}; {self.hint}{wanted}"

    def obtain(self) -> Requests[None]:
        """Read the stored token, and renew it if it has expired or was refused."""
        login = self._find()
        if login.access_token == self._spent or _has_expired(login):
            with self._store.lock(self._interrupts):
                # Another process may have renewed it.
                login = self._find()
                if login.access_token == self._spent or _has_expired(login):
                    login = yield from self._renew(login)
                    self._store.put(login)
        if not is_sendable(login.access_token):
            raise OAuthError("the stored token cannot be sent in a header", self.hint)
        self._login, self.token = login, login.access_token
        left_s = login.expires_at - time.time() if login.expires_at else float("inf")
        # At least long enough to be sent.
        self._ends_at = time.monotonic() + max(1.0, left_s - MARGIN_S)

    def _find(self) -> Login:
        login = self._store.find(self._server.url)
        if login is None:
            message = f"there is no login for {visible(self._server.url)}"
            raise OAuthError(message, self.hint)
        return login

    def _renew(self, login: Login) -> Requests[Login]:
        place = visible(login.issuer)
        if not login.refresh_token:
            raise OAuthError(f"the login of {place} has expired", self.hint)
        form = {
            "grant_type": REFRESH,
            "refresh_token": login.refresh_token,
            "resource": login.resource,
        }
        answer = yield token_request_of(login, form)
        found = answer.problem or read_token(answer.status, answer.body)
        if isinstance(found, str):
            message = f"the login of {place} has expired and could not be renewed: {found}"
            raise OAuthError(message, self.hint)
        return renewed(login, found)


def token_request_of(login: Login, form: dict[str, str]) -> HttpRequest:
    """A request to the token endpoint of a login."""
    client = OAuthSpec(
        client_id=login.client_id,
        client_secret=login.client_secret,
        auth_method=login.auth_method,
    )
    try:
        endpoint = parse_url(login.token_endpoint)
    except BadUrlError as error:
        hint = f"run {login_command(login.url)}"
        raise OAuthError(f"the stored token endpoint is not a URL: {error}", hint) from None
    server = AuthorizationServer(issuer=login.issuer, token_endpoint=endpoint)
    return token_request(client, server, form)


def renewed(login: Login, token: Token) -> Login:
    """The login with a token that was issued just now."""
    is_limited = token.lasts_s != float("inf")
    return login.but(
        access_token=token.access,
        # Without a new one the old one stays valid.
        refresh_token=token.refresh or login.refresh_token,
        expires_at=time.time() + token.lasts_s if is_limited else 0.0,
        scope=token.scope or login.scope,
    )


def _has_expired(login: Login) -> bool:
    return bool(login.expires_at) and time.time() >= login.expires_at - MARGIN_S


def _is_scope(text: str) -> bool:
    """True for what RFC 6749 allows in a scope, without what a shell would interpret."""
    return text.isascii() and text.isprintable() and not set(text) & set("\"'\\`$!")
