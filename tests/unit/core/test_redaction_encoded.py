"""A secret is found in every encoding, in mixtures of them, and where it was cut."""

from __future__ import annotations

import base64
import html
import json
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_plus

import pytest
from case_tables import each_case
from hypothesis import given
from hypothesis import strategies as st

from mcptest.core.blanking import Redactor
from mcptest.core.secrets import BLANK, redact_bytes, redactor, why_not_blanked

if TYPE_CHECKING:
    from collections.abc import Callable

# Every encoding changes something in it.
SECRET = 'c4n4ry/&"<\\ ü+%7'
RAW = SECRET.encode()

SECRETS = st.text(st.characters(codec="utf-8"), min_size=8).filter(
    lambda secret: not why_not_blanked(secret)
)


def is_in_one_piece(secret: str) -> bool:
    """Whether no part of it is looked for by itself."""
    return secret.splitlines() == [secret.strip()]


def inside_json(text: str, *, is_ascii: bool = True) -> str:
    return json.dumps(text, ensure_ascii=is_ascii)[1:-1]


def partly(text: str) -> str:
    """Percent-encoded in every other character, the case of the digits changing."""
    pieces = []
    for number, byte in enumerate(text.encode()):
        is_plain = byte < 128 and chr(byte).isalnum() and number % 2
        digits = f"{byte:02x}" if number % 3 else f"{byte:02X}"
        pieces.append(chr(byte) if is_plain else f"%{digits}")
    return "".join(pieces)


ENCODED = {
    "as it is": SECRET,
    "json": inside_json(SECRET),
    "json, not ascii": inside_json(SECRET, is_ascii=False),
    "json, slashes escaped": inside_json(SECRET).replace("/", "\\/"),
    "json, all of it": "".join(f"\\u{ord(char):04x}" for char in SECRET),
    "json, all of it, upper case": "".join(f"\\u{ord(char):04X}" for char in SECRET),
    "json in json": inside_json(inside_json(SECRET)),
    "json in json, slashes escaped": inside_json(inside_json(SECRET).replace("/", "\\/")),
    "percent": quote(SECRET),
    "percent, all of it": "".join(f"%{byte:02X}" for byte in RAW),
    "percent, lower case": quote(SECRET, safe="").lower(),
    "percent, in part": partly(SECRET),
    "percent, plus for blanks": quote_plus(SECRET),
    "percent, twice": quote(quote(SECRET)),
    "percent of json": quote(inside_json(SECRET)),
    "percent in json": inside_json(quote(SECRET)),
    "html": html.escape(SECRET),
    "html, numbers": "".join(f"&#{ord(char)};" for char in SECRET),
    "html, hexadecimal": "".join(f"&#x{ord(char):X};" for char in SECRET),
    "html, names": SECRET.replace("&", "&amp;").replace("<", "&lt;").replace("ü", "&uuml;"),
    "html of json": html.escape(inside_json(SECRET)),
    "json of html": inside_json(html.escape(SECRET)).replace("&", "\\u0026"),
    "hexadecimal": RAW.hex(),
    "hexadecimal, upper case": RAW.hex().upper(),
    "base64": base64.b64encode(RAW).decode().rstrip("=")[:-1],
}


@each_case("shape", ENCODED.values())
def test_an_encoded_secret_is_blanked_and_nothing_around_it(shape: str) -> None:
    blanked = redactor([SECRET])(f"before {shape}~ after")
    assert blanked.startswith(f"before {BLANK}")
    assert blanked.endswith("~ after")
    # Base64 without what its end shares with the next byte is all there is of it.
    assert len(blanked) <= len(f"before {BLANK}~ after") + 1


