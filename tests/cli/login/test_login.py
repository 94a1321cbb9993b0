"""`mcptest login`: what is requested of an authorization server that is strict about it."""

from __future__ import annotations

import json
import os
import stat
from typing import TYPE_CHECKING

import pytest
from login_server import ACCESS, DEVICE_CODE, REFRESH, SECRET, USER_CODE, LoginServers
from logins import assert_logged_in, assert_refused, log_in, store_of, use

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("method", ["none", "client_secret_basic", "client_secret_post"])
def test_a_login_registers_a_client_and_fetches_tokens(method: str, tmp_path: Path) -> None:
    with LoginServers(method, scope="shop:read") as servers:
        ended = log_in(tmp_path, servers.url)
    assert_logged_in(ended, servers)
    [query] = servers.authorizations
    assert query["scope"] == "shop:read"
    stored = json.loads(store_of(tmp_path).read_text(encoding="utf-8"))["logins"][servers.url]
    expected = {
        "resource": servers.url,
        "issuer": servers.issuer,
        "token_endpoint": f"{servers.issuer}/token",
        "client_id": "registered 1",
        "auth_method": method,
        "scope": "shop:read",
        "access_token": f"{ACCESS}-0",
        "refresh_token": f"{REFRESH}-0",
        "expires_at": stored["expires_at"],
        "keyring": False,
    }
    assert stored == expected | ({} if method == "none" else {"client_secret": SECRET})
    assert stat.S_IMODE(os.stat(store_of(tmp_path)).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(store_of(tmp_path).parent).st_mode) == 0o700


def test_every_login_has_its_own_state_and_challenge(tmp_path: Path) -> None:
    with LoginServers() as servers:
        for _ in range(2):
            assert_logged_in(log_in(tmp_path, servers.url), servers)
    one, other = servers.authorizations
    for key in ("state", "code_challenge", "redirect_uri"):
        assert one[key] != other[key]


@pytest.mark.parametrize(("method", "more"), [("none", ()), ("client_secret_post", (SECRET,))])
def test_a_client_of_the_user_is_not_registered(
    method: str, more: tuple[str, ...], tmp_path: Path
) -> None:
    words = ("--client-secret-env", "SHOP_SECRET") if more else ()
    with LoginServers(method) as servers:
        ended = log_in(
            tmp_path, servers.url, "--client-id", "by-hand", *words, SHOP_SECRET="".join(more)
        )
    assert_logged_in(ended, servers)
    assert servers.registrations == []
    assert servers.authorizations[0]["client_id"] == "by-hand"


def test_a_document_about_the_client_is_its_id_where_it_is_read(tmp_path: Path) -> None:
    document = "https://tools.example/mcptest.json"
    with LoginServers() as servers:
        servers.clients[document] = []
        servers.metadata["client_id_metadata_document_supported"] = True
        ended = log_in(tmp_path, servers.url, "--client-metadata-url", document)
        assert_logged_in(ended, servers)
        assert servers.registrations == []
        assert servers.authorizations[0]["client_id"] == document
        # Elsewhere the client is registered.
        servers.metadata["client_id_metadata_document_supported"] = False
        ended = log_in(tmp_path, servers.url, "--client-metadata-url", document)
    assert_logged_in(ended, servers)
    assert len(servers.registrations) == 1


def test_without_a_way_to_be_a_client_the_option_is_named(tmp_path: Path) -> None:
    with LoginServers() as servers:
        del servers.metadata["registration_endpoint"]
        ended = log_in(tmp_path, servers.url)
    assert_refused(ended, "registers no clients", "--client-id")


@pytest.mark.parametrize(
    ("words", "listed", "requested"),
    [
        (("--scope", "a b"), ["offline_access"], "a b"),
        ((), ["offline_access"], "shop:read offline_access"),
        ((), ["other"], "shop:read"),
    ],
)
def test_scopes_are_the_users_or_those_of_the_server(
    words: tuple[str, ...], listed: list[str], requested: str, tmp_path: Path
) -> None:
    with LoginServers(scope="shop:read") as servers:
        servers.metadata["scopes_supported"] = listed
        assert_logged_in(log_in(tmp_path, servers.url, *words), servers)
    assert servers.authorizations[0]["scope"] == requested
    assert servers.registrations[0]["scope"] == requested


def test_a_server_without_a_challenge_has_metadata_at_the_usual_place(tmp_path: Path) -> None:
    with LoginServers() as servers:
        servers.challenge = None
        servers.resource["scopes_supported"] = ["all"]
        assert_logged_in(log_in(tmp_path, servers.url), servers)
    assert servers.authorizations[0]["scope"] == "all"


