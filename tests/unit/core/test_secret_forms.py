"""The forms in which a secret is blanked: each of them, each inside each other, and no more."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Callable
from itertools import product
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest
from case_tables import each_case

from mcptest.core.blanking import FORMS
from mcptest.core.secrets import BLANK, redactor

# Every form changes something in it.
SECRET = 'c4n4ry/&"<\\ ü+%7zq'
ASCII_SECRET = "c4n4ry-7f3a-0815"
DOCS = Path(__file__).parents[3] / "docs"

Encode = Callable[[str], str]


def dumped(text: str) -> str:
    """As `hexdump -C` prints it, of which a line has 16 bytes, the first one not ours."""
    raw = b"\n0123456789" + text.encode()
    lines = []
    for at in range(0, len(raw), 16):
        part = raw[at : at + 16]
        left, right = part[:8].hex(" "), part[8:].hex(" ")
        shown = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in part)
        lines.append(f"{at:08x}  {left:23}  {right:23}  |{shown}|")
    return "\n".join(lines)


def xxd(text: str) -> str:
    """As `xxd` prints it."""
    raw = b"\n0123456789" + text.encode()
    lines = []
    for at in range(0, len(raw), 16):
        part = raw[at : at + 16]
        shown = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in part)
        lines.append(f"{at:08x}: {part.hex(' ', -2):39}  {shown}")
    return "\n".join(lines)


def od(text: str) -> str:
    """As `od -tx1` prints it."""
    raw = b"\n0123456789" + text.encode()
    parts = [raw[at : at + 16] for at in range(0, len(raw), 16)]
    return "\n".join(f"{at * 16:07o} {part.hex(' ')}" for at, part in enumerate(parts))


def shifted(shift: int, encode: Callable[[bytes], bytes], encoding: str = "utf-8") -> Encode:
    """Base64 of a longer text in which the secret begins after this many characters."""
    return lambda text: encode(f"{'.' * shift}{text}:end".encode(encoding)).decode()


WAYS: dict[str, dict[str, Encode]] = {
    "plain": {"as it is": str},
    "JSON": {
        "ascii": lambda text: json.dumps(text)[1:-1],
        "unicode": lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
        "slashes": lambda text: json.dumps(text)[1:-1].replace("/", "\\/"),
        "all of it": lambda text: "".join(f"\\u{ord(each):04x}" for each in text),
    },
    "URL": {
        "quote": lambda text: quote(text, safe=""),
        "lower case": lambda text: re.sub("%..", lambda found: found[0].lower(), quote(text)),
        "query": quote_plus,
        "all of it": lambda text: "".join(f"%{byte:02X}" for byte in text.encode()),
    },
    "HTML": {
        "names": html.escape,
        "numbers": lambda text: "".join(f"&#{ord(each)};" for each in text),
        "hexadecimal": lambda text: "".join(f"&#x{ord(each):X};" for each in text),
    },
    "base64": {
        f"{name} {encoding} {shift}": shifted(shift, encode, encoding)
        for shift in range(3)
        for encoding in ("utf-8", "utf-16-le", "utf-16-be")
        for name, encode in (("", base64.b64encode), ("url", base64.urlsafe_b64encode))
    },
    "hex": {
        "lower case": lambda text: text.encode().hex(),
        "upper case": lambda text: text.encode().hex().upper(),
        "blanks": lambda text: text.encode().hex(" "),
        "colons": lambda text: text.encode().hex(":").upper(),
        "node": lambda text: f"<Buffer {text.encode().hex(' ')}>",
        "array": lambda text: ", ".join(f"0x{byte:02x}" for byte in text.encode()),
        "c": lambda text: "".join(f"\\x{byte:02x}" for byte in text.encode()),
        "hexdump": dumped,
        "xxd": xxd,
        "od": od,
    },
}
CASES = [
    pytest.param(encode, id=f"{form}: {name}")
    for form, ways in WAYS.items()
    for name, encode in ways.items()
]


def wrapped(text: str, width: int) -> str:
    return "\n".join(text[at : at + width] for at in range(0, len(text), width))


def is_blanked(text: str, secret: str = SECRET) -> bool:
    """Whether something is blanked, and nothing around it."""
    shown = redactor([secret])(f"before {text}\n after")
    assert (shown.startswith("before "), shown.endswith("\n after")) == (True, True), shown
    return BLANK in shown


def test_there_are_ways_for_each_form() -> None:
    assert WAYS.keys() == FORMS.keys()


def test_the_page_lists_the_forms() -> None:
    page = (DOCS / "secrets.md").read_text(encoding="utf-8")
    section = page.partition("## In which forms")[2].partition("\n## ")[0]
    assert dict(re.findall(r"^\| (\w+) \| (.+?) \| .* \|$", section, re.M)) == FORMS


def test_the_readme_promises_the_forms() -> None:
    readme = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    [promise] = re.findall(r"^\d\. \[Secrets\].*", readme, re.M)
    assert [form for form in FORMS if form not in promise] == []


@each_case("encode", CASES)
def test_each_form_is_blanked(encode: Encode) -> None:
    assert is_blanked(encode(SECRET))
    assert is_blanked(encode(ASCII_SECRET), ASCII_SECRET)


@each_case("encode", CASES)
def test_a_form_of_something_else_is_left_alone(encode: Encode) -> None:
    assert not is_blanked(encode("c4n4ry is not all of it"))


@pytest.mark.slow
@each_case(("outer", "inner"), list(product(WAYS, repeat=2)))
def test_each_form_inside_another_is_blanked(outer: str, inner: str) -> None:
    for (over, encode), (under, first) in product(WAYS[outer].items(), WAYS[inner].items()):
        for secret in (SECRET, ASCII_SECRET):
            assert is_blanked(encode(first(secret)), secret), f"{outer} {over}({inner} {under})"


@each_case("width", [8, 20, 64, 76])
@each_case("encode", CASES)
def test_each_form_is_blanked_across_line_breaks(encode: Encode, width: int) -> None:
    if "\n" not in encode(SECRET):
        assert is_blanked(wrapped(f"xyz {encode(SECRET)}", width))


def test_base64_of_a_document_in_lines_is_blanked_inside_json() -> None:
    lines = base64.encodebytes(f"{'x' * 50}{SECRET}{'y' * 50}".encode()).decode()
    assert is_blanked(json.dumps(lines))
    document = json.dumps({"filling": "x" * 80, "token": SECRET})
    shown = redactor([SECRET])(f"before {base64.encodebytes(document.encode()).decode()}: after")
    assert shown == f"before {BLANK}\n: after"


def test_a_form_inside_a_form_inside_a_form_is_not_known() -> None:
    once = WAYS["URL"]["quote"]
    assert not is_blanked(once(once(once(SECRET))))
    twice = base64.b64encode(base64.b64encode(once(SECRET).encode())).decode()
    assert not is_blanked(twice)


def test_a_text_that_was_quoted_as_json_counts_as_the_text() -> None:
    quoted = WAYS["JSON"]["all of it"]
    text = WAYS["HTML"]["numbers"](quote(SECRET))
    assert is_blanked(quoted(text))
    assert not is_blanked(quoted(quoted(text)))


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16-le"])
def test_other_encodings_of_text_are_not_known_in_urls(encoding: str) -> None:
    assert not is_blanked(quote(SECRET.encode(encoding)))


def test_a_short_secret_is_not_put_together_from_the_ends_of_lines() -> None:
    text = "a bath\nengine, and be\nta3 of it"
    assert redactor(["then", "beta3"])(text) == text


def test_a_dump_is_blanked_with_what_is_printed_beside_it() -> None:
    shown = redactor([ASCII_SECRET])(f"{dumped(ASCII_SECRET * 2)}\nthe end")
    assert "c4n4r" not in shown
    assert "0815" not in shown
    assert shown.endswith("\nthe end")
