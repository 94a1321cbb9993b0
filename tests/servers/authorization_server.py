"""An MCP server that requires tokens, and an authorization server that is strict about everything.

    with Guarded() as guarded:
        run_a_client(guarded.url)

Both run in threads of the test, on two ports. `refusals` lists what a client did wrong at the token
endpoint; a test changes `resource`, `metadata` or `pages` to make either server odd or hostile.
"""

from __future__ import annotations

import base64
import json
import time
from urllib.parse import parse_qsl, unquote_plus

from raw_http import RawHttp, answer, as_json, good, refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Self

    from raw_http import Asked, Line, Script

CLIENT_ID = "ci client"
# Parts of it must be encoded in a form, and in Basic authentication.
CLIENT_SECRET = "s3cret/of+the client:0123"
TOKEN = "canary-token-of-the-issuer"

RESOURCE_PATH = "/.well-known/oauth-protected-resource/mcp"
ISSUER_PATH = "/.well-known/oauth-authorization-server"
ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"


class Guarded:
    """The two servers. A token works `uses` times; `public_key` verifies signed assertions."""

    def __init__(
        self,
        method: str = "client_secret_basic",
        *,
        scope: str = "",
        uses: int = 1000,
        public_key: str = "",
    ) -> None:
        self._server = RawHttp(self._guard)
        self._issuer = RawHttp(self._issue)
        self.url = self._server.url
        self.origin = self.url.removesuffix("/mcp")
        self.issuer = f"http://127.0.0.1:{self._issuer.port}"
        self.method = method
        # The scope of the first challenge, and what each MCP method needs.
        self.scope = scope
        self.scopes: dict[str, str] = {}
        self._uses = uses
        self._public_key = public_key
        # What the 401 says besides its error; None for no header at all.
        self.challenge: str | None = f'resource_metadata="{self.origin}{RESOURCE_PATH}"'
        self.resource: dict[str, Any] = {
            "resource": self.url,
            "authorization_servers": [self.issuer],
        }
        self.metadata: dict[str, Any] = {
            "issuer": self.issuer,
            "token_endpoint": f"{self.issuer}/token",
            "grant_types_supported": ["client_credentials"],
            "token_endpoint_auth_methods_supported": [method],
        }
        # What is at other paths, or instead of the documents.
        self.pages: dict[str, Script] = {}
        # The scopes of every token, and how often each was used.
        self.tokens: dict[str, set[str]] = {}
        self._used: dict[str, int] = {}
        self.requests: list[dict[str, str]] = []
        self.refusals: list[str] = []
        self._assertions: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.__exit__()
        self._issuer.__exit__()

    @property
    def asked(self) -> list[str]:
        """Everything that was requested of the MCP server, except messages."""
        return [each.target for each in self._server.asked if each.target != "/mcp"]

    @property
    def asked_issuer(self) -> list[str]:
        """Everything that was requested of the authorization server."""
        return [f"{each.method} {each.target}" for each in self._issuer.asked]

    @property
    def given(self) -> list[str]:
        """The credentials of every request to the MCP server."""
        return [each.headers.get("authorization", "") for each in self._server.asked]

    # The MCP server

    def _guard(self, asked: Asked, line: Line) -> None:
        if asked.target in self.pages:
            self.pages[asked.target](asked, line)
        elif asked.target == RESOURCE_PATH:
            line.send(as_json(self.resource))
        elif asked.target != "/mcp":
            line.send(refusal("404 Not Found"))
        else:
            self._guard_endpoint(asked, line)

    def _guard_endpoint(self, asked: Asked, line: Line) -> None:
        token = asked.headers.get("authorization", "").removeprefix("Bearer ")
        self._used[token] = self._used.get(token, 0) + 1
        if token not in self.tokens or self._used[token] > self._uses:
            parts = [f'scope="{self.scope}"'] if self.scope else []
            self._challenge(line, "401 Unauthorized", [*parts, self.challenge])
        elif missing := set(self.scopes.get(asked.about, "").split()) - self.tokens[token]:
            needed = " ".join(sorted(missing))
            self._challenge(
                line, "403 Forbidden", ['error="insufficient_scope"', f'scope="{needed}"']
            )
        else:
            good(asked, line)

    def _challenge(self, line: Line, status: str, parts: list[str | None]) -> None:
        if self.challenge is None:
            line.send(refusal(status))
        else:
            said = ", ".join(filter(None, parts))
            line.send(refusal(status, WWW_Authenticate=f'Basic realm="x", Bearer {said}'))

    # The authorization server

    def _issue(self, asked: Asked, line: Line) -> None:
        if asked.target in self.pages:
            self.pages[asked.target](asked, line)
        elif asked.target == ISSUER_PATH:
            line.send(as_json(self.metadata))
        elif (asked.method, asked.target) == ("POST", "/token"):
            self._grant(asked, line)
        else:
            line.send(refusal("404 Not Found"))

    def _grant(self, asked: Asked, line: Line) -> None:
        pairs = parse_qsl(asked.body.decode("ascii"), keep_blank_values=True, strict_parsing=True)
        form = dict(pairs)
        self.requests.append(form)
        error = self._request_error(asked, pairs, form)
        if error:
            self.refusals.append(error)
            line.send(as_json({"error": error, "error_description": "no"}, "400 Bad Request"))
            return
        token = f"{TOKEN}-{len(self.tokens)}"
        self.tokens[token] = set(form.get("scope", "").split())
        found = {"access_token": token, "token_type": "Bearer", "expires_in": 3600}
        line.send(as_json(found, Cache_Control="no-store"))

    def _request_error(
        self, asked: Asked, pairs: list[tuple[str, str]], form: dict[str, str]
    ) -> str:
        known = {"grant_type", "resource", "scope"}
        if self.method == "client_secret_post":
            known |= {"client_id", "client_secret"}
        elif self.method == "private_key_jwt":
            known |= {"client_id", "client_assertion", "client_assertion_type"}
        kind = asked.headers.get("content-type")
        if kind != "application/x-www-form-urlencoded" or asked.headers.get("cookie"):
            return "invalid_request"
        if len(pairs) != len(form) or set(form) - known or "" in form.values():
            return "invalid_request"
        if form.get("grant_type") != "client_credentials":
            return "unsupported_grant_type"
        if form.get("resource") != self.resource.get("resource"):
            return "invalid_target"
        return "" if self._is_client(asked, form) else "invalid_client"

    def _is_client(self, asked: Asked, form: dict[str, str]) -> bool:
        said = asked.headers.get("authorization", "")
        if self.method == "client_secret_basic":
            pair = base64.b64decode(said.removeprefix("Basic ")).decode().split(":")
            return list(map(unquote_plus, pair)) == [CLIENT_ID, CLIENT_SECRET]
        if self.method == "client_secret_post":
            found = form.get("client_id"), form.get("client_secret")
            return found == (CLIENT_ID, CLIENT_SECRET) and not said
        return self._is_signed(form) and form.get("client_id") == CLIENT_ID and not said

    def _is_signed(self, form: dict[str, str]) -> bool:
        import jwt  # noqa: PLC0415  # only for this method

        algorithms = self.metadata.get("token_endpoint_auth_signing_alg_values_supported")
        needed = ["iss", "sub", "aud", "exp", "iat", "jti"]
        claims = jwt.decode(
            form["client_assertion"],
            self._public_key,
            algorithms=algorithms,
            audience=self.issuer,
            issuer=CLIENT_ID,
            options={"require": needed},
        )
        is_fresh = claims["jti"] not in self._assertions and claims["exp"] - time.time() <= 600
        self._assertions.add(claims["jti"])
        is_right_type = form["client_assertion_type"] == ASSERTION
        return is_fresh and is_right_type and claims["sub"] == CLIENT_ID


def page(body: object, status: str = "200 OK", **more: str) -> Script:
    """A script that answers with this document, or these bytes."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return lambda asked, line: line.send(answer(raw, status, **more))
