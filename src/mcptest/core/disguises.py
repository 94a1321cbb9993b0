"""What a secret looks like when it is encoded, and what a text says when it is escaped. Pure.

There are two kinds of encodings, and a way for each. Base64 and hexadecimal have few ways to
write a secret, and those can be looked for. Escapes (of JSON, addresses, HTML) can stand
anywhere in a text, in any mixture: they are undone, one kind at a time, and what the text
says then is looked through. `Reading.place` leads back to the text as it was.
"""

from __future__ import annotations

import binascii
import contextlib
import html
import json
import re
from bisect import bisect_right
from functools import lru_cache

from mcptest.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Place = tuple[int, int]

__all__ = ["Reading", "disguises_of", "parts_of", "readings_of"]

# How often JSON stands in JSON: a server that logs what it was told does it, and so do we.
_MAX_NESTING = 8

# How many other ways a text is read. Of a large text these are few, so that a server cannot make
# a report slow; but each kind of escapes is undone once in any.
_MAX_READINGS = 100
_MAX_READ_BYTES = 16 * 1024 * 1024


# What to look for


def parts_of(secret: str) -> Iterator[str]:
    """The secret, and what of it can stand alone.

    A server may trim what it was given. Output is shown line by line, so each line of a key
    file must go by itself. And a credential is one without its scheme or its address, too.
    """
    yield secret
    yield secret.strip()
    yield from (line.strip() for line in secret.splitlines())
    for credential in (_BEHIND_SCHEME, _IN_ADDRESS):
        if found := credential.match(secret):
            yield found[1]


_BEHIND_SCHEME = re.compile(r"\s*(?:basic|bearer|token)\s+(\S+)\s*$", re.IGNORECASE)
_IN_ADDRESS = re.compile(r"\s*[a-z][a-z0-9+.-]*://[^\s/@:]*:([^\s/@]+)@", re.IGNORECASE)


def disguises_of(secret: str) -> Iterator[bytes]:
    """The secret as bytes, and in the encodings that do not leave its letters in place."""
    raw = secret.encode("utf-8", "surrogateescape")
    forms = [raw, raw.hex().encode(), raw.hex().upper().encode()]
    forms += [form for each in (raw, *_escaped(secret)) for form in _base64(each)]
    # The NULs at the ends of UTF-16 belong to whatever stands beside it.
    forms += [secret.encode(name, "surrogatepass").strip(b"\0") for name in _WIDE]
    with contextlib.suppress(UnicodeEncodeError):
        forms.append(secret.encode("latin-1"))
    for form in dict.fromkeys(forms):
        yield form
        # In a text, a byte that is not UTF-8 is a character of its own.
        yield form.decode("utf-8", "surrogateescape").encode("utf-8", "surrogatepass")


_WIDE = ("utf-16-le", "utf-16-be")


def _escaped(secret: str) -> Iterator[bytes]:
    """How it stands in what is put into base64 as a whole: a JSON document, a query."""
    for is_ascii in (True, False):
        text = json.dumps(secret, ensure_ascii=is_ascii)[1:-1]
        yield text.encode("utf-8", "surrogateescape")
    raw = secret.encode("utf-8", "surrogateescape")
    yield re.sub(rb"[^A-Za-z0-9._~-]", lambda found: b"%%%02X" % ord(found[0]), raw)


def _base64(raw: bytes) -> Iterator[bytes]:
    """Inside a longer text base64 shifts by 0, 1 or 2 bytes; the ends mix with neighbours."""
    for shift in range(3):
        encoded = binascii.b2a_base64(b"\0" * shift + raw, newline=False).rstrip(b"=")
        is_mixed = (len(raw) + shift) % 3 != 0
        inner = encoded[(0, 2, 3)[shift] : len(encoded) - is_mixed]
        yield inner
        yield inner.replace(b"+", b"-").replace(b"/", b"_")


# What a text says


class _Escapes(Record):
    """One kind of escapes: a byte that each has, how each looks, and what it stands for."""

    mark: bytes
    token: re.Pattern[bytes]
    meaning: Callable[[bytes], bytes]

    def undone(self, raw: bytes) -> bytes:
        meaning = self.meaning
        return self.token.sub(lambda found: meaning(found[0]), raw)


@lru_cache(maxsize=4096)
def _json_meaning(token: bytes) -> bytes:
    body = token[1:]
    if len(body) == 1:
        return _NAMED.get(body, body)
    digits = body.replace(b"\\u", b"").strip(b"uUx{}")
    if b"\\" in body:
        return bytes.fromhex(digits.decode()).decode("utf-16-be").encode()
    code = int(digits, 16)
    if body[:1] == b"x":
        return bytes([code])
    # A surrogate alone stays one.
    return chr(code).encode("utf-8", "surrogatepass") if code <= _LAST else token


_NAMED = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t"}
_LAST = 0x10FFFF


