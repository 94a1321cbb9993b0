"""The search for secrets whose values are known, in each form in which a text may have them.

Edit `FORMS` and this module to find them in one more encoding. `core.secrets` decides which values
these are, and calls `Redactor` for every text that is written.

Most texts hold no secret, so a quick look decides whether a text is searched at all. Escapes (JSON,
URL, HTML) can occur anywhere in a text in any mixture: they are undone, one kind at a time, the
result is searched, and `_Reading.trace` leads back to the original text. Base64 and hexadecimal
have few ways to write a secret alone, and these are searched for as they are; longer runs of either
are decoded. What one form says is read once more in each form, and not a third time.
"""

from __future__ import annotations

import binascii
import html
import re
from bisect import bisect_right
from functools import lru_cache
from itertools import islice

from mcptest.core.secrets import BLANK, CUT, LEAST_CHARS, merge_places, why_not_blanked
from mcptest.core.value_class import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from mcptest.core.secrets import Place

__all__ = [
    "FORMS",
    "Redactor",
]

# Each is also recognised once inside another, and across line breaks. docs/secrets.md lists them in
# the same words; a test compares the two.
FORMS = {
    "plain": "as it is",
    "JSON": r"with the escapes of JSON strings: `\"`, `\\`, `\/`, `\n`, `\u0026`",
    "URL": "percent-encoded, all of it or some, in either case, with `+` for a blank",
    "HTML": "with character references: by name, by number, in hexadecimal",
    "base64": "of UTF-8 and of UTF-16, alone or inside a longer text, in both alphabets",
    "hex": "in either case, also with separators or as a dump: `70 26`, `70:26`, `<Buffer 70 26>`",
}


# The search

_BLANK = BLANK.encode()

# The mark of a cut, how far from it the rest of a secret may be (quotes, brackets and half an
# escape come in between), and the shortest rest that is looked for.
_CUT_MARK = CUT.encode()
_NEAR = 8 + len(_CUT_MARK)
_LEAST_PIECE = 6

# Shorter needles would be found by chance where two lines are joined.
_LEAST_UNWRAPPED = 8

# A text without any of these has no escapes, line breaks or cuts.
_UNPLAIN = re.compile(rb"[\\%&+\n]|" + _CUT_MARK)

# A larger text is searched for each form, but not for one inside another: a server must not be able
# to make a report slow.
_MAX_NESTED_BYTES = 256 * 1024

# A text with more secrets in other forms than this is blanked as a whole.
_MAX_PLACES = 10_000