@each_case("encode", [base64.b64encode, base64.urlsafe_b64encode])
@each_case("before", ["", "u", "us", "use", "user:", "é:"])
@each_case("after", ["", "x", "xy", "xyz"])
@each_case("padding", ["", "="])
def test_base64_is_found_wherever_it_begins_and_ends(
    encode: Callable[[bytes], bytes], before: str, after: str, padding: str
) -> None:
    secret = "\u00fb\u00ff\u00fe" + SECRET
    encoded = encode(f"{before}{secret}{after}".encode()).decode()
    shown = redactor([secret])("Basic " + (encoded if padding else encoded.rstrip("=")))
    assert shown.startswith("Basic ")
    assert BLANK in shown
    kept = len(shown) - len("Basic ") - len(BLANK)
    assert kept <= (len(before.encode()) + len(after)) * 4 / 3 + 4


@pytest.mark.parametrize(
    "document",
    [
        json.dumps({"token": SECRET}),
        json.dumps({"token": SECRET}, ensure_ascii=False),
        f"token={quote(SECRET, safe='')}",
    ],
)
def test_base64_of_a_document_that_has_it_escaped_is_found(document: str) -> None:
    encoded = base64.b64encode(document.encode()).decode()
    assert BLANK in redactor([SECRET])(encoded)


def test_base64_is_found_escaped_and_in_broken_lines() -> None:
    encoded = base64.encodebytes(b"x" * 50 + RAW + b"y" * 50).decode()
    assert "\n" in encoded.rstrip()
    redact = redactor([SECRET])
    assert BLANK in redact(encoded)
    assert BLANK in redact(json.dumps(encoded).replace("/", "\\/"))
    assert BLANK in redact(quote(encoded, safe=""))


def test_a_secret_that_is_not_utf8_is_found_as_bytes_and_as_it_is_shown() -> None:
    secret = b"key\xff\xfe\x80bytes".decode("utf-8", "surrogateescape")
    redact = redactor([secret])
    assert redact_bytes(b"a key\xff\xfe\x80bytes", redact) == b"a [secret]"
    assert redact("a key%FF%FE%80bytes") == f"a {BLANK}"


@given(SECRETS.filter(is_in_one_piece), st.randoms(use_true_random=False))
def test_any_mixture_of_characters_and_escapes_is_undone(secret: str, random: object) -> None:
    choice = random.choice  # type: ignore[attr-defined]
    percent = "".join(
        each
        if each.isalnum() and each.isascii() and choice([True, False])
        else "".join(f"%{byte:{choice(['02x', '02X'])}}" for byte in each.encode())
        for each in secret
    )
    escaped = "".join(
        each
        if each not in '"\\' and each.isprintable() and choice([True, False])
        else json.dumps(each)[1:-1]
        for each in secret
    )
    entities = "".join(
        each if each != "&" and choice([True, False]) else f"&#{choice(['', '0'])}{ord(each)};"
        for each in secret
        if each.isprintable()
    )
    redact = redactor([secret])
    assert redact(f"<{percent}>") == f"<{BLANK}>"
    assert redact(f"<{escaped}>") == f"<{BLANK}>"
    if secret.isprintable():
        assert redact(f"<{entities}>") == f"<{BLANK}>"


@pytest.mark.long
@given(SECRETS, st.dictionaries(st.text(), st.text()))
def test_json_with_a_secret_in_it_is_json_without_it(secret: str, others: dict[str, str]) -> None:
    document = json.dumps({**others, "it": json.dumps(secret)})
    shown = json.loads(redactor([secret])(document))
    assert secret not in json.dumps(shown, ensure_ascii=False)


@pytest.mark.parametrize(
    "secret", ['"c4n4ry12', "\\c4n4ry12", "c4n4ry12\\", '0\n"c4n4ry1\\\\', "/c4n4ry12"]
)
def test_no_half_of_an_escape_is_left_beside_a_secret(secret: str) -> None:
    redact = redactor([secret])
    text = f"a{secret}b {secret}"
    assert secret not in redact(text)
    for _ in range(3):
        text = json.dumps([text, f'"{secret}"', secret, {secret: secret + '"'}])
        shown = json.dumps(json.loads(redact(text)), ensure_ascii=False)
        assert "c4n4ry" not in shown


