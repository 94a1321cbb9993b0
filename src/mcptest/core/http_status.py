"""What a refusing HTTP status says, in a sentence that helps. Pure."""

from __future__ import annotations

from mcptest.core.text import quote_bytes, shorten, visible
from mcptest.core.trouble import Trouble

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["NOT_SPOKEN", "of_refused_credentials", "status_trouble", "without_older_transport"]

# How a server answers initialize when it has no Streamable HTTP at this place.
NOT_SPOKEN = (400, 404, 405)

_HINTS = {
    301: "the server has moved: give the new URL",
    400: "the server does not take the message as it is",
    403: "the credentials are not enough, or the server does not take requests from here",
    404: "is the path of the URL right? Many servers answer at /mcp",
    405: "is this the MCP endpoint? An older server may have one for GET and another for POST",
    406: "the server offers neither JSON nor an event stream",
    413: "the message is larger than the server takes",
    415: "the server takes another type of content than application/json",
    429: "the server wants fewer requests",
    500: "the server failed inside; its own log says why",
    502: "something before the server could not reach it",
    503: "the server, or something before it, is not ready",
    504: "something before the server gave up waiting for it",
}
_UNAUTHORIZED = 401
_WANTED = 'the server wants credentials: give "auth" or "headers", or --bearer-env or --header-env'
_REFUSED = 'the server refused the credentials it was given: look at "auth" and "headers", or at '
_REFUSED += "what --bearer-env and --header-env name"

_NO_OLDER = "nor does it have the older transport of two endpoints (GET brings no event stream)"

# Nothing has begun before these, so that nothing can have been done.
_OPENING = ("initialize", "server/discover")


def status_trouble(
    said: str, id: object, status: int, headers: Mapping[str, str], raw: bytes
) -> Trouble:
    """That a message was refused, with what the server said beside its status."""
    # Where it is cut it says so: half a secret is known by that alone.
    told = f": {quote_bytes(raw)}" if raw.strip() else ", without a word"
    hint = _HINTS.get(status, "")
    if status == _UNAUTHORIZED:
        wants = headers.get("www-authenticate", "")
        hint = _WANTED
        hint += f"; it asks for {visible(shorten(wants, 200))}" if wants else ""
    elif said == "server/discover" and status in NOT_SPOKEN:
        hint = "a server with a handshake may do so: leave out --spec-version"
    elif later := headers.get("retry-after", ""):
        hint += f"; it says to come back after {visible(shorten(later, 40))}"
    return Trouble(
        kind="auth_failed" if status == _UNAUTHORIZED else "http_status",
        message=f"the server refused {said} with status {status}{told}",
        hint=hint.lstrip("; "),
        id=id,
        effect="definite" if 400 <= status < 500 or said in _OPENING else "indefinite",
        code=status,
    )


def of_refused_credentials(trouble: Trouble) -> Trouble:
    """The same where the server has had credentials, and did not take them."""
    return trouble.but(hint=trouble.hint.replace(_WANTED, _REFUSED))


def without_older_transport(trouble: Trouble, target: str) -> Trouble:
    """The same where the older transport was tried as well, at the same path."""
    if trouble.code != 404:
        return trouble.but(hint=f"{trouble.hint}; {_NO_OLDER}".lstrip("; "))
    others = {
        "/mcp": "many servers answer at /mcp",
        "/sse": "those of the older transport of two endpoints at /sse",
    }
    path = target.partition("?")[0].rstrip("/")
    places = ", ".join(text for place, text in others.items() if not path.endswith(place))
    return trouble.but(hint=f"is the path of the URL right? There is nothing here; {places}")
