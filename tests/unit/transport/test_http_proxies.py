"""Proxies that the environment names: which are used, and how a tunnel is asked for."""

from __future__ import annotations

import pytest

from mcptest.core.errors import UsageError
from mcptest.core.secrets import LEARNED, redactor
from mcptest.protocol.http_address import parse_url
from mcptest.transport.http.connection import Proxy, Tunnel, find_proxy

SERVER = parse_url("https://server.example/mcp")


@pytest.fixture(autouse=True)
def _nothing_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    """A secret learned here must not affect other tests."""
    monkeypatch.setattr(LEARNED, "secrets", ())


def found(text: str) -> Proxy | None:
    return find_proxy(SERVER, {"HTTPS_PROXY": text})


@pytest.mark.parametrize("text", ["http://proxy:3128", "http://proxy:3128/", "proxy:3128"])
def test_a_proxy_may_be_named_with_or_without_its_scheme(text: str) -> None:
    proxy = found(text)
    assert proxy
    assert (proxy.address.authority, proxy.authorization) == ("proxy:3128", "")


def test_the_credentials_for_a_proxy_are_in_its_url() -> None:
    proxy = found("http://us%40er:p%3Aw@proxy:3128")
    assert proxy
    assert (proxy.address.authority, proxy.authorization) == (
        "proxy:3128",
        "Basic dXNAZXI6cDp3",
    )


def test_no_variable_means_no_proxy() -> None:
    assert find_proxy(SERVER, {}) is None


@pytest.mark.parametrize(
    "text",
    ["https://proxy", "socks5://proxy", "http://", "http://a:port", "http://u:secret\u2100@a"],
)
def test_an_unusable_proxy_is_reported_without_its_password(text: str) -> None:
    with pytest.raises(UsageError) as raised:
        found(text.replace("://", "://user:canary@"))
    assert "canary" not in str(raised.value)


@pytest.mark.parametrize(
    "text",
    [
        "http://user:can/ary@proxy:3128",
        "http://user:can?ary@proxy:3128",
        "http://user:can#ary@proxy:3128",
        "http://can/ary:password@proxy:3128",
        "http://user:password@proxy:canary",
        "http://canary\u2100:password@proxy",
        "http://user:password@[canary",
        "user:can/ary@proxy:3128",
    ],
)
def test_nothing_of_what_cannot_be_read_is_quoted(text: str) -> None:
    with pytest.raises(UsageError) as raised:
        found(text)
    assert "can" not in str(raised.value).replace("cannot", "")
    assert "ary" not in str(raised.value)


def test_credentials_are_blanked_from_then_on() -> None:
    redact = redactor([])
    assert found("http://us%40erica:pass%3Aword@proxy")
    shown = redact("us@erica us%40erica pass:word pass%3Aword dXNAZXJpY2E6cGFzczp3b3Jk")
    assert shown == " ".join(["[secret]"] * 5)


def test_a_proxy_without_credentials_teaches_nothing() -> None:
    assert found("http://proxy:3128")
    assert LEARNED.secrets == ()


# Tunnels


def tunnel(authorization: str = "", url: str = "https://server.example/mcp") -> Tunnel:
    proxy = Proxy(address=parse_url("http://proxy:3128"), authorization=authorization)
    return Tunnel(proxy, parse_url(url))


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("https://server.example/mcp", b"server.example:443"),
        ("https://server.example:8443/", b"server.example:8443"),
        ("https://[::1]/", b"[::1]:443"),
    ],
)
def test_a_tunnel_asks_for_a_place_and_says_nothing_else(url: str, place: bytes) -> None:
    assert bytes(tunnel(url=url).outgoing) == (
        b"CONNECT " + place + b" HTTP/1.1\r\nHost: " + place + b"\r\n\r\n"
    )


def test_the_proxy_alone_gets_the_credentials_for_it() -> None:
    assert b"\r\nProxy-Authorization: Basic x\r\n" in bytes(tunnel("Basic x").outgoing)


def test_a_tunnel_is_dug_when_the_proxy_agrees_in_however_many_pieces() -> None:
    found = tunnel()
    assert not found.receive(b"HTTP/1.1 200 Connec")
    assert found.receive(b"tion established\r\n\r\n")


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (b"HTTP/1.1 407 Who are you\r\n\r\n", r"status 407"),
        (b"HTTP/1.1 502 No\r\nContent-Length: 0\r\n\r\n", r"status 502"),
        (b"SSH-2.0-OpenSSH\r\n\r\n", "does not speak HTTP"),
        (b"", "the proxy"),
    ],
)
def test_a_tunnel_that_is_refused_says_why(said: bytes, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        tunnel().receive(said)
