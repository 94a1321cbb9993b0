"""What the keys of a server on HTTP are called: those who read them load the rest."""

from __future__ import annotations

__all__ = ["AUTH_KEYS", "GRANT_KEYS", "HTTP_KEYS", "TRANSPORTS", "camel_case"]

HTTP_KEYS = ("url", "headers", "auth", "ca_file", "insecure_tls", "transport")
AUTH_KEYS = ("bearer_token_env", "client_credentials")
GRANT_KEYS = ("token_url", "client_id", "client_id_env", "client_secret_env", "scope", "resource")
TRANSPORTS = ("auto", "streamable-http", "sse")


def camel_case(key: str) -> str:
    """A key as configs spell it."""
    first, *others = key.split("_")
    return first + "".join(word.capitalize() for word in others)