class Redactor:
    """Blanks a set of secrets in texts."""

    def __init__(self, secrets: Iterable[str]) -> None:
        known = [secret for secret in secrets if not why_not_blanked(secret)]
        needles = list(map(_needles_of, known))
        self._plain = _sort_needles(plain for plain, _ in needles)
        self._needles = _sort_needles(each for both in needles for each in both)
        # Those that are also searched for across line breaks.
        self._plain_long = [each for each in self._plain if len(each) >= _LEAST_UNWRAPPED]
        self._long = [each for each in self._needles if len(each) >= _LEAST_UNWRAPPED]
        self._sizes = [len(needle) for needle in self._needles]
        self._runs = _EncodedRuns(len(self._plain[0])) if known else None
        self._has_blanks = any(" " in secret for secret in known)
        # The last text without secrets: a test has its name in two events.
        self._unchanged = ""

    def __call__(self, text: str) -> str:
        """The text without secrets."""
        if text is self._unchanged:
            return text
        raw = text.encode("utf-8", "surrogatepass")
        if not self._may_hold(raw):
            self._unchanged = text
            return text
        blanked = raw
        for needle in reversed(self._needles):
            if needle in blanked:
                blanked = _blank_plain(blanked, needle)
        found = list(islice(self._find_hidden(blanked), _MAX_PLACES + 1))
        if len(found) > _MAX_PLACES:
            return BLANK
        if found:
            blanked = _blank_places(blanked, merge_places(found))
        return text if blanked is raw else _decode(blanked)

    def places(self, text: str) -> list[Place]:
        """The start and end of each secret in a text; none overlap."""
        raw = text.encode("utf-8", "surrogatepass")
        if not self._may_hold(raw):
            return []
        found = merge_places([*_find_needles(raw, self._needles), *self._find_hidden(raw)])
        if text.isascii():
            return found
        return [(len(_decode(raw[:start])), len(_decode(raw[:end]))) for start, end in found]

    def _may_hold(self, raw: bytes) -> bool:
        """Whether a text must be searched. Most need not be, so this is fast."""
        for needle in self._needles[: bisect_right(self._sizes, len(raw))]:
            if needle in raw:
                return True
        if _UNPLAIN.search(raw):
            return True
        return self._runs is not None and self._runs.are_in(raw)

    def _find_hidden(self, raw: bytes) -> Iterator[Place]:
        """The places of secrets in another form, in one form inside another, or cut."""
        if self._runs is None:
            return
        is_nested = len(raw) <= _MAX_NESTED_BYTES
        seen: set[bytes] = set()
        for outer in _read_in_ways(raw, is_nested=is_nested):
            yield from self._find_in(outer)
            if is_nested:
                places = self._runs.places(outer.raw, self._holds_nested)
            else:
                # Secrets in base64 are found as needles.
                places = self._runs.hex_places(outer.raw, self._holds)
            yield from outer.trace(places)
            with_json = outer.is_unquoted or not is_nested
            for undone_once in _undo_escapes(
                outer, has_blanks=self._has_blanks, with_json=with_json
            ):
                readings = list(_with_unwrapped(undone_once))
                # Most texts say the same with and without their line breaks.
                if readings[-1].raw in seen:
                    continue
                seen.add(readings[-1].raw)
                for inner in readings:
                    yield from self._find_in(inner)
                    if is_nested:
                        yield from self._find_nested(inner, self._runs)

    def _find_nested(self, outer: _Reading, runs: _EncodedRuns) -> Iterator[Place]:
        """The places of secrets in a second form, in a text that was read in a first."""
        yield from outer.trace(runs.hex_places(outer.raw, self._holds))
        for undone_twice in _undo_escapes(outer, has_blanks=self._has_blanks):
            for inner in _with_unwrapped(undone_twice):
                yield from inner.trace(_find_needles(inner.raw, self._plain_in(inner)))

    def _find_in(self, reading: _Reading) -> Iterator[Place]:
        needles = self._long if reading.is_unwrapped else self._needles
        found = list(_find_pieces(reading.raw, needles))
        if not reading.is_original:
            found += _find_needles(reading.raw, needles)
        yield from reading.trace(found)

    def _plain_in(self, reading: _Reading) -> Sequence[bytes]:
        return self._plain_long if reading.is_unwrapped else self._plain

    def _holds(self, decoded: bytes) -> bool:
        """Whether decoded bytes hold a plain secret."""
        return any(needle in decoded for needle in self._plain)

    def _holds_nested(self, decoded: bytes) -> bool:
        """Whether decoded bytes hold a secret, plain or in another form."""
        if self._holds(decoded):
            return True
        assert self._runs is not None, "there are secrets"
        for text in _texts_in(decoded, self._plain):
            for outer in _with_unwrapped(_Reading(text)):
                needles = self._long if outer.is_unwrapped else self._needles
                if any(needle in outer.raw for needle in needles):
                    return True
                for inner in _undo_escapes(outer, has_blanks=self._has_blanks):
                    if any(needle in inner.raw for needle in self._plain_in(inner)):
                        return True
            if any(self._runs.hex_places(text, self._holds)):
                return True
        return False


def _read_in_ways(raw: bytes, *, is_nested: bool) -> Iterator[_Reading]:
    """The text as it is, without line breaks, and as the content of a JSON string.

    Lazy: what was found in one reading is no longer there in the next.
    """
    for reading in _with_unwrapped(_Reading(raw)):
        yield reading
        if is_nested:
            yield from _unquote_json(reading)


