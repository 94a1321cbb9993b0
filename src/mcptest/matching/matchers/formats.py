"""Matchers on the format of a string: addresses, identifiers, encodings."""

from __future__ import annotations

import re
from functools import partial

from mcptest.core.strict_json import NotJsonError, parse_json
from mcptest.matching.json_values import no_parameter, type_name
from mcptest.matching.registry import Matcher, Miss

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["MATCHERS"]

# Longer strings are not checked: they cannot be any of these.
_MAX_ADDRESS_CHARS = 4096

_UUID = r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
_LABEL = r"(?!-)[A-Za-z0-9-]{1,63}(?<!-)"
_HOSTNAME = rf"{_LABEL}(?:\.{_LABEL})*"
_LOCAL_PART = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*"
_BYTE = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_IPV4 = rf"{_BYTE}(?:\.{_BYTE}){{3}}"
_URL = (
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?:[^\s/?#@]*@)?"
    r"(?P<host>\[[^\]\s]*\]|[^\s/?#:@\[\]]*)(?::(?P<port>\d{1,5}))?(?P<rest>[/?#]\S*)?"
)
_NUMBER_PART = r"(?:0|[1-9]\d*)"
_PRE_RELEASE = r"(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)"
_SEMVER = (
    rf"{_NUMBER_PART}\.{_NUMBER_PART}\.{_NUMBER_PART}(?:-{_PRE_RELEASE}(?:\.{_PRE_RELEASE})*)?"
    r"(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
)
_BASE64 = r"[A-Za-z0-9+/]*={0,2}"
_BASE64_URL = r"[A-Za-z0-9_-]*={0,2}"


def _matches(pattern: str, text: str) -> bool:
    return re.fullmatch(pattern, text, re.ASCII) is not None


def _is_hostname(text: str) -> bool:
    # A name whose last part is a number would be taken for an address.
    return (
        len(text) <= 253 and _matches(_HOSTNAME, text) and not text.rpartition(".")[2].isdecimal()
    )


def _is_email(text: str) -> bool:
    local, _, domain = text.rpartition("@")
    is_named = len(local) <= 64 and _matches(_LOCAL_PART, local)
    return is_named and "." in domain and _is_hostname(domain)


def _is_ipv6(text: str) -> bool:
    # Costs some milliseconds to load, and few tests ask.
    import ipaddress  # noqa: PLC0415

    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    # The zone names a network card of one machine; it is not part of an address.
    return "%" not in text


def _is_url(text: str) -> bool:
    found = re.fullmatch(_URL, text)
    if found is None or not text.isprintable():
        return False
    host = found["host"]
    if int(found["port"] or 0) > 65535:
        return False
    if not host:
        return found["scheme"].lower() not in ("http", "https", "ws", "wss") and bool(found["rest"])
    if host[0] == "[":
        return _is_ipv6(host[1:-1])
    return True


def _is_json(text: str) -> bool:
    return not _json_hint(text)


def _is_base64(text: str) -> bool:
    return bool(text) and len(text) % 4 == 0 and _matches(_BASE64, text)


def _is_semver(text: str) -> bool:
    return _matches(_SEMVER, text)


def _is_jwt(text: str) -> bool:
    parts = text.split(".")
    if len(parts) != 3 or not all(_matches(r"[A-Za-z0-9_-]*", part) for part in parts):
        return False
    header, claims = (_decode_part(part) for part in parts[:2])
    return isinstance(header, dict) and isinstance(claims, dict) and "alg" in header


def _decode_part(part: str) -> object:
    """The JSON value in one part of a token; None when there is none."""
    # Few tests check tokens.
    import base64  # noqa: PLC0415

    try:
        raw = base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
        return parse_json(raw.decode("utf-8"))
    except ValueError:
        return None


# Hints: what is wrong with a string that nearly has the format


def _base64_hint(text: str) -> str:
    if not text:
        return "it is empty"
    if _matches(_BASE64_URL, text) and not _matches(_BASE64, text):
        return "it is written in the alphabet for URLs, with - and _"
    if _matches(_BASE64, text):
        return "its length is not a multiple of 4: is the padding (=) missing?"
    if _matches(_BASE64, "".join(text.split())):
        return "it is broken by white space"
    return ""


def _semver_hint(text: str) -> str:
    if text[:1] in ("v", "V") and _is_semver(text[1:]):
        return f'a semantic version has no "{text[0]}" in front'
    return "the patch number is missing" if _is_semver(f"{text}.0") else ""


def _url_hint(text: str) -> str:
    if _is_url(f"https://{text}") and "." in text:
        return "the scheme, such as https://, is missing"
    return (
        "there is white space around it" if text != text.strip() and _is_url(text.strip()) else ""
    )


def _json_hint(text: str) -> str:
    """What is wrong with it, "" when it is JSON."""
    try:
        parse_json(text)
    except NotJsonError as error:
        return f"{error.reason}{f' (column {error.column})' if error.column else ''}"
    return ""


def _uuid_hint(text: str) -> str:
    bare = text.strip("{}").replace("-", "")
    return "it is written in another form" if _matches(r"[0-9a-fA-F]{32}", bare) else ""


def _entry(
    name: str,
    thing: str,
    test: Callable[[str], bool],
    passes: tuple[object, ...],
    fails: tuple[object, ...],
    *,
    summary: str = "",
    hint: Callable[[str], str] | None = None,
    is_short: bool = True,
) -> Matcher:
    def check(_: None, actual: object) -> Miss | None:
        if not isinstance(actual, str):
            return Miss(why=f"it is {type_name(actual)}")
        if is_short and len(actual) > _MAX_ADDRESS_CHARS:
            return Miss(why=f"it is {len(actual):,} characters long")
        if test(actual):
            return None
        return Miss(why="it is not", hint=(lambda: hint(actual)) if hint else None)

    return Matcher(
        name=name,
        family="Formats",
        summary=summary or f"A string that is {thing}.",
        example=f"match:{name}",
        passes=passes,
        fails=(*fails, None),
        parse=no_parameter,
        wants=lambda _: thing,
        check=check,
        kinds=("string",),
    )


MATCHERS = (
    _entry(
        "uuid",
        "a UUID",
        lambda text: _matches(_UUID, text),
        ("8c5f0d5e-6b1e-4b8e-9a58-0d3f4a6c2b11",),
        ("8c5f0d5e6b1e4b8e9a580d3f4a6c2b11", "8c5f0d5e"),
        summary="A string that is a UUID, of any version, with its four dashes.",
        hint=_uuid_hint,
    ),
    _entry(
        "email",
        "an email address",
        _is_email,
        ("first.last+tag@example.org",),
        ("first@localhost", "a b@example.org"),
        summary="A string that is an email address; its domain has a dot.",
    ),
    _entry(
        "url",
        "an absolute URL",
        _is_url,
        ("https://example.org:8080/a?b#c", "file:///tmp/a.txt", "memo://notes/1"),
        ("example.org", "https://", "https://a b"),
        summary="A string that is an absolute URL, with a scheme of any name.",
        hint=_url_hint,
    ),
    _entry(
        "hostname", "a host name", _is_hostname, ("api.example.org", "localhost"), ("-a", "1.2.3.4")
    ),
    _entry(
        "ipv4",
        "an IPv4 address",
        partial(_matches, _IPV4),
        ("127.0.0.1",),
        ("127.0.0.256", "1.2.3", "01.2.3.4"),
    ),
    _entry(
        "ipv6",
        "an IPv6 address",
        _is_ipv6,
        ("::1", "2001:db8::8a2e:370:7334"),
        ("1::2::3", "1.2.3.4"),
    ),
    _entry(
        "json",
        "JSON",
        _is_json,
        ('{"a": [1]}', "null"),
        ("{a: 1}", ""),
        hint=_json_hint,
        is_short=False,
    ),
    _entry(
        "base64",
        "base64",
        _is_base64,
        ("aGVsbG8=",),
        ("aGVsbG8", "a-_=", ""),
        summary="A string that is base64 with its padding, and not empty.",
        hint=_base64_hint,
        is_short=False,
    ),
    _entry(
        "semver",
        "a semantic version",
        _is_semver,
        ("1.2.3-rc.1+5",),
        ("v1.2.3", "1.2"),
        hint=_semver_hint,
    ),
    _entry(
        "jwt",
        "a JSON Web Token",
        _is_jwt,
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln",),
        ("a.b.c", "eyJhbGciOiJIUzI1NiJ9"),
        summary="A string that is a JSON Web Token by its form; the signature is not verified.",
        is_short=False,
    ),
)
