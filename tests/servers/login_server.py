"""An MCP server that requires a login, and an authorization server that is strict about every part.

    with LoginServers() as servers:
        run_a_client(servers.url)

It registers clients, gives codes at /authorize to every client (there is no password), and accepts
each code once, with its verifier. `refusals` lists what a client did wrong. A test changes
`callback`, `device` and the rest to make it odd or hostile.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from urllib.parse import parse_qsl, unquote_plus, urlencode, urlsplit

from authorization_server import ISSUER_PATH, Guarded
from raw_http import answer, as_json, refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from raw_http import Asked, Line

ACCESS, REFRESH, CODE = "canary-access", "canary-refresh", "canary-code"
SECRET = "canary-secret/of+the:client"
DEVICE_CODE, USER_CODE = "canary-device-code", "WDJB-MJHT"
DEVICE = "urn:ietf:params:oauth:grant-type:device_code"

_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")
_REDIRECT = re.compile(r"http://127\.0\.0\.1:\d+/callback")


class LoginServers(Guarded):
    """The two servers. `method` is how clients authenticate; tokens last `lasts_s`."""

    def __init__(self, method: str = "none", *, scope: str = "", lasts_s: int = 3600) -> None:
        super().__init__(method, scope=scope)
        self.lasts_s = lasts_s
        self.metadata |= {
            "authorization_endpoint": f"{self.issuer}/authorize?tenant=a",
            "registration_endpoint": f"{self.issuer}/register",
            "device_authorization_endpoint": f"{self.issuer}/device",
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token", DEVICE],
            "code_challenge_methods_supported": ["plain", "S256"],
            "authorization_response_iss_parameter_supported": True,
        }
        # Redirect URIs of each client; a client registered by hand may use any port.
        self.clients: dict[str, list[str]] = {"by-hand": []}
        self.registrations: list[dict[str, Any]] = []
        self.authorizations: list[dict[str, str]] = []
        # Members of the callback that differ; None leaves one out.
        self.callback: dict[str, str | None] = {}
        self._codes: dict[str, dict[str, str]] = {}
        # Refresh tokens that are valid, and their scope.
        self.refreshes: dict[str, str] = {}
        self.gives_refresh = True
        self.issued = 0
        # What the token endpoint says, in turn, before a device is approved.
        self.device_answers: list[str] = []
        self.device: dict[str, Any] = {
            "device_code": DEVICE_CODE,
            "user_code": USER_CODE,
            "verification_uri": f"{self.issuer}/enter",
            "verification_uri_complete": f"{self.issuer}/enter?code={USER_CODE}",
            "expires_in": 60,
            "interval": 0.01,
        }

    def revoke(self) -> None:
        """No token works any more."""
        self.tokens.clear()
        self.refreshes.clear()

    def expire(self) -> None:
        """The access tokens do not work any more."""
        self.tokens.clear()

    # The authorization server

    def _issue(self, asked: Asked, line: Line) -> None:
        path = asked.target.partition("?")[0]
        if asked.target in self.pages:
            self.pages[asked.target](asked, line)
        elif asked.target == ISSUER_PATH:
            line.send(as_json(self.metadata))
        elif (asked.method, path) == ("GET", "/authorize"):
            self._authorize(asked, line)
        elif (asked.method, path) == ("POST", "/register"):
            self._register(asked, line)
        elif (asked.method, path) == ("POST", "/device"):
            self._begin_device(asked, line)
        elif (asked.method, path) == ("POST", "/token"):
            self._answer_token(asked, line)
        else:
            line.send(refusal("404 Not Found"))

    def _refuse(self, line: Line, error: str, why: str) -> None:
        self.refusals.append(f"{error}: {why}")
        line.send(as_json({"error": error, "error_description": why}, "400 Bad Request"))

    # Clients

    def _register(self, asked: Asked, line: Line) -> None:
        document = json.loads(asked.body)
        self.registrations.append(document)
        if why := self._registration_error(asked, document):
            self._refuse(line, "invalid_client_metadata", why)
            return
        id = f"registered {len(self.clients)}"
        self.clients[id] = document.get("redirect_uris", [])
        found = {"client_id": id, "token_endpoint_auth_method": self.method}
        found |= {"client_secret": SECRET} if self.method != "none" else {}
        line.send(as_json(found, "201 Created"))

    def _registration_error(self, asked: Asked, document: dict[str, Any]) -> str:
        is_device = DEVICE in document.get("grant_types", [])
        wanted: dict[str, object] = {
            "client_name": "mcptest",
            "application_type": "native",
            "grant_types": [DEVICE if is_device else "authorization_code", "refresh_token"],
            "token_endpoint_auth_method": self.method,
        }
        if not is_device:
            [uri] = document.get("redirect_uris", [""])
            if not _REDIRECT.fullmatch(uri):
                return "redirect_uris"
            wanted |= {"redirect_uris": [uri], "response_types": ["code"]}
        if "scope" in document:
            wanted["scope"] = document["scope"]
        if asked.headers.get("content-type") != "application/json":
            return "content-type"
        return "" if document == wanted else "members"

    def _client_error(self, asked: Asked, form: dict[str, str]) -> str:
        said = asked.headers.get("authorization", "")
        if self.method == "client_secret_basic":
            id, secret = base64.b64decode(said.removeprefix("Basic ")).decode().split(":")
            form |= {"client_id": unquote_plus(id), "client_secret": unquote_plus(secret)}
        elif said:
            return "authorization"
        if self.method != "none" and form.pop("client_secret", "") != SECRET:
            return "client_secret"
        return "" if form["client_id"] in self.clients else "client_id"

    # Codes

    def _authorize(self, asked: Asked, line: Line) -> None:
        pairs = parse_qsl(urlsplit(asked.target).query, keep_blank_values=True, strict_parsing=True)
        query = dict(pairs)
        self.authorizations.append(query)
        why = self._authorization_error(pairs, query)
        if why:
            self.refusals.append(f"authorization: {why}")
            line.send(refusal("400 Bad Request", why.encode()))
            return
        code = f"{CODE}-{len(self._codes)}"
        self._codes[code] = query
        given: dict[str, str | None] = {"code": code, "state": query["state"], "iss": self.issuer}
        given |= self.callback
        said = urlencode({key: value for key, value in given.items() if value is not None})
        line.send(answer(b"", "302 Found", "", Location=f"{query['redirect_uri']}?{said}"))

    def _authorization_error(self, pairs: list[tuple[str, str]], query: dict[str, str]) -> str:
        needed = {
            *("tenant", "response_type", "client_id", "redirect_uri", "state"),
            *("code_challenge", "code_challenge_method", "resource"),
        }
        if len(pairs) != len(query) or "" in query.values():
            return "a parameter twice or empty"
        if set(query) - {"scope"} != needed:
            return "other parameters"
        fixed = {"tenant": "a", "response_type": "code", "code_challenge_method": "S256"}
        fixed["resource"] = str(self.resource["resource"])
        for key, value in fixed.items():
            if query[key] != value:
                return key
        if query["client_id"] not in self.clients:
            return "client_id"
        known = self.clients[query["client_id"]]
        if not _REDIRECT.fullmatch(query["redirect_uri"]):
            return "redirect_uri"
        if known and query["redirect_uri"] not in known:
            return "redirect_uri of another client"
        if not _CHALLENGE.fullmatch(query["code_challenge"]):
            return "code_challenge"
        return "" if len(query["state"]) >= 32 else "state"

    # Devices

    def _begin_device(self, asked: Asked, line: Line) -> None:
        form = dict(parse_qsl(asked.body.decode("ascii"), strict_parsing=True))
        self.requests.append(dict(form))
        why = self._client_error(asked, form)
        if not why and set(form) - {"scope"} != {"client_id", "resource"}:
            why = "other parameters"
        if not why and form["resource"] != self.resource["resource"]:
            why = "resource"
        if why:
            self._refuse(line, "invalid_request", why)
        else:
            line.send(as_json(self.device))

    # Tokens

    def _answer_token(self, asked: Asked, line: Line) -> None:
        pairs = parse_qsl(asked.body.decode("ascii"), keep_blank_values=True, strict_parsing=True)
        form = dict(pairs)
        self.requests.append(dict(form))
        if len(pairs) != len(form) or "" in form.values():
            self._refuse(line, "invalid_request", "a parameter twice or empty")
        elif asked.headers.get("content-type") != "application/x-www-form-urlencoded":
            self._refuse(line, "invalid_request", "content-type")
        elif why := self._client_error(asked, form):
            self._refuse(line, "invalid_client", why)
        elif form.get("resource") != self.resource["resource"]:
            self._refuse(line, "invalid_target", "resource")
        else:
            self._grant_form(form, line)

    def _grant_form(self, form: dict[str, str], line: Line) -> None:
        kind = form.pop("grant_type", "")
        id = form.pop("client_id")
        del form["resource"]
        if kind == "authorization_code":
            self._grant_code(form, id, line)
        elif kind == "refresh_token":
            self._grant_refresh(form, line)
        elif kind == DEVICE:
            self._grant_device(form, line)
        else:
            self._refuse(line, "unsupported_grant_type", kind)

    def _grant_code(self, form: dict[str, str], id: str, line: Line) -> None:
        given = self._codes.pop(form.pop("code", ""), None)
        digest = hashlib.sha256(form.pop("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        if given is None:
            self._refuse(line, "invalid_grant", "code")
        elif given["code_challenge"] != challenge:
            self._refuse(line, "invalid_grant", "code_verifier")
        elif given["client_id"] != id:
            self._refuse(line, "invalid_grant", "client_id")
        elif form != {"redirect_uri": given["redirect_uri"]}:
            self._refuse(line, "invalid_grant", "redirect_uri")
        else:
            self._give(given.get("scope", ""), line)

    def _grant_refresh(self, form: dict[str, str], line: Line) -> None:
        scope = self.refreshes.pop(form.pop("refresh_token", ""), None)
        if scope is None or form:
            # A refresh token that is used twice was stolen: all others end with it.
            self.refreshes.clear()
            self._refuse(line, "invalid_grant", "refresh_token")
        else:
            self._give(scope, line)

    def _grant_device(self, form: dict[str, str], line: Line) -> None:
        if form != {"device_code": DEVICE_CODE}:
            self._refuse(line, "invalid_grant", "device_code")
        elif self.device_answers:
            error = self.device_answers.pop(0)
            line.send(as_json({"error": error}, "400 Bad Request"))
        else:
            self._give("", line)

    def _give(self, scope: str, line: Line) -> None:
        number = self.issued
        self.issued += 1
        found: dict[str, object] = {
            "access_token": f"{ACCESS}-{number}",
            "token_type": "Bearer",
            "expires_in": self.lasts_s,
        }
        self.tokens[f"{ACCESS}-{number}"] = set(scope.split())
        if self.gives_refresh:
            found["refresh_token"] = f"{REFRESH}-{number}"
            self.refreshes[f"{REFRESH}-{number}"] = scope
        line.send(as_json(found, Cache_Control="no-store"))