def _texts_in(decoded: bytes, needles: Sequence[bytes]) -> Iterator[bytes]:
    """The texts in decoded bytes that are long enough to hold a needle in another form."""
    table = _ASCII if all(needle.isascii() for needle in needles) else _UNICODE
    least = len(needles[0])

    def long_enough(text: bytes) -> bytes:
        return b"\0".join(text[start:end] for start, end in _stretches(text, table, least))

    yield long_enough(decoded)
    if _UTF_16.search(decoded):
        for start in range(2):
            for name in ("utf-16-le", "utf-16-be"):
                text = decoded[start:].decode(name, "ignore")
                yield long_enough(text.encode("utf-8", "ignore"))


_UTF_16 = re.compile(rb"\0[\x20-\x7e]\0[\x20-\x7e]\0[\x20-\x7e]")
_ASCII = bytes(120 if 32 <= byte < 127 or byte in b"\t\r\n" else 0 for byte in range(256))
_UNICODE = bytes(120 if byte >= 32 or byte in b"\t\r\n" else 0 for byte in range(256))


def _blank_places(raw: bytes, places: Iterable[Place]) -> bytes:
    pieces: list[bytes] = []
    done = 0
    for start, end in places:
        pieces += (raw[done:start], _BLANK)
        done = end
    return b"".join([*pieces, raw[done:]])


def _sort_needles(groups: Iterable[frozenset[bytes]]) -> list[bytes]:
    """The needles, shortest first."""
    return sorted(frozenset[bytes]().union(*groups), key=len)


# Each secret that is learned makes a new redactor for all of them.
@lru_cache(maxsize=4096)
def _needles_of(secret: str) -> tuple[frozenset[bytes], frozenset[bytes]]:
    """What is searched for: the secret and its parts, plain and encoded."""
    plain: set[bytes] = set()
    encoded: set[bytes] = set()
    for part in _parts_of(secret):
        if why_not_blanked(part):
            continue
        raw = part.encode("utf-8", "surrogateescape")
        # In a text, a byte that is not UTF-8 is a surrogate.
        in_text = raw.decode("utf-8", "surrogateescape").encode("utf-8", "surrogatepass")
        plain |= {raw, in_text}
        encoded.update(_encodings_of(part))

    def usable(forms: set[bytes]) -> frozenset[bytes]:
        return frozenset(form for form in forms if len(form) >= LEAST_CHARS and form not in _BLANK)

    return usable(plain), usable(encoded)


def _find_needles(raw: bytes, needles: Iterable[bytes]) -> Iterator[Place]:
    for needle in needles:
        if needle in raw:
            yield from ((at, at + len(needle)) for at in _find_all(needle, raw))


def _find_all(needle: bytes, raw: bytes) -> Iterator[int]:
    at = raw.find(needle)
    while at >= 0:
        yield at
        at = raw.find(needle, at + len(needle))


def _find_pieces(raw: bytes, needles: Sequence[bytes]) -> Iterator[Place]:
    """The parts of needles that are left beside a cut."""
    if not needles or _CUT_MARK not in raw:
        return
    reach = len(needles[-1]) + _NEAR
    for low, high in merge_places((at - reach, at + reach) for at in _find_all(_CUT_MARK, raw)):
        low = max(0, low)
        near = raw[low:high]
        for needle in needles:
            yield from ((low + start, low + end) for start, end in _find_pieces_of(needle, near))


