"""Split a byte stream into newline-delimited JSON frames.

The result depends only on the bytes, not on the chunks in which they are read. A line that is not
JSON (most often from a forgotten ``print``) is returned as `Noise`, never raised or dropped.
Whether a JSON value is a legal message is decided in `mcptest.protocol.jsonrpc`.

Each byte is examined once. A line over the limit is reported as soon as it exceeds it, and the
rest of it is discarded up to the next newline.
"""

from __future__ import annotations

import codecs

from mcptest.core.plan import DEFAULT_MAX_LINE_BYTES
from mcptest.core.strict_json import NotJsonError, dump_json, parse_json
from mcptest.core.value_class import ABSENT, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.core.results import Effect

__all__ = [
    "KEPT_BYTES",
    "PLAIN_TEXT",
    "Frame",
    "LineDecoder",
    "Noise",
    "Overlong",
    "Ring",
    "TransportFault",
    "encode_line",
    "read_message",
]


# How much of a bad line is kept as evidence.
KEPT_BYTES = 4096

# The reason for a line that is not meant to be a message, such as a banner or a log line.
PLAIN_TEXT = "it does not begin like JSON"


class Frame(Record):
    """One line that is JSON; `raw` are its bytes, if the decoder keeps them.

    `http` says how it was received over HTTP, as captures have it. `answers` are the ids that
    responses may have on the stream on which it was received, None for any.
    """

    value: object
    line: int
    raw: bytes = b""
    http: dict[str, object] | None = None
    answers: frozenset[tuple[str, object]] | None = None


class Noise(Record):
    """One line that is not JSON. `raw` holds its first bytes, `size` is its length."""

    raw: bytes
    size: int
    reason: str
    line: int
    column: int = 0


class Overlong(Record):
    """A line over the limit; the rest of it is not kept."""

    raw: bytes
    limit: int
    line: int


class LineDecoder:
    """Turns chunks into frames; an unfinished last line is kept for the next chunk."""

    def __init__(
        self, max_line_bytes: int = DEFAULT_MAX_LINE_BYTES, *, keeps_raw: bool = False
    ) -> None:
        self._limit = max_line_bytes
        self._keeps_raw = keeps_raw
        # The unfinished line. Growing it moves pages, not bytes, so a long line is copied once.
        self._begun = bytearray()
        self._skipping = False
        self._line = 0
        self.crlf_lines = 0
        self.blank_lines = 0

    def feed(self, chunk: bytes) -> list[Frame | Noise | Overlong]:
        """The frames and noise that this chunk completes."""
        out: list[Frame | Noise | Overlong] = []
        end = chunk.find(b"\n")
        if end < 0:
            # A piece of a long line.
            self._extend(chunk, out)
            return out
        if end == len(chunk) - 1 and end <= self._limit and not (self._begun or self._skipping):
            # One whole line, as in nearly every read.
            self._line += 1
            self._read_line(chunk[:end], out)
            return out
        first, *rest = chunk.split(b"\n")
        self._extend(first, out)
        for piece in rest:
            self._finish(out)
            self._extend(piece, out)
        return out

    @property
    def begun_line(self) -> int:
        """The number of an unfinished line that is not blank, 0 if there is none."""
        has_begun = self._skipping or (self._begun and not self._begun.isspace())
        return self._line + 1 if has_begun else 0

    @property
    def remainder(self) -> tuple[bytes, int]:
        """The first bytes of the unfinished line, and its length."""
        return bytes(self._begun[:KEPT_BYTES]), len(self._begun)

    def _extend(self, piece: bytes, out: list[Frame | Noise | Overlong]) -> None:
        if self._skipping:
            return
        self._begun += piece
        if len(self._begun) > self._limit:
            # Not a byte over the limit, so that the result does not depend on the chunks.
            head = bytes(self._begun[: min(KEPT_BYTES, self._limit)])
            out.append(Overlong(raw=head, limit=self._limit, line=self._line + 1))
            self._skipping = True
            self._begun = bytearray()

    def _finish(self, out: list[Frame | Noise | Overlong]) -> None:
        self._line += 1
        if self._skipping:
            self._skipping = False
            return
        raw, self._begun = self._begun, bytearray()
        self._read_line(raw, out)

    def _read_line(self, raw: bytes | bytearray, out: list[Frame | Noise | Overlong]) -> None:
        if raw.endswith(b"\r"):
            self.crlf_lines += 1
        if raw.isspace() or not raw:
            self.blank_lines += 1
        else:
            found = read_message(raw, self._line)
            is_kept = self._keeps_raw and type(found) is Frame
            out.append(found.but(raw=bytes(raw)) if is_kept else found)


