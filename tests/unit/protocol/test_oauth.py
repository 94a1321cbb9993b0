"""Challenges and metadata of OAuth, as pure functions."""

from __future__ import annotations

from typing import Any

import pytest
from case_tables import each_case

from mcptest.protocol.http_address import parse_url
from mcptest.protocol.oauth import (
    Challenge,
    OAuthError,
    ProtectedResource,
    check_resource_metadata_url,
    choose_scope,
    list_resource_metadata_urls,
    list_server_metadata_urls,
    parse_endpoint,
    read_challenge,
    read_protected_resource,
)

REMOTE = parse_url("https://shop.example/a/mcp?x=1")
LOCAL = parse_url("http://127.0.0.1:3001/mcp")


@each_case(
    ("header", "challenge"),
    [
        ("", Challenge()),
        ("Bearer", Challenge()),
        ('Bearer scope="a b"', Challenge(scope="a b")),
        ("bearer SCOPE=a", Challenge(scope="a")),
        ('Bearer error="x", scope = "a"', Challenge(scope="a", error="x")),
        ('Basic realm="Bearer scope=b", Bearer scope="a"', Challenge(scope="a")),
        ('Bearer scope="a", Basic scope="b"', Challenge(scope="a")),
        ('Bearer scope="a", Bearer scope="b"', Challenge(scope="a")),
        ("Negotiate YII=, Bearer scope=a", Challenge(scope="a")),
        (r'Bearer scope="a\"b\\"', Challenge(scope='a"b\\')),
        ('Bearer resource_metadata="https://a/b"', Challenge(resource_metadata="https://a/b")),
        ('Bearer scope="never closed', Challenge()),
        ("Bearer scope=,,, =", Challenge()),
    ],
)
def test_the_bearer_challenge_of_a_header(header: str, challenge: Challenge) -> None:
    assert read_challenge(header) == challenge


def test_a_long_header_is_read_in_no_time() -> None:
    assert read_challenge('Bearer scope="' + '\\"' * 100_000) == Challenge()


@each_case(
    ("url", "server", "fault"),
    [
        ("https://login.example/token", REMOTE, ""),
        ("http://127.0.0.1:9/token", LOCAL, ""),
        ("https://login.example/token", LOCAL, ""),
        ("http://login.example/token", REMOTE, "does not begin with https://"),
        ("http://login.example/token", LOCAL, "does not begin with https://"),
        ("http://127.0.0.1:9/token", REMOTE, "which is in this network"),
        ("https://localhost/token", REMOTE, "which is in this network"),
        ("http://0x7f000001/token", REMOTE, "which is in this network"),
        ("http://[::ffff:127.0.0.1]/", REMOTE, "which is in this network"),
        ("https://10.1.2.3/token", REMOTE, "which is in this network"),
        ("https://169.254.169.254/token", REMOTE, "which is in this network"),
        ("https://0xa9fea9fe/token", REMOTE, "which is in this network"),
        ("https://[fe80::1]/token", REMOTE, "which is in this network"),
        ("https://10.1.2.3/token", LOCAL, ""),
        ("http://10.1.2.3/token", LOCAL, "does not begin with https://"),
        ("https://8.8.8.8/token", REMOTE, ""),
        ("file:///etc/passwd", LOCAL, "which is not the URL of a server"),
        ("https://a@b.example/", REMOTE, "which is not the URL of a server"),
        ("https://b.example/\r\nX: y", REMOTE, "which is not the URL of a server"),
        ("https://b.example/#x", REMOTE, "which has a fragment"),
        ("", REMOTE, 'must be a URL and is ""'),
        (None, REMOTE, "must be a URL and is null"),
        (["https://a"], REMOTE, "must be a URL and is"),
    ],
)
def test_where_credentials_may_be_sent(url: object, server: Any, fault: str) -> None:
    if not fault:
        assert parse_endpoint(url, "it", server).url == url
        return
    with pytest.raises(OAuthError) as caught:
        parse_endpoint(url, "it", server)
    assert fault in caught.value.message


def test_where_metadata_is_looked_for() -> None:
    origin = "https://shop.example"
    assert list_resource_metadata_urls(REMOTE) == [
        f"{origin}/.well-known/oauth-protected-resource/a/mcp",
        f"{origin}/.well-known/oauth-protected-resource",
    ]
    assert len(list_resource_metadata_urls(parse_url(origin))) == 1
    assert list_server_metadata_urls("https://as.example/", REMOTE) == [
        "https://as.example/.well-known/oauth-authorization-server",
        "https://as.example/.well-known/openid-configuration",
    ]
    assert list_server_metadata_urls("https://as.example/t/", REMOTE) == [
        "https://as.example/.well-known/oauth-authorization-server/t",
        "https://as.example/.well-known/openid-configuration/t",
        "https://as.example/t/.well-known/openid-configuration",
    ]


def test_metadata_of_a_server_is_its_own() -> None:
    good = "https://shop.example/custom.json"
    assert check_resource_metadata_url(good, REMOTE) == good
    for url in ("https://other.example/", "https://shop.example:444/", "http://shop.example/"):
        with pytest.raises(OAuthError):
            check_resource_metadata_url(url, REMOTE)


@each_case(
    ("resource", "is_good"),
    [
        ("https://shop.example/a/mcp?x=1", True),
        ("https://shop.example/a/mcp", True),
        ("https://SHOP.example/a/mcp/", True),
        ("https://shop.example:443/a", True),
        ("https://shop.example", True),
        ("https://shop.example/a/mc", False),
        ("https://shop.example/a/mcp/b", False),
        ("https://shop.example/a/mcp?x=2", False),
        ("https://shop.example/a/mcp#x", False),
        ("http://shop.example/a/mcp", False),
        ("https://shop.example.evil/a/mcp", False),
        ("not a URL", False),
        (None, False),
    ],
)
def test_a_resource_is_the_server_or_above_it(resource: object, is_good: bool) -> None:
    document = {"resource": resource, "authorization_servers": ["https://as.example"]}
    if is_good:
        assert read_protected_resource(document, REMOTE).resource == resource
    else:
        with pytest.raises(OAuthError, match="resource is"):
            read_protected_resource(document, REMOTE)


@each_case(
    ("challenged", "listed", "before", "scope"),
    [
        ("a b", "c", "", "a b"),
        ("", "c d", "", "c d"),
        ("", "", "", ""),
        ("b c", "d", "a b", "a b c"),
        ("", "d", "a", "a"),
    ],
)
def test_which_scopes_are_requested(challenged: str, listed: str, before: str, scope: str) -> None:
    found = ProtectedResource(resource="r", issuers=("i",), scope=listed)
    assert choose_scope(Challenge(scope=challenged), found, before) == scope
