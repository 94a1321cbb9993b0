"""Blank secrets out of everything that is written, whatever shape they took on the way."""

from __future__ import annotations

from mcptest.core.record import Record
from mcptest.core.visible import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

__all__ = ["BLANK", "redact_all", "redact_bytes", "redactor"]

BLANK = "[secret]"

# Shorter values ("1", "on") are no secrets, and blanking them would shred the report.
_LEAST_CHARS = 4

# Fields of our records that hold a word with a fixed meaning, never one from outside.
_OUR_WORDS = frozenset(
    ["code", "direction", "effect", "format", "kind", "severity", "started_at", "status"]
)

# Fields that hold a JSON value from a file or a server; other numbers are counts of ours.
_PAYLOADS = frozenset(["actual", "expected", "request", "response"])


def redactor(secrets: Iterable[str]) -> Callable[[str], str]:
    """A function that blanks these values, also as JSON, base64 and percent-encoded."""
    forms = sorted(
        {
            form
            for secret in secrets
            if len(secret) >= _LEAST_CHARS
            for form in _forms(secret)
            if len(form) >= _LEAST_CHARS
        },
        key=len,
        reverse=True,
    )
    if not forms:
        return lambda text: text

    def redact(text: str) -> str:
        for form in forms:
            text = text.replace(form, BLANK)
        return text

    return redact


def redact_all(value: Any, redact: Callable[[str], str]) -> Any:
    """The same value with every text in it redacted.

    This has to happen before anything is rendered: half a secret is not recognised any
    more, and one that is also a number or a word of ours ("8080", "error") would take the
    syntax of the report with it.
    """
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, (list, tuple)):
        return type(value)(redact_all(inner, redact) for inner in value)
    if isinstance(value, dict):
        return {redact(key): redact_all(inner, redact) for key, inner in value.items()}
    if isinstance(value, Record):
        return value.but(**dict(_redacted_fields(value, redact)))
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value if redact(str(value)) == str(value) else BLANK
    return value


def redact_bytes(raw: bytes, redact: Callable[[str], str]) -> bytes:
    """Bytes from a server with every secret in them blanked."""
    text = raw.decode("utf-8", "surrogateescape")
    return redact(text).encode("utf-8", "surrogateescape")


def _redacted_fields(record: Record, redact: Callable[[str], str]) -> Iterable[tuple[str, Any]]:
    for name, value in record.fields():
        is_count = isinstance(value, (int, float)) and name not in _PAYLOADS
        if not is_count and name not in _OUR_WORDS:
            yield name, redact_all(value, redact)


def _forms(secret: str) -> Iterable[str]:
    # Only runs that have secrets pay for these imports.
    import base64  # noqa: PLC0415
    import json  # noqa: PLC0415
    import re  # noqa: PLC0415
    from urllib.parse import quote, quote_plus  # noqa: PLC0415

    raw = secret.encode("utf-8", "surrogateescape")
    yield secret
    # Output is shown line by line, so each line of a key file must go by itself.
    yield from (line for line in secret.splitlines() if len(line) >= _LEAST_CHARS)
    yield visible(secret)
    # A server may trim what it was given, and there are many ways to write a text in JSON.
    yield secret.strip()
    yield "".join(f"\\u{ord(char):04x}" for char in secret)
    yield "".join(f"\\u{ord(char):04X}" for char in secret)
    yield json.dumps(secret)[1:-1].replace("/", "\\/")
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    for percent in (quote(raw, safe=""), quote(raw), quote_plus(raw)):
        yield percent
        yield re.sub("%..", lambda found: found[0].lower(), percent)
    # Inside a longer text base64 shifts by 0, 1 or 2 bytes; the ends mix with neighbours.
    for shift in range(3):
        encoded = base64.b64encode(b"\0" * shift + raw).decode("ascii").rstrip("=")
        inner = encoded[(0, 2, 3)[shift] : len(encoded) - (1 if (len(raw) + shift) % 3 else 0)]
        if len(inner) >= _LEAST_CHARS:
            yield inner
            yield inner.replace("+", "-").replace("/", "_")
