"""Which values cannot be blanked: too short to be secrets, or words that stand everywhere."""

from __future__ import annotations

__all__ = ["BLANK", "CUT", "LEAST_CHARS", "why_not_blanked"]

BLANK = "[secret]"

# Wherever we cut a text, this says so.
CUT = "…"

# Shorter values ("1", "on") are no secrets, and blanking them would shred the report.
LEAST_CHARS = 4

# Longer ones that are settings and not secrets, or stand in every answer and every report.
_COMMON = frozenset(
    [
        *("true", "false", "null", "none", "undefined", "auto", "default", "enabled", "disabled"),
        *("test", "tests", "testing", "prod", "production", "stage", "staging", "develop"),
        *("development", "local", "localhost", "demo", "example", "debug", "info", "warn"),
        *("warning", "error", "trace", "verbose", "quiet", "silent", "http", "https", "stdio"),
        *("utf-8", "utf8", "json", "text", "name", "type", "result", "content", "method"),
        *("params", "jsonrpc", "tool", "tools", "server", "client", "string", "object"),
        *("secret", "secrets"),
    ]
)


def why_not_blanked(secret: str) -> str:
    """Why a value is left as it is wherever it stands, as half a sentence; "" when it is not."""
    value = secret.strip()
    if len(value) < LEAST_CHARS:
        return "is too short to be blanked"
    is_common = value.lower() in _COMMON or value in BLANK
    return "is too common a word to be blanked" if is_common else ""
