"""Tokens by OAuth: where they are fetched, what is sent for them, and what is not trusted."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from authorization_server import (
    CLIENT_ID,
    CLIENT_SECRET,
    ISSUER_PATH,
    RESOURCE_PATH,
    TOKEN,
    Guarded,
    page,
)
from console import mcptest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from raw_http import RawHttp, holds_after, refusal, says

if TYPE_CHECKING:
    from pathlib import Path

    from console import Ended
    from raw_http import Script

SUITE = {"tools": [{"name": "echoes", "tool": "echo", "args": {"text": "hi"}}]}


def call(folder: Path, guarded: Guarded, grant: dict[str, Any] | None = None, **more: Any) -> Ended:
    """Call a tool of the server with a config."""
    given = {"clientId": CLIENT_ID, "clientSecretEnv": "CLIENT_SECRET", **(grant or {})}
    given = {key: value for key, value in given.items() if value is not None}
    config = {"name": "shop", "url": guarded.url, "auth": {"clientCredentials": given}, **more}
    (folder / "conductor.config.json").write_text(json.dumps(config), encoding="utf-8")
    words = ("call", "echo", "text=hi", "--config", "conductor.config.json")
    environment = {"CLIENT_SECRET": CLIENT_SECRET, **KEYS}
    return mcptest(folder, *words, **environment)


def assert_called(ended: Ended) -> None:
    assert (ended.code, ended.err) == (0, "")
    assert "hi" in ended.out


def assert_refused(ended: Ended, *message: str) -> None:
    """No session could be opened, the reason is given, and no credential is."""
    assert ended.code == 3, ended.err
    assert "auth_failed" in ended.err
    for text in message:
        assert text in ended.err
    assert_hidden(ended)


def assert_hidden(ended: Ended) -> None:
    for secret in (CLIENT_SECRET, TOKEN, "PRIVATE KEY"):
        assert secret not in ended.out + ended.err


def pem_of(key: Any) -> tuple[str, str]:
    """A private key and its public key."""
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return private.decode(), public.decode()


PAIRS = {
    "ES256": pem_of(ec.generate_private_key(ec.SECP256R1())),
    "ES384": pem_of(ec.generate_private_key(ec.SECP384R1())),
    "EdDSA": pem_of(ed25519.Ed25519PrivateKey.generate()),
    "RS256": pem_of(rsa.generate_private_key(65537, 2048)),
}
PAIRS["PS256"] = PAIRS["RS256"]
KEYS = {f"KEY_{name}": private for name, (private, _) in PAIRS.items()}
KEYS["KEY_NONE"] = "-----BEGIN nothing-----"


# What is sent


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
def test_a_server_that_wants_a_token_says_where_to_get_it(method: str, tmp_path: Path) -> None:
    with Guarded(method) as guarded:
        assert_called(call(tmp_path, guarded))
    assert guarded.refusals == []
    assert guarded.asked == [RESOURCE_PATH]
    assert guarded.asked_issuer == [f"GET {ISSUER_PATH}", "POST /token"]
    # The first message asks whether a token is needed.
    assert guarded.given[0] == ""
    assert set(guarded.given[2:]) == {f"Bearer {TOKEN}-0"}
    assert guarded.requests[0]["resource"] == guarded.url
    assert "scope" not in guarded.requests[0]


@pytest.mark.parametrize("algorithm", list(PAIRS))
def test_a_client_with_a_private_key_signs(algorithm: str, tmp_path: Path) -> None:
    with Guarded("private_key_jwt", public_key=PAIRS[algorithm][1]) as guarded:
        guarded.metadata["token_endpoint_auth_signing_alg_values_supported"] = [algorithm]
        grant = {"clientSecretEnv": None, "privateKeyEnv": f"KEY_{algorithm}"}
        assert_called(call(tmp_path, guarded, grant))
    assert guarded.refusals == []


def test_a_key_that_cannot_be_read_is_explained(tmp_path: Path) -> None:
    with Guarded("private_key_jwt") as guarded:
        grant = {"clientSecretEnv": None, "privateKeyEnv": "KEY_NONE"}
        ended = call(tmp_path, guarded, grant)
    assert_refused(ended, "the private key is not a PEM of an unencrypted private key", "KeyEnv")


def test_a_key_that_fits_no_signature_of_the_issuer_is_explained(tmp_path: Path) -> None:
    with Guarded("private_key_jwt") as guarded:
        guarded.metadata["token_endpoint_auth_signing_alg_values_supported"] = ["ES384"]
        grant = {"clientSecretEnv": None, "privateKeyEnv": "KEY_ES256"}
        ended = call(tmp_path, guarded, grant)
    assert_refused(ended, "fits none of the signatures that are taken: ES384")


def test_without_the_library_for_signatures_the_extra_is_named(tmp_path: Path) -> None:
    (tmp_path / "jwt.py").write_text("raise ImportError\n", encoding="utf-8")
    with Guarded("private_key_jwt") as guarded:
        given = {"clientId": CLIENT_ID, "privateKeyEnv": "KEY_ES256"}
        config = {"name": "s", "url": guarded.url, "auth": {"clientCredentials": given}}
        (tmp_path / "conductor.config.json").write_text(json.dumps(config), encoding="utf-8")
        words = ("call", "echo", "text=hi", "--config", "conductor.config.json")
        ended = mcptest(tmp_path, *words, **KEYS, PYTHONPATH=str(tmp_path))
    assert_refused(ended, "PyJWT is missing", "pip install 'PyJWT[crypto]'")


def test_a_suite_has_the_same_and_reports_hide_it(tmp_path: Path) -> None:
    with Guarded(scope="shop:read") as guarded:
        grant = {
            "client_id": CLIENT_ID,
            "client_secret_env": "CLIENT_SECRET",
            "issuer": guarded.issuer,
            "token_endpoint_auth_method": "client_secret_basic",
            "scope": "shop:all",
            "resource": guarded.url,
        }
        server = {"url": guarded.url, "auth": {"client_credentials": grant}}
        suite = {"servers": {"shop": server}, **SUITE}
        (tmp_path / "mcptest.yaml").write_text(json.dumps(suite), encoding="utf-8")
        words = ("run", "--verbose", "--capture", "capture.json", "--reporter", "json=report.json")
        ended = mcptest(tmp_path, *words, CLIENT_SECRET=CLIENT_SECRET)
    assert ended.code == 0, ended.out
    assert_hidden(ended)
    for name in ("capture.json", "report.json"):
        assert TOKEN not in (tmp_path / name).read_text(encoding="utf-8")
    assert guarded.requests[0]["scope"] == "shop:all"


# Which scopes are requested


def test_scopes_of_the_challenge_have_precedence_over_those_of_the_metadata(tmp_path: Path) -> None:
    with Guarded(scope="a b") as guarded:
        guarded.resource["scopes_supported"] = ["a", "b", "c"]
        assert_called(call(tmp_path, guarded))
    assert guarded.requests[0]["scope"] == "a b"


def test_scopes_of_the_metadata_are_requested_without_others(tmp_path: Path) -> None:
    with Guarded() as guarded:
        guarded.resource["scopes_supported"] = ["a", "b"]
        assert_called(call(tmp_path, guarded))
    assert guarded.requests[0]["scope"] == "a b"


def test_scopes_that_are_missing_are_added_once(tmp_path: Path) -> None:
    with Guarded(scope="list") as guarded:
        guarded.scopes["tools/call"] = "call"
        assert_called(call(tmp_path, guarded))
    assert [request["scope"] for request in guarded.requests] == ["list", "list call"]


def test_scopes_that_are_never_enough_are_reported(tmp_path: Path) -> None:
    with Guarded(scope="list") as guarded:
        guarded.scopes["tools/call"] = "call"
        guarded.tokens = _WithoutScopes()
        ended = call(tmp_path, guarded)
    assert ended.code == 1
    assert "status 403" in ended.err
    assert 'scope="call"' in ended.err
    assert f"a token of {guarded.issuer} for the resource {guarded.url}" in ended.err
    assert len(guarded.requests) == 2


class _WithoutScopes(dict[str, set[str]]):
    """Tokens that have no scopes, whatever was requested."""

    def __setitem__(self, token: str, scopes: set[str]) -> None:
        super().__setitem__(token, set())


def test_scopes_of_the_config_are_not_extended(tmp_path: Path) -> None:
    with Guarded() as guarded:
        guarded.scopes["tools/call"] = "call"
        ended = call(tmp_path, guarded, {"scope": "list"})
    assert ended.code == 1
    assert [request["scope"] for request in guarded.requests] == ["list"]


# Tokens that end


def test_a_token_that_has_expired_is_renewed(tmp_path: Path) -> None:
    with Guarded(uses=3) as guarded:
        calls = [{"name": f"{n}", "tool": "echo", "args": {"text": "hi"}} for n in range(5)]
        grant = {"client_id": CLIENT_ID, "client_secret_env": "CLIENT_SECRET"}
        server = {"url": guarded.url, "auth": {"client_credentials": grant}}
        suite = {"servers": {"shop": server}, "tools": calls}
        (tmp_path / "mcptest.yaml").write_text(json.dumps(suite), encoding="utf-8")
        ended = mcptest(tmp_path, "run", CLIENT_SECRET=CLIENT_SECRET)
    assert ended.code == 0, ended.out
    assert len(guarded.tokens) > 1
    assert guarded.refusals == []


def test_a_token_that_is_never_taken_is_reported_with_its_origin(tmp_path: Path) -> None:
    with Guarded(uses=0, scope="a") as guarded:
        ended = call(tmp_path, guarded)
    assert_refused(
        ended,
        "status 401",
        f"a token of {guarded.issuer} for the resource {guarded.url} with the scope a",
    )
    assert len(guarded.tokens) == 2


def test_credentials_are_not_sent_to_another_issuer_later(tmp_path: Path) -> None:
    with Guarded(uses=0) as guarded, Guarded() as other:

        def moves(asked: Any, line: Any) -> None:
            issuer = other.issuer if guarded.tokens else guarded.issuer
            page({**guarded.resource, "authorization_servers": [issuer]})(asked, line)

        guarded.pages[RESOURCE_PATH] = moves
        ended = call(tmp_path, guarded)
    assert_refused(ended, f"the server now names the authorization server {other.issuer}")
    assert other.requests == []


# Where metadata is looked for


def test_without_a_header_the_places_of_metadata_are_tried_in_turn(tmp_path: Path) -> None:
    root = RESOURCE_PATH.removesuffix("/mcp")
    with Guarded() as guarded:
        guarded.challenge = None
        guarded.resource |= {
            "resource": guarded.origin,
            "authorization_servers": [f"{guarded.issuer}/tenant"],
        }
        document = {**guarded.metadata, "issuer": f"{guarded.issuer}/tenant"}
        guarded.pages = {
            RESOURCE_PATH: says(refusal("404 Not Found")),
            root: page(guarded.resource),
            "/tenant/.well-known/openid-configuration": page(document),
        }
        assert_called(call(tmp_path, guarded))
    assert guarded.asked == [RESOURCE_PATH, root]
    assert guarded.asked_issuer == [
        f"GET {ISSUER_PATH}/tenant",
        "GET /.well-known/openid-configuration/tenant",
        "GET /tenant/.well-known/openid-configuration",
        "POST /token",
    ]
    assert guarded.requests[0]["resource"] == guarded.origin


def test_an_older_server_is_its_own_issuer(tmp_path: Path) -> None:
    with Guarded() as guarded:
        guarded.challenge = ""
        document = {**guarded.metadata, "issuer": guarded.origin}
        guarded.pages = {
            RESOURCE_PATH: says(refusal("404 Not Found")),
            ISSUER_PATH: page(document),
        }
        # No resource is named by any metadata.
        guarded.resource = {}
        assert_called(call(tmp_path, guarded))
    assert "resource" not in guarded.requests[0]


def test_a_server_without_any_metadata_is_explained(tmp_path: Path) -> None:
    with Guarded() as guarded:
        guarded.challenge = ""
        guarded.pages = {RESOURCE_PATH: says(refusal("404 Not Found"))}
        ended = call(tmp_path, guarded)
    message = (
        f"has no metadata that says where it is issued: {guarded.origin}{ISSUER_PATH}: status 404"
    )
    assert_refused(ended, message, '"tokenUrl"')
    assert guarded.requests == []


def test_the_issuer_of_the_config_must_be_one_of_the_servers(tmp_path: Path) -> None:
    with Guarded() as guarded:
        ended = call(tmp_path, guarded, {"issuer": "https://login.example"})
    assert_refused(ended, f'takes tokens of "{guarded.issuer}", and not of "https://login.example"')
    assert guarded.asked_issuer == []


def test_the_issuer_of_the_config_may_differ_from_the_servers_in_a_slash(tmp_path: Path) -> None:
    with Guarded() as guarded:
        guarded.resource["authorization_servers"] = [f"{guarded.issuer}/"]
        ended = call(tmp_path, guarded)
        assert_refused(ended, "they differ in the slash at the end alone")
        assert_called(call(tmp_path, guarded, {"issuer": guarded.issuer}))


# What is not believed


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"resource": "https://evil.example/mcp"}, 'resource is "https://evil.example/mcp"'),
        ({"resource": "http://127.0.0.1:1/mcp"}, "which is not http://127.0.0.1:"),
        ({"resource": None}, "resource is null"),
        ({"authorization_servers": []}, "authorization_servers is empty"),
        ({"authorization_servers": "https://a"}, "must be a list of URLs"),
        ({"authorization_servers": ["http://login.example"]}, "does not begin with https://"),
        ({"authorization_servers": ["ftp://127.0.0.1"]}, "which is not the URL of a server"),
        ({"authorization_servers": ["http://127.0.0.1:1/?a=b"]}, "which has a query"),
        ({"authorization_servers": ["http://127.0.0.1:1"]}, "has no metadata"),
    ],
)
def test_metadata_of_the_server_that_cannot_be_right_is_refused(
    change: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with Guarded() as guarded:
        guarded.resource |= change
        ended = call(tmp_path, guarded)
    assert_refused(ended, message)
    assert guarded.requests == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"issuer": "https://attacker.example"}, 'has the issuer "https://attacker.example"'),
        ({"issuer": None}, "has the issuer null"),
        ({"token_endpoint": "http://login.example/token"}, "does not begin with https://"),
        ({"token_endpoint": None}, "token_endpoint in the metadata"),
        ({"token_endpoint": "https://u:p@login.example/"}, "credentials belong in headers"),
        (
            {"token_endpoint_auth_methods_supported": ["none"]},
            "takes no client with a client secret",
        ),
    ],
)
def test_metadata_of_the_issuer_that_cannot_be_right_is_refused(
    change: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with Guarded() as guarded:
        guarded.metadata |= change
        ended = call(tmp_path, guarded)
    assert_refused(ended, message)
    assert guarded.requests == []


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (says(refusal("302 Found", Location="/elsewhere")), "redirects are not followed"),
        (says(refusal("500 Internal Server Error")), "status 500"),
        (page(b"<html>"), "the body is not a JSON object"),
        (page(b" " * 300_000), "larger than 262,144 bytes"),
        (page([]), "the body is not a JSON object"),
        (holds_after(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"), "no answer within 1.8 s"),
    ],
    ids=["redirect", "500", "page", "huge", "list", "slow"],
)
@pytest.mark.parametrize("path", [RESOURCE_PATH, ISSUER_PATH])
def test_metadata_that_cannot_be_read_is_explained(
    path: str, script: Script, message: str, tmp_path: Path
) -> None:
    with Guarded() as guarded:
        guarded.pages[path] = script
        ended = call(tmp_path, guarded, startupTimeout=2000)
    assert_refused(ended, message, path)
    assert guarded.requests == []
    assert "/elsewhere" not in " ".join((*guarded.asked, *guarded.asked_issuer))


def test_metadata_at_another_origin_is_not_fetched(tmp_path: Path) -> None:
    with Guarded() as guarded, RawHttp() as other:
        guarded.challenge = f'resource_metadata="{other.url}"'
        ended = call(tmp_path, guarded)
        assert_refused(ended, f'is "{other.url}", which is not at {guarded.origin}')
        assert other.asked == []


@pytest.mark.long
@pytest.mark.parametrize(
    ("script", "message"),
    [
        (says(refusal("307 Temporary Redirect", Location="/token")), "redirects are not followed"),
        (
            page({"access_token": TOKEN, "token_type": "DPoP"}),
            'the token_type is "DPoP", and only Bearer tokens are supported',
        ),
        (
            page({"error": "invalid_target", "error_description": "what?"}, "400 Bad Request"),
            'status 400, "invalid_target": "what?"',
        ),
        (page(b"{" * 300_000), "larger than 262,144 bytes"),
        (holds_after(), "no answer within 1.8 s"),
    ],
    ids=["redirect", "DPoP", "error", "huge", "slow"],
)
def test_an_answer_without_a_token_is_explained(
    script: Script, message: str, tmp_path: Path
) -> None:
    with Guarded() as guarded:
        guarded.pages["/token"] = script
        ended = call(tmp_path, guarded, startupTimeout=2000)
    assert_refused(ended, f"no token could be fetched at {guarded.issuer}/token: ", message)


def test_a_server_that_wants_no_token_gets_none(tmp_path: Path) -> None:
    with Guarded() as guarded, RawHttp() as server:
        guarded.url = server.url
        assert_called(call(tmp_path, guarded))
        assert all("authorization" not in each.headers for each in server.asked)


def test_a_token_endpoint_of_the_config_is_asked_before_the_server(tmp_path: Path) -> None:
    with Guarded() as guarded:
        grant = {"tokenUrl": f"{guarded.issuer}/token", "resource": guarded.url}
        assert_called(call(tmp_path, guarded, grant))
    assert guarded.asked == []
    assert guarded.asked_issuer == ["POST /token"]
    assert "" not in guarded.given


def test_the_older_transport_has_the_same(tmp_path: Path) -> None:
    """Its stream is what is refused first."""
    with Guarded() as guarded:
        ended = call(tmp_path, guarded, transport="sse")
    # The server has no such stream, which is known only with a token.
    assert ended.code == 3
    assert "auth_failed" not in ended.err
    assert len(guarded.tokens) == 1
    assert guarded.given[-1] == f"Bearer {TOKEN}-0"


def test_mistakes_in_a_config_are_named(tmp_path: Path) -> None:
    with Guarded() as guarded:
        ended = call(
            tmp_path, guarded, {"privateKeyEnv": "KEY_ES256", "issuer": "http://a.example"}
        )
    assert ended.code == 2
    assert 'needs either "clientSecretEnv" or "privateKeyEnv"' in ended.err + ended.out
    assert '"issuer" must begin with https://' in ended.err + ended.out
