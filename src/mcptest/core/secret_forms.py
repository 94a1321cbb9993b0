"""The forms in which a known secret is recognised: the one table of them, and how each is read.

Escapes (of JSON, URLs and HTML) can be anywhere in a text, in any mixture, so they are undone,
one kind at a time, and the result is searched; `Reading.trace` leads back to the original text.
Base64 and hexadecimal have few ways to write a secret alone: those are searched for as they are
(`encodings_of`). Whatever else is written in them is decoded (`encoded_runs`).
"""

from __future__ import annotations

import binascii
import html
import re
from bisect import bisect_right
from functools import lru_cache

from mcptest.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Place = tuple[int, int]

__all__ = [
    "FORMS",
    "EncodedRuns",
    "Reading",
    "encodings_of",
    "parts_of",
    "stretches",
    "undone",
    "unquoted",
    "unwrapped",
]

# Each of them is also recognised once inside another, and across line breaks.
# docs/secrets.md lists them in the same words; a test compares the two.
FORMS = {
    "plain": "as it is",
    "JSON": r"with the escapes of JSON strings: `\"`, `\\`, `\/`, `\n`, `\u0026`",
    "URL": "percent-encoded, all of it or some, in either case, with `+` for a blank",
    "HTML": "with character references: by name, by number, in hexadecimal",
    "base64": "of UTF-8 and of UTF-16, alone or inside a longer text, in both alphabets",
    "hex": "in either case, also with separators or as a dump: `70 26`, `70:26`, `<Buffer 70 26>`",
}


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


def encodings_of(secret: str) -> Iterator[bytes]:
    """The secret in hexadecimal and in base64, wherever it begins in a longer text."""
    raw = secret.encode("utf-8", "surrogateescape")
    yield raw.hex().encode()
    yield raw.hex().upper().encode()
    yield from _base64(raw)
    for name in _WIDE:
        yield from _base64(secret.encode(name, "surrogatepass"))


_WIDE = ("utf-16-le", "utf-16-be")


def _base64(raw: bytes) -> Iterator[bytes]:
    """Inside a longer text base64 shifts by 0, 1 or 2 bytes; the ends mix with neighbours."""
    for shift in range(3):
        encoded = binascii.b2a_base64(b"\0" * shift + raw, newline=False).rstrip(b"=")
        is_mixed = (len(raw) + shift) % 3 != 0
        inner = encoded[(0, 2, 3)[shift] : len(encoded) - is_mixed]
        yield inner
        yield inner.replace(b"+", b"-").replace(b"/", b"_")


# Escapes


class _Escapes(Record):
    """One kind of escapes: a byte that each has, how each looks, and what it stands for."""

    mark: bytes
    token: re.Pattern[bytes]
    meaning: Callable[[bytes], bytes]


@lru_cache(maxsize=4096)
def _json_meaning(token: bytes) -> bytes:
    body = token[1:]
    if len(body) == 1:
        return _NAMED.get(body, body)
    digits = body.replace(b"\\u", b"")[1:].decode()
    # Half of a surrogate pair stays what it is.
    return bytes.fromhex(digits).decode("utf-16-be", "surrogatepass").encode(*_PASSING)


@lru_cache(maxsize=4096)
def _percent_meaning(token: bytes) -> bytes:
    return b" " if token == b"+" else bytes([int(token[1:], 16)])


@lru_cache(maxsize=4096)
def _html_meaning(token: bytes) -> bytes:
    return html.unescape(token.decode()).encode(*_PASSING)


_PASSING = ("utf-8", "surrogatepass")
_NAMED = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t"}
_JSON = _Escapes(
    mark=b"\\",
    token=re.compile(
        rb"\\(?:u[Dd][89ABab][0-9A-Fa-f]{2}\\u[Dd][C-Fc-f][0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}"
        rb'|["/\\bfnrt])'
    ),
    meaning=_json_meaning,
)
_URL = _Escapes(mark=b"%", token=re.compile(rb"%[0-9A-Fa-f]{2}"), meaning=_percent_meaning)
_QUERY = _URL.but(mark=b"+", token=re.compile(rb"\+|%[0-9A-Fa-f]{2}"))
_HTML = _Escapes(
    mark=b"&",
    token=re.compile(rb"&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});"),
    meaning=_html_meaning,
)
_BREAKS = _Escapes(mark=b"\n", token=re.compile(rb"\r?\n[ \t]*"), meaning=lambda token: b"")


