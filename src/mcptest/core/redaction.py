"""Blank secrets out of everything that is written, whatever shape they took on the way."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["BLANK", "redactor"]

BLANK = "[secret]"

# Shorter values ("1", "on") are no secrets, and blanking them would shred the report.
_LEAST_CHARS = 4


def redactor(secrets: Iterable[str]) -> Callable[[str], str]:
    """A function that blanks these values, also as JSON, base64 and percent-encoded."""
    forms = sorted(
        {form for secret in secrets if len(secret) >= _LEAST_CHARS for form in _forms(secret)},
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


def _forms(secret: str) -> Iterable[str]:
    # Only runs that have secrets pay for these imports.
    import base64  # noqa: PLC0415
    import json  # noqa: PLC0415
    from urllib.parse import quote  # noqa: PLC0415

    raw = secret.encode("utf-8", "surrogateescape")
    yield secret
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    yield quote(raw, safe="")
    yield quote(raw)
    # Inside a longer text base64 shifts by 0, 1 or 2 bytes; the ends mix with neighbours.
    for shift in range(3):
        encoded = base64.b64encode(b"\0" * shift + raw).decode("ascii").rstrip("=")
        inner = encoded[(0, 2, 3)[shift] : len(encoded) - (1 if (len(raw) + shift) % 3 else 0)]
        if len(inner) >= _LEAST_CHARS:
            yield inner
            yield inner.replace("+", "-").replace("/", "_")
