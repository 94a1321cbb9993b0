"""Log in to a server: find its authorization server, have the user approve, fetch tokens.

The steps are generators that yield requests and pauses, as those of `authorization`; `LoginRun`
drives them. The user approves in a browser, which sends the answer to a port of this machine
(`_Callback`), or on another device, while the token endpoint is asked repeatedly.
"""

from __future__ import annotations

import base64
import os
import sys
import time

from mcptest.core.errors import InterruptedRunError, ServerError
from mcptest.core.plan import BASIC, POST, PUBLIC, HttpSpec
from mcptest.core.results import Fault
from mcptest.core.secrets import LEARNED
from mcptest.core.strict_json import dump_json
from mcptest.core.text import ci_variable, visible
from mcptest.core.value_class import Record
from mcptest.protocol.http_address import parse_url
from mcptest.protocol.http_messages import Answer
from mcptest.protocol.oauth import (
    CALLBACK_PATH,
    CODE,
    DEVICE,
    AuthorizationServer,
    Challenge,
    Client,
    OAuthError,
    assume_endpoints,
    build_authorization_url,
    build_code_challenge,
    choose_login_scope,
    choose_scope,
    describe_client,
    parse_document,
    parse_endpoint,
    parse_object,
    read_callback,
    read_challenge,
    read_client,
    read_device_prompt,
    read_login_server,
)
from mcptest.transport import READABLE, wait_ready
from mcptest.transport.http.authorization import (
    MAX_DOCUMENT_BYTES,
    Authorization,
    Fetched,
    NoMetadataError,
    describe_problem,
    discover_authorization,
    fetch_error,
    fetch_token,
    read_token,
)
from mcptest.transport.http.client import HttpRequest
from mcptest.transport.http.probe import ProbeClient
from mcptest.transport.http.server import Limits, open_listener, serve_http
from mcptest.transport.http.stored_login import Login, LoginCredentials

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Generator, Iterable, Mapping
    from typing import Any, TypeVar

    from mcptest.protocol.http_messages import WebRequest
    from mcptest.protocol.oauth import DevicePrompt, LoginServer
    from mcptest.transport.http.authorization import Requests
    from mcptest.transport.process.signals import Interrupts

    Result = TypeVar("Result")
    # Yields requests and is sent their answers; yields pauses and is sent nothing.
    Steps = Generator["HttpRequest | Pause", "Fetched", Result]

__all__ = [
    "LoginRun",
    "LoginWish",
    "Pause",
    "Prepared",
    "open_page",
    "poll_device",
    "why_no_browser",
    "with_login_token",
]

# How long one request may take.
_REQUEST_S = 15.0

_JSON = (("Accept", "application/json"), ("Accept-Encoding", "identity"))

_UNAUTHORIZED = 401

# By one of these a program finds the screen, or the user names a browser.
_DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")


class LoginWish(Record):
    """What the user asks for. Without a client id, one is obtained from the authorization server.

    `metadata_url` is the URL of a document about the client, which serves as its id where the
    authorization server reads such documents.
    """

    url: str
    client_id: str = ""
    client_secret: str = ""
    metadata_url: str = ""
    issuer: str = ""
    scope: str = ""
    is_device: bool = False
    ca_file: str = ""


class Pause(Record):
    """Wait before the next request."""

    wait_s: float


class Prepared(Record):
    """What is known before the user approves."""

    server: LoginServer
    client: Client
    scope: str
    resource: str
    redirect_uri: str

    def blank_login(self, url: str) -> Login:
        """The login that a token completes."""
        return Login(
            url=url,
            resource=self.resource,
            issuer=self.server.issuer,
            token_endpoint=self.server.known.token_endpoint.url,
            client_id=self.client.id,
            client_secret=self.client.secret,
            auth_method=self.client.auth_method,
            scope=self.scope,
        )


# Steps


