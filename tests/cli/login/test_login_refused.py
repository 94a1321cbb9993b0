"""Authorization servers and callbacks that a login must not believe."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import processes
import pytest
from authorization_server import ISSUER_PATH, RESOURCE_PATH, page
from console import ENVIRONMENT, PATIENCE_S
from login_server import LoginServers
from logins import assert_refused, data_of, log_in, store_of, use, visit
from raw_http import RawHttp, as_json, good, refusal

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def tokens_requested(servers: LoginServers) -> int:
    return servers.asked_issuer.count("POST /token")


# Callbacks


@pytest.mark.parametrize(
    ("callback", "message"),
    [
        ({"state": "x" * 43}, "another state than the request"),
        ({"state": None}, "another state than the request"),
        ({"iss": "https://evil.example"}, 'is from "https://evil.example", and not from'),
        ({"iss": None}, "has no iss, which the authorization server promises"),
        ({"code": None}, "the answer to the login has no code"),
        ({"code": ""}, "the answer to the login has no code"),
        (
            {"code": None, "error": "access_denied", "error_description": "you \x1b[31mrefused"},
            'refused the login: "access_denied": "you \\u001b[31mrefused"',
        ),
        # It must also be the right side that refuses.
        ({"error": "access_denied", "state": "x"}, "another state than the request"),
    ],
)
def test_a_callback_that_is_not_the_answer_is_refused(
    callback: dict[str, str | None], message: str, tmp_path: Path
) -> None:
    with LoginServers() as servers:
        servers.callback = callback
        ended = log_in(tmp_path, servers.url)
    assert_refused(ended, message)
    assert tokens_requested(servers) == 0
    assert not store_of(tmp_path).exists()


@pytest.mark.parametrize("issuer", ["slash", "capitals"])
def test_issuers_are_compared_character_by_character(issuer: str, tmp_path: Path) -> None:
    with LoginServers() as servers:
        changed = {"slash": f"{servers.issuer}/", "capitals": servers.issuer.upper()}
        # Also where the authorization server does not promise to send it.
        del servers.metadata["authorization_response_iss_parameter_supported"]
        servers.callback = {"iss": changed[issuer]}
        ended = log_in(tmp_path, servers.url)
    assert_refused(ended, "the answer to the login is from")
    assert tokens_requested(servers) == 0


def test_a_repeated_parameter_is_refused(tmp_path: Path) -> None:
    with LoginServers() as servers:

        def twice(asked: Any, line: Any) -> None:
            query = parse_qs(urlsplit(asked.target).query)
            place, state = query["redirect_uri"][0], query["state"][0]
            goal = f"{place}?code=one&code=two&state={state}&iss={servers.issuer}"
            line.send(refusal("302 Found", Location=goal))

        with RawHttp(twice) as other:
            place = f"http://127.0.0.1:{other.port}/authorize"
            servers.metadata["authorization_endpoint"] = place
            ended = log_in(tmp_path, servers.url)
    assert_refused(ended, "names a parameter twice")
    assert tokens_requested(servers) == 0


class Waiting:
    """A login that waits for its callback, and where."""

    def __init__(self, folder: Path, url: str, *words: str) -> None:
        self.process = processes.start(
            [sys.executable, "-m", "mcptest", "login", url, "--no-browser", *words],
            cwd=folder,
            env=ENVIRONMENT | data_of(folder),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert self.process.stderr
        for _ in range(2):
            self.process.stderr.readline()
        self.page = self.process.stderr.readline().decode().strip()
        self.query = {key: value[0] for key, value in parse_qs(urlsplit(self.page).query).items()}
        self.callback = self.query["redirect_uri"]

    def end(self) -> tuple[int, str]:
        out, err = self.process.communicate(timeout=PATIENCE_S)
        assert out == b""
        return self.process.returncode, err.decode()


def test_only_the_callback_is_served_and_nothing_is_repeated_in_it(tmp_path: Path) -> None:
    with LoginServers() as servers:
        waiting = Waiting(tmp_path, servers.url)
        host = urlsplit(waiting.callback).netloc
        assert visit(f"http://{host}/favicon.ico") == 404
        # Another name for this machine is how a page elsewhere would get here.
        assert visit(waiting.callback.replace("127.0.0.1", "localhost")) == 404
        assert visit(waiting.page) == 200
        out, err = waiting.process.communicate(timeout=PATIENCE_S)
    assert waiting.process.returncode == 0, err
    assert b"Logged in" in out


def test_a_login_that_is_never_approved_times_out(tmp_path: Path) -> None:
    with LoginServers() as servers:
        waiting = Waiting(tmp_path, servers.url, "--timeout", "300ms")
        code, err = waiting.end()
    assert code == 3
    assert "the login was not approved in time" in err
    assert "--timeout" in err


def test_ctrl_c_ends_the_wait(tmp_path: Path) -> None:
    with LoginServers() as servers:
        waiting = Waiting(tmp_path, servers.url)
        os.kill(waiting.process.pid, signal.SIGINT)
        code, err = waiting.end()
    assert code == 130
    assert err == "error: interrupted; you are not logged in\n"


# Metadata


def with_metadata(**changes: Any) -> Callable[[LoginServers], None]:
    def change(servers: LoginServers) -> None:
        servers.metadata |= changes

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (with_metadata(issuer="https://evil.example"), "the two must be identical"),
        (
            with_metadata(code_challenge_methods_supported=None),
            "code_challenge_methods_supported does not have S256: null",
        ),
        (
            with_metadata(code_challenge_methods_supported=["plain"]),
            'code_challenge_methods_supported does not have S256: ["plain"]',
        ),
        (with_metadata(token_endpoint="http://shop.example/token"), "does not begin with https://"),
        (
            with_metadata(registration_endpoint="http://shop.example/register"),
            "does not begin with https://",
        ),
        *(
            (with_metadata(authorization_endpoint=url), "authorization_endpoint in the metadata")
            for url in (
                "javascript:alert(1)",
                "file:///etc/passwd",
                "http://shop.example/authorize",
                "https://user:password@shop.example/",
                "https://shop.example/\nx",
                "--profile",
                7,
            )
        ),
        (with_metadata(authorization_endpoint=None), "no authorization_endpoint"),
        (with_metadata(scopes_supported=["\ud800"]), "the body is not a JSON object"),
        (
            with_metadata(token_endpoint_auth_methods_supported=["private_key_jwt"]),
            "takes none of none, client_secret_basic, client_secret_post",
        ),
    ],
)
def test_metadata_that_cannot_be_right_is_refused(
    change: Callable[[LoginServers], None], message: str, tmp_path: Path
) -> None:
    with LoginServers() as servers:
        change(servers)
        ended = log_in(tmp_path, servers.url)
    assert_refused(ended, message)
    assert servers.authorizations == []
    assert tokens_requested(servers) == 0


def test_characters_a_shell_would_interpret_are_encoded(tmp_path: Path) -> None:
    with LoginServers() as servers:
        place = f'{servers.issuer}/authorize?tenant=a&x="`$(true)`|<>^\\{{'
        servers.metadata["authorization_endpoint"] = place
        ended = log_in(tmp_path, servers.url, "--timeout", "300ms")
    [page] = [line for line in ended.err.splitlines() if line.startswith("  http")]
    assert not set(page) & set('"`|<>^\\{')


def test_servers_cannot_make_the_page_endless(tmp_path: Path) -> None:
    with LoginServers(scope=" ".join(f"s{number}" for number in range(3000))) as servers:
        ended = log_in(tmp_path, servers.url)
    assert_refused(ended, "the page to log in has a URL of")
    assert servers.authorizations == []


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        (ISSUER_PATH, b" " * 300_000, "the answer is larger than 262,144 bytes"),
        (ISSUER_PATH, b"[" * 50_000, "the body is not a JSON object"),
        (RESOURCE_PATH, b"{" * 300_000, "the answer is larger than 262,144 bytes"),
    ],
)
def test_unusable_documents_are_refused(
    path: str, body: bytes, message: str, tmp_path: Path
) -> None:
    with LoginServers() as servers:
        servers.pages[path] = page(body)
        ended = log_in(tmp_path, servers.url)
    assert_refused(ended, message)


@pytest.mark.parametrize("path", [ISSUER_PATH, RESOURCE_PATH, "/register", "/token"])
def test_redirects_are_not_followed(path: str, tmp_path: Path) -> None:
    with LoginServers() as servers, RawHttp(lambda _, line: line.send(as_json({}))) as other:
        goal = f"http://127.0.0.1:{other.port}/"
        servers.pages[path] = page(b"", "307 Temporary Redirect", Location=goal)
        ended = log_in(tmp_path, servers.url)
        assert_refused(ended, "redirects are not followed")
        assert other.asked == []


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({}, "the registration gave the client id null"),
        ({"client_id": "a\r\nb"}, "which cannot be used"),
        ({"client_id": "a", "token_endpoint_auth_method": "private_key_jwt"}, "private_key_jwt"),
        (
            {"client_id": "a", "token_endpoint_auth_method": "client_secret_post"},
            "without a client secret",
        ),
    ],
)
def test_an_unusable_registration_is_refused(
    answer: dict[str, str], message: str, tmp_path: Path
) -> None:
    with LoginServers() as servers:
        servers.pages["/register"] = page(answer, "201 Created")
        ended = log_in(tmp_path, servers.url)
    assert_refused(ended, message)
    assert servers.authorizations == []


def test_a_registration_that_is_refused_is_quoted(tmp_path: Path) -> None:
    with LoginServers() as servers:
        said = {"error": "access_denied", "error_description": "ask the \x1b[2Jadmin"}
        servers.pages["/register"] = page(said, "403 Forbidden")
        ended = log_in(tmp_path, servers.url)
    assert_refused(ended, "registers no client at", '"ask the \\u001b[2Jadmin"', "--client-id")


@pytest.mark.parametrize(
    "token",
    [
        {"access_token": "", "token_type": "Bearer"},
        {"access_token": "canary\r\nx: y", "token_type": "Bearer"},
        {"access_token": "canary-access", "token_type": "DPoP"},
        {"access_token": 7},
        # A lone surrogate can be neither sent nor stored.
        {"access_token": "canary-access", "refresh_token": "\ud800"},
        {"access_token": "canary-access", "scope": "\ud800"},
        [],
    ],
)
def test_an_unusable_token_is_refused(token: Any, tmp_path: Path) -> None:
    with LoginServers() as servers:
        servers.pages["/token"] = page(token)
        ended = log_in(tmp_path, servers.url)
    assert_refused(ended, "no token could be fetched at")
    assert not store_of(tmp_path).exists()


@pytest.mark.parametrize(
    "prompt",
    [
        {"verification_uri": "javascript:alert(1)"},
        {"verification_uri": "http://shop.example/"},
        {"verification_uri_complete": "file:///x"},
        {"user_code": "\x1b[2J"},
        {"user_code": "x" * 200},
        {"device_code": ""},
    ],
)
def test_a_device_prompt_that_cannot_be_shown_is_refused(
    prompt: dict[str, str], tmp_path: Path
) -> None:
    with LoginServers() as servers:
        servers.device |= prompt
        ended = use(tmp_path, "login", servers.url, "--device")
    assert_refused(ended, "in the answer to the request for a device code, ")
    assert tokens_requested(servers) == 0


@pytest.mark.parametrize("error", [["slow_down"], {}, 7])
def test_an_error_that_is_not_a_string_does_not_mean_pending(error: Any, tmp_path: Path) -> None:
    with LoginServers() as servers:
        servers.pages["/token"] = page({"error": error}, "400 Bad Request")
        ended = use(tmp_path, "login", servers.url, "--device")
    assert_refused(ended, 'status 400, and no "access_token" in the body')


def test_an_authorization_server_without_devices_is_explained(tmp_path: Path) -> None:
    with LoginServers() as servers:
        del servers.metadata["device_authorization_endpoint"]
        ended = use(tmp_path, "login", servers.url, "--device")
    assert_refused(ended, "has no device grant", "without --device")


def test_a_server_that_asks_for_no_token_is_explained(tmp_path: Path) -> None:
    with RawHttp(good) as server:
        ended = log_in(tmp_path, server.url)
    assert_refused(ended, "the server does not ask for a token, and it has no metadata")


def test_a_server_of_another_resource_is_refused(tmp_path: Path) -> None:
    with LoginServers() as servers:
        servers.resource["resource"] = "https://bank.example/"
        ended = log_in(tmp_path, servers.url)
    assert_refused(ended, 'resource is "https://bank.example/", which is not')
    assert servers.asked_issuer == []
