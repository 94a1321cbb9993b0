"""The credentials that every request to a server carries: headers, or a token that is fetched."""

from __future__ import annotations

import base64
import time
from urllib.parse import quote_plus, urlencode

from mcptest.core.secrets import LEARNED, names_secret
from mcptest.core.strict_json import NotJsonError, parse_json
from mcptest.core.text import quote_bytes, visible
from mcptest.protocol.http_address import parse_url
from mcptest.transport.http.channel import HttpRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcptest.core.plan import HttpSpec

__all__ = ["Credentials"]

# A token is replaced this long before it expires.
_MARGIN_S = 10.0

# An upper bound for the life of a token.
_LONGEST_S = 1e9

# Members of the answer that are secrets, also if the token cannot be used.
_SECRET_MEMBERS = ("access_token", "refresh_token", "id_token")

# How many fresh tokens a server may refuse before that is reported.
_MAX_FRESH = 1


class Credentials:
    """Headers of the config and the current token, by the client credentials grant of OAuth."""

    def __init__(self, spec: HttpSpec) -> None:
        self._headers = dict(spec.headers or {})
        self._oauth = spec.oauth
        self.token = ""
        self._ends_at = float("inf")
        self._refused = 0

    @property
    def is_ready(self) -> bool:
        """True if a request can be sent with them."""
        if self._oauth is None:
            return True
        return bool(self.token) and time.monotonic() < self._ends_at

    @property
    def are_sent(self) -> bool:
        """True if requests carry credentials."""
        return bool(self.token) or any(map(names_secret, self._headers))

    @property
    def token_place(self) -> str:
        """The URL that tokens are fetched from, without its query."""
        return visible(self._oauth.token_url.partition("?")[0]) if self._oauth else ""

    @property
    def may_fetch_again(self) -> bool:
        """True if a refused token may be replaced by a fresh one."""
        return self._oauth is not None and self._refused < _MAX_FRESH

    def forget(self) -> None:
        """Drop a token that the server refused."""
        self._refused += 1
        self.token = ""

    def accepted(self) -> None:
        """Note that the server took the token; if it refuses it later, it has expired."""
        self._refused = 0

    def headers(self) -> dict[str, str]:
        token = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        return self._headers | token

    def token_request(self) -> HttpRequest:
        """The request for a token (RFC 6749, section 4.4)."""
        oauth = self._oauth
        assert oauth
        form = {
            "grant_type": "client_credentials",
            "scope": oauth.scope,
            "resource": oauth.resource,
        }
        pair = f"{quote_plus(oauth.client_id)}:{quote_plus(oauth.client_secret)}"
        basic = base64.b64encode(pair.encode("utf-8")).decode("ascii")
        LEARNED.add(basic)
        return HttpRequest(
            method="POST",
            address=parse_url(oauth.token_url),
            headers=(
                ("Accept", "application/json"),
                ("Accept-Encoding", "identity"),
                ("Authorization", f"Basic {basic}"),
                ("Content-Type", "application/x-www-form-urlencoded"),
            ),
            body=urlencode({key: value for key, value in form.items() if value}).encode("ascii"),
        )

    def take(self, status: int, raw: bytes) -> str:
        """Use the answer to it; why there is no token in it, or ""."""
        found = _object(raw)
        secrets = [(found or {}).get(name) for name in _SECRET_MEMBERS]
        # Secrets that were fetched are never shown.
        LEARNED.add(*(secret for secret in secrets if isinstance(secret, str)))
        token = (found or {}).get("access_token")
        if found is None or status != 200 or not isinstance(token, str) or not _is_sendable(token):
            return f"no token could be fetched: status {status}, {_flaw(found, raw, status)}"
        lasts_s = found.get("expires_in")
        self.token = token
        self._ends_at = float("inf")
        if isinstance(lasts_s, (int, float)) and lasts_s > 0:
            lasts_s = min(lasts_s, _LONGEST_S)
            self._ends_at = time.monotonic() + max(1.0, lasts_s - _MARGIN_S)
        return ""


def _object(raw: bytes) -> dict[str, Any] | None:
    try:
        found = parse_json(raw.decode("utf-8"))
    except (UnicodeDecodeError, NotJsonError):
        return None
    return found if isinstance(found, dict) else None


def _flaw(found: dict[str, Any] | None, raw: bytes, status: int) -> str:
    """What is wrong with an answer. Nothing else of it is quoted: there may be a token in it."""
    if not raw.strip():
        return "no body"
    if found is None:
        return "and the body is not a JSON object"
    for said in (found.get("error_description"), found.get("error")):
        if said and isinstance(said, str):
            return quote_bytes(said.encode("utf-8", "backslashreplace"))
    if "access_token" not in found:
        return 'and no "access_token" in the body'
    if status != 200:
        return "which is to be 200"
    return 'and its "access_token" cannot be sent in a header'


def _is_sendable(token: str) -> bool:
    return bool(token) and token.isascii() and token.isprintable() and " " not in token
