"""Post to a URL and read the status. Nothing of it takes longer than the deadline allows."""

from __future__ import annotations

import select
import time

from mcptest.transport.http.channel import Exchange, Head, HttpRequest
from mcptest.transport.http.connection import HttpConnection, HttpConnectionError, Trust

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.protocol.http_address import Address

__all__ = ["post"]

# What had not come to pass when the time was over, while the connection was made.
_UNDONE = {
    "lookup": "its name was not looked up",
    "connect": "no connection",
    "tls": "no secure connection",
}

# From here on an answer is a refusal, for which nobody has to read all of what is posted.
_REFUSAL = 400


def post(address: Address, content_type: str, body: bytes, deadline: float) -> int:
    """The status that is answered; OSError says why there is none that counts.

    Redirects are not followed and no proxy is asked: what is posted goes to this address, and
    nobody said that it may go elsewhere.
    """
    headers = (("Content-Type", content_type), ("Connection", "close"))
    request = HttpRequest(method="POST", address=address, headers=headers, body=body)
    link = HttpConnection(address, Trust(), None)
    try:
        return _status(Exchange(request, link), deadline)
    except HttpConnectionError as error:
        raise ConnectionError(error.message) from None
    finally:
        link.close()


def _status(exchange: Exchange, deadline: float) -> int:
    """The status, once everything has been sent: who answers sooner may not have read it."""
    status = 0
    while True:
        for piece in exchange.advance():
            status = piece.status if isinstance(piece, Head) else status
        if status >= _REFUSAL or (status and not exchange.unsent_bytes):
            break
        _wait(exchange, select.POLLOUT if status else exchange.wants, deadline)
    if exchange.stopped_reading and status < _REFUSAL:
        raise ConnectionError(f"it answered with status {status} and did not take everything")
    return status


def _wait(exchange: Exchange, wants: int, deadline: float) -> None:
    link = exchange.link
    left_s = deadline - time.monotonic()
    if left_s <= 0:
        raise TimeoutError(f"{_undone(exchange)} in time")
    poll = select.poll()
    poll.register(link.fd, wants)
    # A place that is silent leaves the others their share of the time.
    share_s = 0.0 if link.has_more() else left_s / (1 + link.addresses_left)
    if not poll.poll(share_s * 1000) and link.addresses_left:
        link.try_next_address()


def _undone(exchange: Exchange) -> str:
    if not exchange.link.is_open:
        return _UNDONE[exchange.link.state]
    return "it did not take everything" if exchange.unsent_bytes else "no answer"
