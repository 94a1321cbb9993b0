"""URLs of servers: which are taken, what they mean, and which proxy is asked."""

from __future__ import annotations

import pytest
from case_tables import each_case

from mcptest.protocol.http_address import (
    Address,
    BadUrlError,
    parse_url,
    proxy_for,
    redirected,
    same_origin,
)


@pytest.mark.parametrize(
    ("url", "scheme", "host", "port", "target"),
    [
        ("http://a", "http", "a", 80, "/"),
        ("http://a/", "http", "a", 80, "/"),
        ("https://a/mcp", "https", "a", 443, "/mcp"),
        ("http://a:8080/mcp?x=1&y", "http", "a", 8080, "/mcp?x=1&y"),
        ("http://A.Example/Path", "http", "a.example", 80, "/Path"),
        ("http://[::1]:9/mcp", "http", "::1", 9, "/mcp"),
        ("http://a/mcp#part", "http", "a", 80, "/mcp"),
        ("http://bücher.example/", "http", "xn--bcher-kva.example", 80, "/"),
        ("http://a/größe?q=ü", "http", "a", 80, "/gr%C3%B6%C3%9Fe?q=%C3%BC"),
        ("http://a:0/mcp", "http", "a", 0, "/mcp"),
        ("HTTP://a/", "http", "a", 80, "/"),
    ],
)
def test_a_url_is_taken_apart(url: str, scheme: str, host: str, port: int, target: str) -> None:
    address = parse_url(url)
    found = (address.scheme, address.host, address.port, address.target)
    assert found == (scheme, host, port, target)


@each_case(
    ("url", "why"),
    [
        ("", "must begin with http"),
        ("/mcp", "must begin with http"),
        ("localhost:3001/mcp", "must begin with http"),
        ("ftp://a/", "must begin with http"),
        ("file:///etc/passwd", "must begin with http"),
        ("http://", "names no host"),
        ("http:///mcp", "names no host"),
        ("http://a:port/", "its port is not a number from 0 to 65535$"),
        ("http://a:70000/", "its port is not a number from 0 to 65535$"),
        ("http://[::1/", "its host is not the name or number of a machine$"),
        ("http://user:secret@a/", "credentials belong in headers"),
        ("http://user@a/", "credentials belong in headers"),
        ("http://a/ b", "a space or a control"),
        ("http://a/\r\nX: y", "a space or a control"),
        ("http://a\x00/", "a space or a control"),
        ("http://" + "ü" * 300 + "/", "can be looked up"),
    ],
)
def test_an_invalid_server_url_is_refused_with_the_reason(url: str, why: str) -> None:
    with pytest.raises(BadUrlError, match=why):
        parse_url(url)


@pytest.mark.parametrize(
    ("url", "again"),
    [
        ("http://a:80/x", "http://a/x"),
        ("https://a:443/x", "https://a/x"),
        ("https://a:80/x", "https://a:80/x"),
        ("http://[::1]:9/", "http://[::1]:9/"),
    ],
)
def test_an_address_is_written_without_the_port_that_goes_without_saying(
    url: str, again: str
) -> None:
    assert parse_url(url).url == again


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("http://a/x", "http://a:80/y", True),
        ("http://a/x", "http://A/x", True),
        ("http://a/", "https://a/", False),
        ("http://a/", "http://a:81/", False),
        ("http://a/", "http://b/", False),
        ("http://localhost/", "http://127.0.0.1/", False),
    ],
)
def test_one_origin_is_scheme_host_and_port(one: str, other: str, is_same: bool) -> None:
    assert same_origin(parse_url(one), parse_url(other)) is is_same


@pytest.mark.parametrize(
    ("location", "goal"),
    [
        ("/other", "http://a:1/other"),
        ("other", "http://a:1/dir/other"),
        ("?x=1", "http://a:1/dir/mcp?x=1"),
        ("//b/c", "http://b/c"),
        ("https://b/c#d", "https://b/c"),
    ],
)
def test_a_reference_is_resolved_against_its_base(location: str, goal: str) -> None:
    assert redirected(parse_url("http://a:1/dir/mcp"), location).url == goal


@pytest.mark.parametrize("location", ["http://[x", "mailto:a@b", "/a b", "http://u:p@a/"])
def test_a_reference_that_leads_nowhere_is_refused(location: str) -> None:
    with pytest.raises(BadUrlError):
        redirected(parse_url("http://a/"), location)


@each_case(
    ("host", "is_loopback"),
    [
        ("localhost", True),
        ("api.localhost", True),
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("10.0.0.1", False),
        ("localhost.example", False),
        ("0.0.0.0", True),
        ("0", True),
        ("::", True),
        ("127.1", True),
        ("127.0.1", True),
        ("2130706433", True),
        ("0x7f000001", True),
        ("0X7F.1", True),
        ("017700000001", True),
        ("0177.0.0.1", True),
        ("localhost.", True),
        ("api.localhost.", True),
        ("127.0.0.1.", True),
        ("::ffff:127.0.0.1", True),
        ("::ffff:10.0.0.1", False),
        ("10.1", False),
        ("127.0.0.256", False),
        ("127.256.1", False),
        ("127.0.0.0.1", False),
        ("127.", False),
        ("08.1", False),
        ("3232235777", False),
        ("99999999999999", False),
        ("127.example", False),
        ("0x", False),
    ],
)
def test_loopback_is_recognized_by_the_name(host: str, is_loopback: bool) -> None:
    address = Address(scheme="http", host=host, port=80, target="/")
    assert address.is_loopback is is_loopback


# Proxies

P = "http://proxy:3128"


@each_case(
    ("url", "environment", "proxy"),
    [
        ("http://a/", {}, ""),
        ("http://a/", {"HTTP_PROXY": P}, P),
        ("http://a/", {"http_proxy": P, "HTTP_PROXY": "other"}, P),
        ("http://a/", {"HTTPS_PROXY": P}, ""),
        ("https://a/", {"HTTPS_PROXY": P}, P),
        ("https://a/", {"HTTP_PROXY": P}, ""),
        ("https://a/", {"ALL_PROXY": P}, P),
        ("http://a/", {"all_proxy": P}, P),
        ("http://a/", {"HTTP_PROXY": ""}, ""),
        ("http://a/", {"HTTP_PROXY": P, "REQUEST_METHOD": "GET"}, ""),
        ("http://a/", {"http_proxy": P, "REQUEST_METHOD": "GET"}, P),
        ("http://localhost/", {"HTTP_PROXY": P, "ALL_PROXY": P}, ""),
        ("http://127.0.0.1:3001/", {"HTTP_PROXY": P}, ""),
        ("https://[::1]/", {"HTTPS_PROXY": P}, ""),
        ("http://a.b/", {"HTTP_PROXY": P, "NO_PROXY": "a.b"}, ""),
        ("http://x.a.b/", {"HTTP_PROXY": P, "no_proxy": "c, .A.B"}, ""),
        ("http://xa.b/", {"HTTP_PROXY": P, "NO_PROXY": "a.b"}, P),
        ("http://a/", {"HTTP_PROXY": P, "NO_PROXY": "*"}, ""),
        ("http://a/", {"HTTP_PROXY": P, "NO_PROXY": ","}, P),
    ],
)
def test_the_proxy_is_the_one_that_the_environment_names(
    url: str, environment: dict[str, str], proxy: str
) -> None:
    assert proxy_for(parse_url(url), environment) == proxy