class Reading:
    """A text as bytes; what it says when one kind of escapes in `source` is undone."""

    def __init__(
        self, raw: bytes, source: Reading | None = None, escapes: _Escapes | None = None
    ) -> None:
        self.raw = raw
        self.is_original = source is None
        # Whether line breaks were left out on the way here.
        self.is_unwrapped: bool = escapes is _BREAKS or (source is not None and source.is_unwrapped)
        self.is_unquoted: bool = escapes is _JSON or (source is not None and source.is_unquoted)
        self._source = source
        self._escapes = escapes
        self._escaped = source.raw if source else b""

    def trace(self, places: list[Place]) -> list[Place]:
        """Where in the original text these bytes come from.

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


def undone(reading: Reading, *, has_blanks: bool, with_json: bool = True) -> Iterator[Reading]:
    """What a text says without its escapes, one kind at a time.

    `has_blanks` says that blanks matter, which an address may write as plus signs.
    """
    kinds = (*((_JSON,) if with_json else ()), _URL, _HTML, *((_QUERY,) if has_blanks else ()))
    for escapes in kinds:
        if found := _without(reading, escapes):
            yield found


def unwrapped(reading: Reading) -> Iterator[Reading]:
    """The text, and the text without its line breaks."""
    yield reading
    if not reading.is_unwrapped and (found := _without(reading, _BREAKS)):
        yield found


def unquoted(reading: Reading) -> Iterator[Reading]:
    """What a message says, or a text that was quoted as JSON before it came here.

    That is not how the secret was written, so it does not count as a form.
    """
    if found := _without(reading, _JSON):
        yield from unwrapped(found)


def _without(reading: Reading, escapes: _Escapes) -> Reading | None:
    if escapes.mark not in reading.raw:
        return None
    meaning = escapes.meaning
    raw = escapes.token.sub(lambda found: meaning(found[0]), reading.raw)
    return None if raw == reading.raw else Reading(raw, reading, escapes)


# Runs of base64 and hexadecimal


class EncodedRuns:
    """Finds in a text what is written in base64 or hexadecimal, and decodes it.

    `least` is how many bytes the shortest secret has: shorter runs cannot hold any.
    """

    def __init__(self, least: int) -> None:
        # What is looked for in base64 has been escaped or encoded before, so it is longer.
        self._least_base64 = (least + 1) * 8 // 6 - 1
        pairs = min(least, _MOST_PAIRS) - 1
        self._hex = re.compile(rb"xx(?:%b?xx(?!w)){%d,}" % (_GAP, pairs))

    def are_in(self, raw: bytes) -> bool:
        is_base64 = any(stretches(raw, _BASE64, self._least_base64))
        return is_base64 or self._hex.search(raw.translate(_HEX)) is not None

    def places(self, raw: bytes, holds: Callable[[bytes], bool]) -> Iterator[Place]:
        """Where the runs are in which `holds` finds something once they are decoded."""
        spans = list(stretches(raw, _BASE64, self._least_base64))
        yield from _holding(raw, spans, _base64_decoded, holds)
        yield from self.hex_places(raw, holds)

    def hex_places(self, raw: bytes, holds: Callable[[bytes], bool]) -> Iterator[Place]:
        spans = [found.span() for found in self._hex.finditer(raw.translate(_HEX))]
        for start, end in _holding(raw, spans, _hex_decoded, holds):
            yield start, _end_of_dump(raw, start, end)


def stretches(raw: bytes, table: bytes, least: int) -> Iterator[Place]:
    """Where so many bytes follow each other that the table makes an x of."""
    marked, wanted = raw.translate(table), b"x" * least
    start = marked.find(wanted)
    while start >= 0:
        end = marked.find(b"\0", start)
        end = len(raw) if end < 0 else end
        yield start, end
        start = marked.find(wanted, end)


def _holding(
    raw: bytes,
    spans: list[Place],
    decoded: Callable[[list[bytes]], Iterator[bytes]],
    holds: Callable[[bytes], bool],
) -> Iterator[Place]:
    # Most texts hold nothing, so all runs are tried together first.
    if spans and any(map(holds, decoded([raw[start:end] for start, end in spans]))):
        for start, end in spans:
            if any(map(holds, decoded([raw[start:end]]))):
                yield start, end


def _table(**marks: bytes) -> bytes:
    """A table for `bytes.translate`: all bytes are 0 but these."""
    table = bytearray(256)
    for mark, members in marks.items():
        for byte in members:
            table[byte] = _MARKS[mark]
    return bytes(table)


_MARKS = {
    "w": ord("w"),
    "x": ord("x"),
    "blank": ord(" "),
    "colon": ord(":"),
    "prefix": ord("0"),
    "line": ord("\n"),
}
_DIGITS = b"0123456789abcdefABCDEF"
_LETTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_BASE64 = _table(x=_LETTERS + b"0123456789+/_-=")
_HEX = _table(w=_LETTERS, x=_DIGITS, blank=b" \t\r,;-+\\", colon=b":", prefix=b"x", line=b"\n")
# Longer runs without a break need not be asked for: dumps have lines.
_MOST_PAIRS = 8
# Between two bytes, in the marks of the table: blanks, signs, 0x and \\x; in a dump what is
# printed beside the bytes, and the address at the beginning of the next line. Where a colon
# follows the addresses (xxd), two blanks end the bytes of a line; else (hexdump) they need not.
_BESIDE = rb" {2,}[^\n]{0,80}"
_GAP = (
    rb"(?:%b\n *x{4,16}: +|[ :]{0,3}(?:x0|0)|[ :]{1,3}"
    rb"|(?:%b)? ?\n *(?:x{4,16}(?:: +| {2,})|x{6,16} +)?)"
) % (_BESIDE, _BESIDE)
_BETWEEN = re.compile(rb"(?<=xx)%b(?=xx)" % _GAP)
_TO_STANDARD = bytes.maketrans(b"-_", b"+/")


def _base64_decoded(runs: list[bytes]) -> Iterator[bytes]:
    """The bytes of the runs, for each place in a group of four where they may begin."""
    # Padding ends a text, and decodes to NULs, as do the ends that are filled up below.
    plain = [run.translate(_TO_STANDARD).replace(b"=", b"A") for run in runs]
    for offset in range(4):
        padded = (run[offset:] + b"A" * (-(len(run) - offset) % 4 + 4) for run in plain)
        yield binascii.a2b_base64(b"".join(padded))


def _hex_decoded(runs: list[bytes]) -> Iterator[bytes]:
    """The bytes of the runs, which may begin with a digit of something else."""
    digits = list(map(_without_gaps, runs))
    for offset in range(2):
        even = (each[offset : len(each) - (len(each) - offset) % 2] for each in digits)
        yield bytes.fromhex(b"00".join(even).decode())


def _without_gaps(run: bytes) -> bytes:
    marked = run.translate(_HEX)
    gaps = [found.span() for found in _BETWEEN.finditer(marked)]
    starts, ends = [0, *(end for _, end in gaps)], [*(start for start, _ in gaps), len(run)]
    return b"".join(map(run.__getitem__, map(slice, starts, ends))).translate(None, _NO_DIGITS)


_NO_DIGITS = bytes(byte for byte in range(256) if byte not in _DIGITS)


def _end_of_dump(raw: bytes, start: int, end: int) -> int:
    """What a dump shows beside its last bytes goes with them."""
    if b"\n" not in raw[start:end]:
        return end
    line_end = raw.find(b"\n", end)
    return len(raw) if line_end < 0 else line_end