def test_a_device_code_is_entered_elsewhere(tmp_path: Path) -> None:
    with LoginServers() as servers:
        servers.device_answers = ["authorization_pending", "authorization_pending"]
        ended = use(tmp_path, "login", servers.url, "--device")
    assert_logged_in(ended, servers)
    assert f"Open {servers.issuer}/enter on any device and enter the code {USER_CODE}" in ended.err
    assert [form.get("device_code") for form in servers.requests] == [None, *[DEVICE_CODE] * 3]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("access_denied", "the user did not approve the login"),
        ("expired_token", "the code was not entered in time"),
        ("invalid_grant", '"invalid_grant"'),
    ],
)
def test_a_device_that_is_not_approved_is_explained(
    answer: str, message: str, tmp_path: Path
) -> None:
    with LoginServers() as servers:
        servers.device_answers = ["authorization_pending", answer]
        ended = use(tmp_path, "login", servers.url, "--device")
    assert_refused(ended, message, "log in again")
    assert not store_of(tmp_path).exists()


def test_a_device_code_ends_by_itself(tmp_path: Path) -> None:
    with LoginServers() as servers:
        servers.device |= {"expires_in": 0.05}
        servers.device_answers = ["authorization_pending"] * 100
        ended = use(tmp_path, "login", servers.url, "--device")
    assert_refused(ended, "the code was not entered in time")


def test_times_without_end_are_cut(tmp_path: Path) -> None:
    with LoginServers() as servers:
        servers.device |= {"expires_in": 10**400}
        assert_logged_in(use(tmp_path, "login", servers.url, "--device"), servers)
        servers.device |= {"interval": 10**400}
        ended = use(tmp_path, "login", servers.url, "--device", "--timeout", "1s")
    assert_refused(ended, "the login was not approved in time")


def test_logins_are_listed_without_tokens_and_removed(tmp_path: Path) -> None:
    with LoginServers(scope="a") as servers:
        assert use(tmp_path, "login", "--list").out == "There are no logins.\n"
        log_in(tmp_path, servers.url)
    listed = use(tmp_path, "login", "--list")
    assert listed == (
        0,
        f"{servers.url}\n  issuer   {servers.issuer}\n  client   registered 1\n  scope    a\n"
        "  token    expires in 59 min, and is then renewed\n",
        "",
    )
    path = store_of(tmp_path)
    document = json.loads(path.read_text(encoding="utf-8"))
    document["logins"][servers.url]["expires_at"] = 1.0
    path.write_text(json.dumps(document), encoding="utf-8")
    listed = use(tmp_path, "login", "--list")
    assert "  token    has expired, and is renewed when it is used\n" in listed.out
    out = use(tmp_path, "logout", servers.url)
    assert out == (0, f"Logged out of {servers.url}: its tokens are removed.\n", "")
    assert use(tmp_path, "login", "--list").out == "There are no logins.\n"
    again = use(tmp_path, "logout", servers.url)
    assert (again.code, again.out) == (2, "")
    assert f"there is no login for {servers.url}" in again.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "takes one URL of a server"),
        (("ftp://x/",), "it must begin with http:// or https://"),
        (("http://shop.example/mcp",), "tokens are sent over https only"),
        (("https://a/", "--client-secret-env", "X"), "needs --client-id"),
        (("https://a/", "--client-id", "x", "--client-secret-env", "NONE"), "'NONE', which is not"),
        (("https://a/", "--device", "--no-browser"), "exclude each other"),
        (("https://a/", "--device", "--callback-port", "1"), "exclude each other"),
        (("https://a/", "--no-browser", "--callback-port", "70000"), "number from 0 to 65,535"),
        (("https://a/", "--issuer", "http://b.example/"), "--issuer must begin with https://"),
        (("https://a/", "--client-metadata-url", "x"), "--client-metadata-url is not a URL"),
        (("https://a/", "--client-id", ""), "the value of --client-id is empty"),
        (("https://a/", "--scope", " "), "the value of --scope is empty"),
        (("https://a/", "--timeout", "soon"), "--timeout must be a number of seconds"),
        (("https://a/", "--list"), "--list takes nothing else"),
        (("--device", "--list"), "--list takes nothing else"),
    ],
)
def test_options_that_do_not_fit_are_a_usage_error(
    words: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    ended = use(tmp_path, "login", *words)
    assert (ended.code, ended.out) == (2, "")
    assert message in ended.err