def _prepare_login(
    wish: LoginWish, challenge: Challenge | None, redirect_uri: str
) -> Requests[Prepared]:
    """Find the authorization server and be its client; `challenge` is None without a 401."""
    address = parse_url(wish.url)
    try:
        found = yield from discover_authorization(address, challenge or Challenge(), wish.issuer)
    except NoMetadataError as error:
        if challenge is None:
            hint = "it may need no login, or its documentation says how to log in"
            message = f"the server does not ask for a token, and {error.message}"
            raise OAuthError(message.replace("the server wants a token and", "it"), hint) from None
        if not error.is_of_older_server:
            raise OAuthError(error.message) from None
        # A server of revision 2025-03-26 is its own authorization server.
        document = assume_endpoints(address)
        endpoint = parse_endpoint(document["token_endpoint"], "the token endpoint", address)
        known = AuthorizationServer(
            issuer=address.origin, token_endpoint=endpoint, document=document
        )
        found = Authorization(issued_by=known)
    server = read_login_server(found.issued_by, address)
    asked = choose_scope(challenge or Challenge(), found.resource)
    scope = choose_login_scope(wish.scope, asked, server)
    client = yield from _choose_client(wish, server, scope, redirect_uri)
    LEARNED.add(*filter(None, [client.secret]))
    return Prepared(
        server=server,
        client=client,
        scope=scope,
        resource=found.resource.resource if found.resource else "",
        redirect_uri=redirect_uri,
    )


_NO_CLIENT = "have a client registered there by hand, and give its --client-id"


def _choose_client(
    wish: LoginWish, server: LoginServer, scope: str, redirect_uri: str
) -> Requests[Client]:
    if wish.client_id and not wish.client_secret:
        return Client(id=wish.client_id, auth_method=PUBLIC)
    if wish.client_id:
        listed = server.known.auth_methods
        method = next((each for each in (BASIC, POST) if listed is None or each in listed), BASIC)
        return Client(id=wish.client_id, secret=wish.client_secret, auth_method=method)
    if wish.metadata_url and server.reads_client_documents:
        return Client(id=wish.metadata_url)
    address = server.registration_endpoint
    if address is None:
        message = f"the authorization server {visible(server.issuer)} registers no clients"
        raise OAuthError(message, _NO_CLIENT)
    grant = DEVICE if wish.is_device else CODE
    asked = describe_client(redirect_uri, scope, server, grant)
    answer = yield HttpRequest(
        method="POST",
        address=address,
        headers=(*_JSON, ("Content-Type", "application/json")),
        body=dump_json(asked).encode("utf-8"),
        follows_redirects=False,
    )
    found = parse_object(answer.body)
    if found is not None:
        secrets = (found.get(key) for key in ("client_secret", "registration_access_token"))
        LEARNED.add(*(each for each in secrets if each and isinstance(each, str)))
    if answer.problem or answer.status not in (200, 201) or found is None:
        problem = describe_problem(found, answer.body, answer.status, "client_id")
        why = answer.problem or f"status {answer.status}, {problem}"
        message = f"the authorization server registers no client at {visible(address.url)}: {why}"
        raise OAuthError(message, _NO_CLIENT)
    return read_client(found)


# Devices

_SLOWER_S = 5.0
# How many polls in a row may get no answer.
_MAX_LOST = 2
_PENDING, _SLOW_DOWN = "authorization_pending", "slow_down"
_ENDS = {
    "access_denied": "the user did not approve the login",
    "expired_token": "the code was not entered in time",
}


def _ask_device_code(prepared: Prepared, wish: LoginWish) -> Requests[DevicePrompt]:
    address = prepared.server.device_endpoint
    if address is None:
        message = f"the authorization server {visible(prepared.server.issuer)} has no device grant"
        raise OAuthError(message, "log in without --device")
    login = prepared.blank_login(wish.url).but(token_endpoint=address.url)
    answer = yield login.make_token_request({"scope": prepared.scope})
    found = answer.problem or parse_document(answer.status, answer.body)
    if isinstance(found, str):
        problem = describe_problem(
            parse_object(answer.body), answer.body, answer.status, "device_code"
        )
        why = answer.problem or f"status {answer.status}, {problem}"
        raise OAuthError(f"no device code could be fetched at {visible(address.url)}: {why}")
    code = found.get("device_code")
    LEARNED.add(*([code] if code and isinstance(code, str) else []))
    return read_device_prompt(found, parse_url(wish.url))


def poll_device(
    prepared: Prepared, url: str, prompt: DevicePrompt, now: Callable[[], float]
) -> Steps[Login]:
    """Ask for the token until the user has approved or refused, or the code has expired."""
    form = {"grant_type": DEVICE, "device_code": prompt.device_code}
    interval_s, ends_at = prompt.interval_s, now() + prompt.lasts_s
    login, lost = prepared.blank_login(url), 0
    while now() + interval_s <= ends_at:
        yield Pause(wait_s=interval_s)
        request = login.make_token_request(form)
        answer = yield request
        lost = lost + 1 if answer.problem else 0
        said = str((parse_object(answer.body) or {}).get("error"))
        # The user may be approving it meanwhile; RFC 8628 says to ask again, less often.
        if said == _SLOW_DOWN or 0 < lost <= _MAX_LOST:
            interval_s += _SLOWER_S
        elif said in _ENDS:
            raise OAuthError(_ENDS[said], "log in again")
        elif said != _PENDING:
            found = answer.problem or read_token(answer.status, answer.body)
            if isinstance(found, str):
                raise fetch_error(request, found, "log in again")
            return login.with_token(found)
    raise OAuthError(_ENDS["expired_token"], "log in again")