@given(SECRETS, st.binary(), st.binary())
def test_no_bytes_around_a_secret_can_hide_it(secret: str, before: bytes, after: bytes) -> None:
    raw = secret.encode()
    blanked = redact_bytes(before + b" " + raw + b" " + after, redactor([secret]))
    assert raw not in blanked


@pytest.mark.parametrize(
    "text",
    [
        "100 % &c. C:\\new\\test a+b",
        json.dumps({"path": "C:\\u0041", "say": '"hi"\n'}),
        "%41%zz&nosuch;&#x110000;\\u12\\ud800\\U00110000\\u{110000} … \udcff",
        base64.b64encode(b"c4n4ry is not all of it").decode(),
        quote(SECRET[:-3]),
    ],
)
def test_text_without_a_secret_is_not_changed(text: str) -> None:
    redact = redactor([SECRET])
    assert redact(text) == text
    assert redact(text * 3) == text * 3


# What can be a value of its own


@pytest.mark.parametrize(
    ("secret", "shown"),
    [
        ("Bearer abc.def.ghi", "abc.def.ghi"),
        ("postgres://user:pass-word@db/x", "pass-word"),
        ("  trimmed value\n", "trimmed value"),
        ("-----BEGIN KEY-----\n  MIIEpQIBAAKCAQEA\n-----END KEY-----", "MIIEpQIBAAKCAQEA"),
    ],
)
def test_the_secret_part_of_a_value_is_blanked_alone_too(secret: str, shown: str) -> None:
    redact = redactor([secret])
    assert redact(f"it is {shown}!") == f"it is {BLANK}!"
    assert redact(f"it is {quote(shown, safe='')}!") == f"it is {BLANK}!"


def test_the_public_part_of_an_address_is_not_changed() -> None:
    text = "user at db, postgres"
    assert redactor(["postgres://user:pass-word@db/x"])(text) == text


# Cuts


@pytest.mark.parametrize(
    "shown",
    [
        'begins with c4n4ry/&"<… [20 more characters]',
        '"c4n4ry/&\\"<\\\\" (… 12 more characters)',
        'is {"k": "c4n4ry/&\\"<\\\\ \\u00 …100 more… rest',
        'a= …1,000 more… &"<\\ ü+%7 and so on',
        f"{base64.b64encode(RAW).decode()[:12]}…",
    ],
)
def test_the_rest_of_a_secret_beside_a_cut_is_blanked(shown: str) -> None:
    blanked = redactor([SECRET])(shown)
    assert BLANK in blanked
    assert "c4n4ry" not in blanked
    assert "ü+%7" not in blanked


@pytest.mark.parametrize("shown", ['c4n4ry/&"<\\ and more', "c4n… 20 more", "…7 more", "…"])
def test_a_piece_far_from_a_cut_or_too_short_stays(shown: str) -> None:
    assert redactor([SECRET])(shown) == shown


# Limits


@pytest.mark.slow
def test_a_text_of_nothing_but_hidden_secrets_is_one() -> None:
    text = quote(SECRET, safe="") * 20_000
    assert redactor([SECRET])(text) == BLANK


@pytest.mark.slow
def test_a_large_text_is_still_read_in_each_way() -> None:
    filling = 'some "text" \\ 100%25 &amp; more\n' * 12_000
    for shape in (inside_json(SECRET), quote(SECRET, safe=""), html.escape(SECRET)):
        assert BLANK in redactor([SECRET])(f"{filling}{shape}{filling}")


# Where they are


def test_the_places_of_secrets_are_counted_in_characters() -> None:
    text = f"ä {SECRET} ö {quote(SECRET, safe='')}{RAW.hex()} ü"
    found = [text[start:end] for start, end in Redactor([SECRET]).places(text)]
    assert found == [SECRET, quote(SECRET, safe=""), RAW.hex()]


def test_a_text_without_secrets_has_no_places() -> None:
    assert Redactor([SECRET]).places("ä \\n %20 … nothing") == []
    assert Redactor(["on"]).places("on and on") == []
