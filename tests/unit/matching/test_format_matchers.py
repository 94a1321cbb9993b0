"""Texts that are made in a certain way, and texts that just miss it."""

from __future__ import annotations

import base64
import ipaddress
import json
import uuid

import pytest
from asking import is_met, why_not
from case_tables import each_case
from hypothesis import given
from hypothesis import strategies as st

LONG_LABEL = "a" * 63
GOOD = {
    "uuid": ["00000000-0000-0000-0000-000000000000", "8C5F0D5E-6B1E-4B8E-9A58-0D3F4A6C2B11"],
    "email": ["a@b.co", "first.last+tag@sub.example.org", "o'neil@example.org", "a@1.example"],
    "url": [
        "http://localhost",
        "https://example.org:8080/a/b?c=d#e",
        "https://user:secret@example.org/",
        "ws://[::1]:9000/x",
        "file:///etc/hosts",
        "test://static/resource/1",
        "https://例え.jp/",
        "git+ssh://host/x",
    ],
    "hostname": ["localhost", "a.b-c.org", f"{LONG_LABEL}.org", "1a.org"],
    "ipv4": ["0.0.0.0", "255.255.255.255", "192.168.0.1"],
    "ipv6": ["::", "::1", "fe80::1", "::ffff:1.2.3.4", "1:2:3:4:5:6:7:8"],
    "json": ["{}", "[]", '"a"', " 1 ", "null", "true"],
    "base64": ["aGk=", "aGVsbG8=", "++//", "AA=="],
    "semver": ["0.0.0", "1.2.3", "1.0.0-alpha.1", "1.0.0+build.5", "1.0.0-0a.x-y+001"],
    "jwt": ["eyJhbGciOiJub25lIn0.e30."],
}
BAD = {
    "uuid": ["", "8c5f0d5e-6b1e-4b8e-9a58-0d3f4a6c2b1", "8c5f0d5e-6b1e-4b8e-9a58-0d3f4a6c2b1g"],
    "email": [
        "",
        "a",
        "@b.co",
        "a@",
        "a@b",
        "a b@c.de",
        ".a@b.co",
        "a..b@c.de",
        "a@b@c.de",
        f"{'a' * 65}@b.co",
    ],
    "url": [
        "",
        "example.org",
        "http://",
        "https:///x",
        "http://a b",
        "http://a:99999",
        "//host",
        "mailto:a@b.co",
        "http://[1]",
        "http://a\u0007",
        "://x",
    ],
    "hostname": [
        "",
        "-a",
        "a-",
        "a..b",
        "a_b",
        f"{LONG_LABEL}a",
        "1.2.3.4",
        "a.",
        ".".join([LONG_LABEL] * 4),
    ],
    "ipv4": ["", "1.2.3", "1.2.3.4.5", "256.1.1.1", "01.2.3.4", "1.2.3.4 ", "\u0661.2.3.4"],
    "ipv6": ["", ":", "1::2::3", "12345::", "1.2.3.4", "fe80::1%eth0", "[::1]"],
    "json": ["", "{a: 1}", "NaN", "{} {}", "'a'", '{"a": 1, "a": 2}'],
    "base64": ["", "aGk", "a-_=", "aG k", "====", "aGk=\n"],
    "semver": ["", "1.2", "v1.2.3", "01.2.3", "1.2.3-", "1.2.3-01", "1.2.3+", "1.2.3.4"],
    "jwt": ["", "a.b", "a.b.c", "e30.e30.", "eyJhbGciOiJub25lIn0.MQ.", "eyJhbGciOiJub25lIn0.e30=."],
}


@pytest.mark.parametrize(("name", "texts"), GOOD.items())
def test_these_are_it(name: str, texts: list[str]) -> None:
    assert [text for text in texts if not is_met(name, text)] == []


@pytest.mark.parametrize(("name", "texts"), BAD.items())
def test_these_are_not(name: str, texts: list[str]) -> None:
    assert [text for text in texts if is_met(name, text)] == []


@pytest.mark.parametrize("name", GOOD)
def test_only_text_is_it(name: str) -> None:
    others: list[object] = [None, 1, True, [], {}, [GOOD[name][0]]]
    assert [value for value in others if is_met(name, value)] == []


@pytest.mark.long
@given(st.uuids(), st.ip_addresses(v=4), st.ip_addresses(v=6))
def test_output_of_the_standard_library_matches(
    some: uuid.UUID, v4: ipaddress.IPv4Address, v6: ipaddress.IPv6Address
) -> None:
    assert is_met("uuid", str(some))
    assert is_met("ipv4", str(v4))
    assert is_met("ipv6", str(v6))
    assert not is_met("hostname", str(v4))


@pytest.mark.long
@given(st.binary(min_size=1), st.dictionaries(st.text(), st.integers()))
def test_encoded_values_match(raw: bytes, claims: dict[str, int]) -> None:
    assert is_met("base64", base64.b64encode(raw).decode())
    assert is_met("json", json.dumps(claims))
    parts = [base64.urlsafe_b64encode(json.dumps(part).encode()) for part in ({"alg": "x"}, claims)]
    token = b".".join([*parts, base64.urlsafe_b64encode(raw)]).replace(b"=", b"")
    assert is_met("jwt", token.decode())


@each_case(
    ("pattern", "actual", "message", "hint"),
    [
        (
            "uuid",
            "8c5f0d5e6b1e4b8e9a580d3f4a6c2b11",
            "a UUID; it is not",
            "it is written in another form",
        ),
        ("uuid", "x", "a UUID; it is not", ""),
        (
            "url",
            "example.org/a",
            "an absolute URL; it is not",
            "the scheme, such as https://, is missing",
        ),
        ("url", " https://a.org", "an absolute URL; it is not", "there is white space around it"),
        ("url", "nothing", "an absolute URL; it is not", ""),
        ("json", '{"a": 1,}', "JSON; it is not", "a comma with nothing after it (column 8)"),
        ("base64", "", "base64; it is not", "it is empty"),
        (
            "base64",
            "aGk",
            "base64; it is not",
            "its length is not a multiple of 4: is the padding (=) missing?",
        ),
        (
            "base64",
            "a-_=",
            "base64; it is not",
            "it is written in the alphabet for URLs, with - and _",
        ),
        ("base64", "aGk=\n", "base64; it is not", "it is broken by white space"),
        ("base64", "é", "base64; it is not", ""),
        (
            "semver",
            "v1.2.3",
            "a semantic version; it is not",
            'a semantic version has no "v" in front',
        ),
        ("semver", "1.2", "a semantic version; it is not", "the patch number is missing"),
        ("semver", "x", "a semantic version; it is not", ""),
        ("email", 5, "an email address; it is a number", ""),
        ("hostname", "a" * 5000, "a host name; it is 5,000 characters long", ""),
    ],
)
def test_a_value_that_does_not_meet_the_pattern_says_why(
    pattern: str, actual: object, message: str, hint: str
) -> None:
    assert why_not(pattern, actual) == (message, hint)