def _find_pieces_of(needle: bytes, raw: bytes) -> Iterator[Place]:
    """The head of a secret before a cut, or its tail after one."""
    least = max(LEAST_CHARS, min(_LEAST_PIECE, len(needle) // 2))
    for start in _find_all(needle[:least], raw):
        length = least
        while length < len(needle) and raw.startswith(needle[: length + 1], start):
            length += 1
        end = start + length
        if _CUT_MARK in raw[end : end + _NEAR]:
            yield start, end
    for at in _find_all(needle[-least:], raw):
        start, end = at, at + least
        while start and needle[start - end - 1 :] == raw[start - 1 : end]:
            start -= 1
        if _CUT_MARK in raw[max(0, start - _NEAR) : start]:
            yield start, end


def _blank_plain(raw: bytes, needle: bytes) -> bytes:
    """The text without a needle, with no half of an escape left beside it: JSON stays JSON.

    In JSON, backslashes before a quote or a backslash belong to it. Those after a backslash at the
    end of the needle do, too, except an odd one: it escapes what follows.
    """
    core = needle.strip(b"\\")
    if not core or (needle[0] not in b'"\\/' and needle[-1] != _BACKSLASH):
        return raw.replace(needle, _BLANK)
    head, tail = len(needle) - len(needle.lstrip(b"\\")), len(needle) - len(needle.rstrip(b"\\"))
    before = rb"(?<!\\)\\{%d,}+" % head if needle[0] in b'"\\/' else b""
    after = rb"(\\{%d,}+)" % tail if tail else b"()"

    def blank(found: re.Match[bytes]) -> bytes:
        is_odd = len(found[1]) > tail and len(found[1]) % 2
        return _BLANK + b"\\" if is_odd else _BLANK

    return re.sub(before + re.escape(core) + after, blank, raw)


_BACKSLASH = ord("\\")


def _decode(raw: bytes) -> str:
    try:
        return raw.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        # A secret that is not UTF-8 may end inside a character.
        return raw.decode("utf-8", "replace")


# What to look for


def _parts_of(secret: str) -> Iterator[str]:
    """The secret, and the parts of it that may occur alone.

    A server may trim what it gets. Output is shown line by line, so each line of a key file is
    blanked by itself. A credential is also secret without its scheme or its address.
    """
    yield secret
    yield secret.strip()
    yield from (line.strip() for line in secret.splitlines())
    for credential in (_BEHIND_SCHEME, _IN_ADDRESS):
        if found := credential.match(secret):
            yield found[1]


_BEHIND_SCHEME = re.compile(r"\s*(?:basic|bearer|token)\s+(\S+)\s*$", re.IGNORECASE)
_IN_ADDRESS = re.compile(r"\s*[a-z][a-z0-9+.-]*://[^\s/@:]*:([^\s/@]+)@", re.IGNORECASE)


def _encodings_of(secret: str) -> Iterator[bytes]:
    """The secret in hexadecimal and in base64, wherever it begins in a longer text."""
    raw = secret.encode("utf-8", "surrogateescape")
    yield raw.hex().encode()
    yield raw.hex().upper().encode()
    yield from _base64(raw)
    for name in _WIDE:
        yield from _base64(secret.encode(name, "surrogatepass"))


_WIDE = ("utf-16-le", "utf-16-be")


def _base64(raw: bytes) -> Iterator[bytes]:
    """Inside a longer text base64 shifts by 0, 1 or 2 bytes; both ends depend on neighbours."""
    for shift in range(3):
        encoded = binascii.b2a_base64(b"\0" * shift + raw, newline=False).rstrip(b"=")
        is_mixed = (len(raw) + shift) % 3 != 0
        inner = encoded[(0, 2, 3)[shift] : len(encoded) - is_mixed]
        yield inner
        yield inner.replace(b"+", b"-").replace(b"/", b"_")


# Escapes


class _Escapes(Record):
    """One kind of escapes: a byte that each has, its pattern, and its meaning."""

    mark: bytes
    token: re.Pattern[bytes]
    meaning: Callable[[bytes], bytes]


@lru_cache(maxsize=4096)
def _json_meaning(token: bytes) -> bytes:
    body = token[1:]
    if len(body) == 1:
        return _NAMED.get(body, body)
    digits = body.replace(b"\\u", b"")[1:].decode()
    # A lone surrogate stays as it is.
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


class _Reading:
    """A text as bytes: the original, or `source` with one kind of escapes undone."""

    def __init__(
        self, raw: bytes, source: _Reading | None = None, escapes: _Escapes | None = None
    ) -> None:
        self.raw = raw
        self.is_original = source is None
        # Whether line breaks, or JSON escapes, were undone in this reading or one before it.
        self.is_unwrapped: bool = escapes is _BREAKS or (source is not None and source.is_unwrapped)
        self.is_unquoted: bool = escapes is _JSON or (source is not None and source.is_unquoted)
        self._source = source
        self._escapes = escapes
        self._escaped = source.raw if source else b""

    def trace(self, places: Iterable[Place]) -> list[Place]:
        """The places in the original text that these bytes come from.

        They are erased from this reading and its sources, so that each is found once.
        """
        found = list(places)
        if not found:
            return []
        raw = bytearray(self.raw)
        for start, end in found:
            raw[start:end] = bytes(end - start)
        self.raw = bytes(raw)
        return self._source.trace(self._origins(found)) if self._source else found

    def _origins(self, places: list[Place]) -> list[Place]:
        """The same places in the source."""
        assert self._escapes is not None
        # The start of each stretch here, and its place in the source: plain bytes and escapes
        # alternate.
        starts: list[int] = []
        stretches: list[Place] = []
        here = done = 0
        for found in self._escapes.token.finditer(self._escaped):
            start, end = found.span()
            starts += (here, here + start - done)
            stretches += ((done, start), (start, end))
            here += start - done + len(self._escapes.meaning(found[0]))
            done = end
        starts.append(here)
        stretches.append((done, len(self._escaped)))

        def origin(position: int) -> Place:
            index = bisect_right(starts, position) - 1
            start, end = stretches[index]
            if index % 2:
                return start, end
            start += position - starts[index]
            return start, start + 1

        return [(origin(start)[0], origin(end - 1)[1]) for start, end in places]


def _undo_escapes(
    reading: _Reading, *, has_blanks: bool, with_json: bool = True
) -> Iterator[_Reading]:
    """The text without its escapes, one kind at a time.

    With `has_blanks`, plus signs are also read as blanks, as in the query of a URL.
    """
    kinds = (*((_JSON,) if with_json else ()), _URL, _HTML, *((_QUERY,) if has_blanks else ()))
    for escapes in kinds:
        if found := _undo_one(reading, escapes):
            yield found


def _with_unwrapped(reading: _Reading) -> Iterator[_Reading]:
    """The text, and the text without its line breaks."""
    yield reading
    if not reading.is_unwrapped and (found := _undo_one(reading, _BREAKS)):
        yield found


def _unquote_json(reading: _Reading) -> Iterator[_Reading]:
    """The content of a JSON message, or of a text that mcptest quoted as JSON.

    The secret was not written that way by the server, so it does not count as a form.
    """
    if found := _undo_one(reading, _JSON):
        yield from _with_unwrapped(found)


def _undo_one(reading: _Reading, escapes: _Escapes) -> _Reading | None:
    if escapes.mark not in reading.raw:
        return None
    meaning = escapes.meaning
    raw = escapes.token.sub(lambda found: meaning(found[0]), reading.raw)
    return None if raw == reading.raw else _Reading(raw, reading, escapes)


# Runs of base64 and hexadecimal


class _EncodedRuns:
    """Finds and decodes runs of base64 and hexadecimal in a text.

    `least` is the number of bytes of the shortest secret: shorter runs cannot hold one.
    """

    def __init__(self, least: int) -> None:
        # A secret that is not found as a needle was escaped or encoded before, so it is longer.
        self._least_base64 = (least + 1) * 8 // 6 - 1
        pairs = min(least, _MOST_PAIRS) - 1
        self._hex = re.compile(rb"xx(?:%b?xx(?!w)){%d,}" % (_GAP, pairs))

    def are_in(self, raw: bytes) -> bool:
        is_base64 = any(_stretches(raw, _BASE64, self._least_base64))
        return is_base64 or self._hex.search(raw.translate(_HEX)) is not None

    def places(self, raw: bytes, holds: Callable[[bytes], bool]) -> Iterator[Place]:
        """The places of runs in which `holds` finds a secret after decoding."""
        spans = list(_stretches(raw, _BASE64, self._least_base64))
        yield from _find_holding(raw, spans, _decode_base64, holds)
        yield from self.hex_places(raw, holds)

    def hex_places(self, raw: bytes, holds: Callable[[bytes], bool]) -> Iterator[Place]:
        spans = [found.span() for found in self._hex.finditer(raw.translate(_HEX))]
        for start, end in _find_holding(raw, spans, _decode_hex, holds):
            # In a dump, the characters beside the last bytes are secret, too.
            is_dump = b"\n" in raw[start:end]
            line_end = raw.find(b"\n", end) if is_dump else end
            yield start, len(raw) if line_end < 0 else line_end


def _stretches(raw: bytes, table: bytes, least: int) -> Iterator[Place]:
    """The places of at least `least` bytes in a row that the table maps to x."""
    marked, wanted = raw.translate(table), b"x" * least
    start = marked.find(wanted)
    while start >= 0:
        end = marked.find(b"\0", start)
        end = len(raw) if end < 0 else end
        yield start, end
        start = marked.find(wanted, end)


def _find_holding(
    raw: bytes,
    spans: list[Place],
    decoded: Callable[[list[bytes]], Iterator[bytes]],
    holds: Callable[[bytes], bool],
) -> Iterator[Place]:
    # Most texts hold no secret, so all runs are decoded together first.
    if spans and any(map(holds, decoded([raw[start:end] for start, end in spans]))):
        for start, end in spans:
            if any(map(holds, decoded([raw[start:end]]))):
                yield start, end


def _make_table(**marks: bytes) -> bytes:
    """A table for `bytes.translate` that maps all bytes to 0 except these."""
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
_BASE64 = _make_table(x=_LETTERS + b"0123456789+/_-=")
_HEX = _make_table(w=_LETTERS, x=_DIGITS, blank=b" \t\r,;-+\\", colon=b":", prefix=b"x", line=b"\n")
# Longer runs in one piece cannot be required: dumps have lines.
_MOST_PAIRS = 8
# What may be between two bytes, in the marks of the table: blanks, signs, 0x and \\x; in a dump the
# characters printed beside the bytes, and the address at the start of the next line. If a colon
# follows the addresses (xxd), two blanks end the bytes of a line; otherwise (hexdump) not always.
_BESIDE = rb" {2,}[^\n]{0,80}"
_GAP = (
    rb"(?:%b\n *x{4,16}: +|[ :]{0,3}(?:x0|0)|[ :]{1,3}"
    rb"|(?:%b)? ?\n *(?:x{4,16}(?:: +| {2,})|x{6,16} +)?)"
) % (_BESIDE, _BESIDE)
_BETWEEN = re.compile(rb"(?<=xx)%b(?=xx)" % _GAP)
_TO_STANDARD = bytes.maketrans(b"-_", b"+/")


def _decode_base64(runs: list[bytes]) -> Iterator[bytes]:
    """The bytes of the runs, for each offset in a group of four at which they may begin."""
    # Padding is decoded to NULs, and so are the ends that are filled up below.
    plain = [run.translate(_TO_STANDARD).replace(b"=", b"A") for run in runs]
    for offset in range(4):
        padded = (run[offset:] + b"A" * (-(len(run) - offset) % 4 + 4) for run in plain)
        yield binascii.a2b_base64(b"".join(padded))


def _decode_hex(runs: list[bytes]) -> Iterator[bytes]:
    """The bytes of the runs, whose first digit may belong to something else."""
    digits: list[bytes] = []
    for run in runs:
        gaps = [found.span() for found in _BETWEEN.finditer(run.translate(_HEX))]
        starts, ends = [0, *(end for _, end in gaps)], [*(start for start, _ in gaps), len(run)]
        pieces = [run[start:end] for start, end in zip(starts, ends, strict=True)]
        digits.append(b"".join(pieces).translate(None, _NO_DIGITS))
    for offset in range(2):
        even = (each[offset : len(each) - (len(each) - offset) % 2] for each in digits)
        yield bytes.fromhex(b"00".join(even).decode())


_NO_DIGITS = bytes(byte for byte in range(256) if byte not in _DIGITS)