def encode_line(message: object) -> bytes:
    """A message as one line; lone surrogates are written as JSON escapes."""
    return dump_json(message).encode("utf-8", "backslashreplace") + b"\n"


def read_message(raw: bytes | bytearray, line: int = 0) -> Frame | Noise:
    """The message in a line, or `Noise` with the reason."""
    try:
        return Frame.made_of({"value": parse_json(raw.decode("utf-8")), "line": line})
    except UnicodeDecodeError as error:
        bad = " ".join(f"{byte:02x}" for byte in raw[error.start : error.end])
        reason = f"byte {error.start} (hex {bad}) is not valid UTF-8 ({error.reason})"
        reason, column = _UTF16 if _is_utf16(raw) else reason, error.start + 1
    except NotJsonError as error:
        reason, column = _explain_text(raw, error), error.column
    return Noise(
        raw=bytes(raw[:KEPT_BYTES]), size=len(raw), reason=reason, line=line, column=column
    )


def _explain_text(raw: bytes | bytearray, error: NotJsonError) -> str:
    if raw.startswith(codecs.BOM_UTF8):
        return "it begins with a byte order mark (BOM); messages must not"
    if _is_utf16(raw):
        return _UTF16
    if b"\0" in raw:
        return f"byte {raw.index(0)} is NUL; messages must not hold any"
    if raw.lower().startswith(b"content-length:"):
        return "it is a Content-Length header, as LSP uses; MCP messages are lines of JSON"
    if bytes(raw.strip()) in _BRACKETS or (raw[:1].isspace() and raw.lstrip()[:1] in (b'"', b"{")):
        return "it is a piece of JSON that is spread over several lines; a message is one line"
    return PLAIN_TEXT if error.column == 1 else error.reason


_BRACKETS = frozenset([b"{", b"}", b"[", b"]", b"},", b"],"])
_UTF16 = "it looks like UTF-16; messages must be UTF-8"


def _is_utf16(raw: bytes | bytearray) -> bool:
    # In UTF-16, every other byte of mostly ASCII text is NUL.
    marks = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    return raw.startswith(marks) or (len(raw) > 3 and raw.count(0) * 3 > len(raw))


class Ring:
    """The last `capacity` bytes of a stream, and the count of all."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._bytes = bytearray()
        self.total = 0

    def add(self, chunk: bytes) -> None:
        self.total += len(chunk)
        self._bytes += chunk[-self._capacity :]
        # Rarely, because it moves the whole buffer.
        if len(self._bytes) > 2 * self._capacity:
            del self._bytes[: -self._capacity]

    def tail(self) -> bytes:
        return bytes(self._bytes[-self._capacity :])

    def since(self, mark: int) -> tuple[bytes, int]:
        """The bytes added since `total` was `mark`, and how many of them are lost."""
        wanted = self.total - mark
        kept = self.tail()[-wanted:] if wanted else b""
        return kept, wanted - len(kept)


class TransportFault(Record):
    """A failure below the messages: why the request with this id gets no response, or, without an
    id, what else failed. It is delivered in order with frames and noise.

    `kind` is one of `mcptest.core.results.FAULTS`, `code` the HTTP status of a refusal, else 0.
    """

    kind: str
    message: str
    hint: str = ""
    id: object = ABSENT
    effect: Effect = "indefinite"
    # True if the refused message needed no response, only acceptance.
    is_refusal: bool = False
    code: int = 0