# Driving the steps


class _Driver:
    """Does what steps ask for, until a deadline."""

    def __init__(self, http: HttpSpec, interrupts: Interrupts, deadline: float) -> None:
        self.client = ProbeClient(http, interrupts)
        self._interrupts = interrupts
        self._deadline = deadline

    def until(self) -> float:
        return min(self._deadline, time.monotonic() + _REQUEST_S)

    def drive(self, steps: Steps[Result] | Requests[Result]) -> Result:
        try:
            step = next(steps)
            while True:
                step = steps.send(
                    self._fetch(step) if isinstance(step, HttpRequest) else self._rest(step)
                )
        except StopIteration as end:
            found: Result = end.value
            return found

    def _fetch(self, request: HttpRequest) -> Fetched:
        wait_s = max(0.0, self.until() - time.monotonic())
        reply = self.client.request(
            request.method, request.headers, request.body, timeout_s=wait_s, address=request.address
        )
        problem = reply.error
        if len(reply.body) > MAX_DOCUMENT_BYTES:
            problem = f"the answer is larger than {MAX_DOCUMENT_BYTES:,} bytes"
        return Fetched(status=reply.status, body=reply.body, problem=problem)

    def _rest(self, pause: Pause) -> Fetched:
        ends_at = time.monotonic() + pause.wait_s
        if ends_at > self._deadline:
            raise _too_late()
        while (left_s := ends_at - time.monotonic()) > 0:
            wait_ready({self._interrupts.fd: READABLE}, left_s)
            if self._interrupts.count:
                raise InterruptedRunError
        return Fetched()


def _too_late() -> OAuthError:
    return OAuthError("the login was not approved in time", "--timeout sets how long to wait")


def with_login_token(http: HttpSpec, interrupts: Interrupts) -> HttpSpec:
    """The server with the token of its login as a header; a ServerError if there is none."""
    credentials = LoginCredentials(http, parse_url(http.url), interrupts)
    driver = _Driver(http, interrupts, time.monotonic() + _REQUEST_S)
    try:
        driver.drive(credentials.obtain())
    except OAuthError as error:
        fault = Fault(kind="auth_failed", message=error.message, hint=error.hint)
        raise ServerError(fault) from None
    return http.but(headers=credentials.headers(), uses_login=False)