@lru_cache(maxsize=4096)
def _percent_meaning(token: bytes) -> bytes:
    digits = token[1:]
    if not digits:
        return b" "
    if digits[:1] in b"uU":
        return chr(int(digits[1:], 16)).encode("utf-8", "surrogatepass")
    return bytes([int(digits, 16)])


@lru_cache(maxsize=4096)
def _html_meaning(token: bytes) -> bytes:
    return html.unescape(token.decode()).encode("utf-8", "surrogatepass")


_JSON = _Escapes(
    mark=b"\\",
    token=re.compile(
        rb"\\(?:u[Dd][89ABab][0-9A-Fa-f]{2}\\u[Dd][C-Fc-f][0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}"
        rb"|u\{[0-9A-Fa-f]{1,6}\}|U[0-9A-Fa-f]{8}|x[0-9A-Fa-f]{2}|[\"'/\\bfnrt])"
    ),
    meaning=_json_meaning,
)
_HEX = rb"%(?:[0-9A-Fa-f]{2}|[uU][0-9A-Fa-f]{4})"
_PERCENT = _Escapes(mark=b"%", token=re.compile(_HEX), meaning=_percent_meaning)
_PLUS = _Escapes(mark=b"+", token=re.compile(rb"\+|" + _HEX), meaning=_percent_meaning)
_HTML = _Escapes(
    mark=b"&",
    token=re.compile(rb"&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});"),
    meaning=_html_meaning,
)
# Long lines are broken, those of base64 first of all.
_LINES = _Escapes(mark=b"\n", token=re.compile(rb"\r?\n[ \t]*"), meaning=lambda token: b"")


class Reading:
    """A text as bytes; what it says when one kind of escapes in `source` is undone."""

    def __init__(
        self, raw: bytes, source: Reading | None = None, escapes: _Escapes | None = None
    ) -> None:
        self.raw = raw
        self._source = source
        self._escapes = escapes
        self._escaped = source.raw if source else b""

    def trace(self, places: list[Place]) -> list[Place]:
        """Where in the text as it was these bytes come from.

        They are left out of what is read further, here and there: once found is enough.
        """
        raw = bytearray(self.raw)
        for start, end in places:
            raw[start:end] = bytes(end - start)
        self.raw = bytes(raw)
        return self._source.trace(self._origins(places)) if self._source else places

    def _origins(self, places: list[Place]) -> list[Place]:
        """The same places in the source."""
        starts, stretches = self._stretches()

        def origin(position: int) -> Place:
            index = bisect_right(starts, position) - 1
            start, end = stretches[index]
            if index % 2:
                return start, end
            start += position - starts[index]
            return start, start + 1

        return [(origin(start)[0], origin(end - 1)[1]) for start, end in places]

    def _stretches(self) -> tuple[list[int], list[Place]]:
        """Where each stretch starts here, and where it is in the source.

        Plain bytes and escapes take turns.
        """
        assert self._escapes is not None
        starts: list[int] = []
        stretches: list[Place] = []
        here = done = 0
        for found in self._escapes.token.finditer(self._escaped):
            start, end = found.span()
            starts += (here, here + start - done)
            stretches += ((done, start), (start, end))
            here += start - done + len(self._escapes.meaning(found[0]))
            done = end
        return [*starts, here], [*stretches, (done, len(self._escaped))]


def readings_of(raw: bytes, *, has_blanks: bool) -> Iterator[Reading]:
    """What a text says when escapes in it are undone, in every order that matters.

    `has_blanks` says that blanks matter, which an address may write as plus signs.
    """
    kinds = (_PERCENT, _HTML, _LINES, *((_PLUS,) if has_blanks else ()))
    most = max(len(kinds), min(_MAX_READINGS, _MAX_READ_BYTES // (len(raw) + 1)))
    seen: set[bytes] = set()
    base: Reading | None = Reading(raw)
    for _ in range(_MAX_NESTING):
        assert base is not None
        for reading in _further(base, kinds) if len(seen) < most else ():
            if reading.raw not in seen:
                seen.add(reading.raw)
                yield reading
            if len(seen) >= most:
                break
        base = _undone(base, _JSON)
        if base is None:
            return
        yield base


def _further(base: Reading, kinds: tuple[_Escapes, ...]) -> Iterator[Reading]:
    """Other escapes undone, and then what they had escaped."""
    inner: list[Reading] = []
    for escapes in kinds:
        if reading := _undone(base, escapes):
            inner.append(reading)
            yield reading
    for source in inner:
        for escapes in (*kinds, _JSON):
            if reading := _undone(source, escapes):
                yield reading


def _undone(reading: Reading, escapes: _Escapes) -> Reading | None:
    """What a text says without these escapes; None when it has none."""
    if escapes.mark not in reading.raw:
        return None
    raw = escapes.undone(reading.raw)
    return None if raw == reading.raw else Reading(raw, reading, escapes)