class LoginRun:
    """One login, from the first request to the tokens. `say` shows the user what to do."""

    def __init__(
        self, wish: LoginWish, interrupts: Interrupts, deadline: float, say: Callable[[str], None]
    ) -> None:
        self._wish = wish
        self._interrupts = interrupts
        self._deadline = deadline
        self._say = say
        self._address = parse_url(wish.url)
        http = HttpSpec(url=wish.url, ca_file=wish.ca_file)
        self._driver = _Driver(http, interrupts, deadline)

    def by_browser(self, port: int, show: Callable[[str], None]) -> Login:
        """Log in with a browser; `show` opens a URL for the user."""
        with open_listener(port) as listener:
            place = f"http://127.0.0.1:{listener.getsockname()[1]}{CALLBACK_PATH}"
            prepared = self._driver.drive(_prepare_login(self._wish, self._ask_server(), place))
            verifier, state = _random_text(), _random_text()
            LEARNED.add(verifier)
            query = {
                "client_id": prepared.client.id,
                "redirect_uri": place,
                "code_challenge": build_code_challenge(verifier),
                "state": state,
                "scope": prepared.scope,
                "resource": prepared.resource,
            }
            page = build_authorization_url(prepared.server, query)
            self._say(f"The server names the authorization server {prepared.server.issuer}")
            show(page)
            answered = self._wait_for_callback(listener)
        code = read_callback(answered, state, prepared.server)
        LEARNED.add(code)
        form = {
            "grant_type": CODE,
            "code": code,
            "redirect_uri": place,
            "code_verifier": verifier,
        }
        login = prepared.blank_login(self._wish.url)
        request = login.make_token_request(form)
        return login.with_token(self._driver.drive(fetch_token(request, "log in again")))

    def by_device(self) -> Login:
        """Log in with a code that the user enters on any device."""
        prepared = self._driver.drive(_prepare_login(self._wish, self._ask_server(), ""))
        prompt = self._driver.drive(_ask_device_code(prepared, self._wish))
        self._say(f"The server names the authorization server {prepared.server.issuer}")
        self._say(f"Open {prompt.url} on any device and enter the code {prompt.user_code}")
        if prompt.complete_url:
            self._say(f"or open {prompt.complete_url} and compare the code.")
        return self._driver.drive(poll_device(prepared, self._wish.url, prompt, time.monotonic))

    def _ask_server(self) -> Challenge | None:
        """The challenge of the server; None if it answers without a token."""
        body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
        headers = [
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
            ("Accept-Encoding", "identity"),
        ]
        probe = self._driver.client.start("POST", headers, body)
        try:
            has_head = probe.read_head(self._driver.until())
            reply = probe.reply
        finally:
            probe.close()
        if not has_head:
            raise OAuthError(
                f"the server {visible(self._address.url)} cannot be reached: {reply.error}"
            )
        if reply.status != _UNAUTHORIZED:
            return None
        return read_challenge(reply.header("www-authenticate"))

    def _wait_for_callback(self, listener: socket.socket) -> str:
        """The query of the request that the browser sends here in the end."""
        handler = _Callback()
        limits = Limits(connections=16, body_bytes=1024, request_s=10.0, idle_s=10.0, write_s=5.0)
        serve_http(
            listener,
            self._interrupts,
            handler,
            limits,
            deadline=self._deadline,
            is_done=lambda: handler.query is not None,
        )
        if self._interrupts.count:
            raise InterruptedRunError
        if handler.query is None:
            raise _too_late()
        return handler.query


def _random_text() -> str:
    """A text of 256 random bits that fits into a URL."""
    return base64.urlsafe_b64encode(os.urandom(32)).decode("ascii").rstrip("=")


# Shown in the browser. Nothing of the request is repeated in it.
_PAGE = (
    b"<!doctype html><html lang=en><meta charset=utf-8><title>mcptest login</title>"
    b"<p>mcptest has the answer. You can close this window and go back to the terminal."
)
_PAGE_HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'",
    "Referrer-Policy": "no-referrer",
    "Connection": "close",
}


class _Callback:
    """Answers the browser, and keeps the query of the first callback."""

    def __init__(self) -> None:
        self.query: str | None = None

    def check_head(self, exchange: int, request: WebRequest, port: int) -> Answer | None:
        path = request.target.partition("?")[0]
        # The host that another page can give this address differs.
        is_ours = request.values("host") == (f"127.0.0.1:{port}",)
        if path != CALLBACK_PATH or not is_ours:
            return Answer(exchange=exchange, status=404, headers={"Connection": "close"})
        if request.method != "GET":
            return Answer(
                exchange=exchange, status=405, headers={"Connection": "close", "Allow": "GET"}
            )
        return None

    def handle(self, exchange: int, request: WebRequest, now: float) -> Iterable[tuple[float, Any]]:
        if self.query is None:
            self.query = request.target.partition("?")[2]
        yield 0.0, Answer(exchange=exchange, status=200, headers=_PAGE_HEADERS, body=_PAGE)

    def perform(self, item: Any) -> Iterable[Answer]:
        return [item]

    def close_exchange(self, exchange: int) -> None:
        """Nothing is kept of an exchange."""


def why_no_browser(environment: Mapping[str, str], *, has_terminal: bool) -> str:
    """Why no browser may be opened here; "" if one may."""
    if name := ci_variable(environment):
        return f"this is CI ({name} is set)"
    if not has_terminal:
        return "standard error is not a terminal, so a person may not be there"
    is_plain_unix = sys.platform not in ("win32", "darwin")
    if is_plain_unix and not any(map(environment.get, _DISPLAYS)):
        return f"there is no screen ({', '.join(_DISPLAYS)} are not set)"
    return ""


def open_page(url: str, report: Callable[[], None]) -> None:
    """Open a page, without waiting for the browser; `report` is called if there is none."""
    address = parse_url(url)
    assert address.scheme == "https" or address.is_loopback, "only such pages are opened"

    # Only for those who log in with a browser.
    import threading  # noqa: PLC0415
    import webbrowser  # noqa: PLC0415

    def work() -> None:
        # Some browsers run until the user closes them.
        if not webbrowser.open(url):
            report()

    threading.Thread(target=work, daemon=True).start()
