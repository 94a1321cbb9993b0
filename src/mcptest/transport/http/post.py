"""Post to a URL and read the status, within a deadline."""

from __future__ import annotations

import select
import time

from mcptest.transport import wait_ready
from mcptest.transport.http.channel import Exchange, Head, HttpRequest
from mcptest.transport.http.connection import HttpConnection, HttpConnectionError, Trust

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.protocol.http_address import Address

__all__ = ["post"]

# What was not done at the deadline, while the connection was being made.
_UNDONE = {
    "lookup": "its name was not looked up",
    "connect": "no connection",
    "tls": "no secure connection",
}

# From this status on the answer is a refusal, and the server need not read the whole body.
_REFUSAL = 400


def post(address: Address, content_type: str, body: bytes, deadline: float) -> int:
    """The status of the answer; OSError if there is none, or the body was not read.

    Redirects are not followed and no proxy is used: the body goes to this address only.
    """
    headers = (("Content-Type", content_type), ("Connection", "close"))
    request = HttpRequest(method="POST", address=address, headers=headers, body=body)
    connection = HttpConnection(address, Trust(), None)
    try:
        return _status(Exchange(request, connection), deadline)
    except HttpConnectionError as error:
        raise ConnectionError(error.message) from None
    finally:
        connection.close()


def _status(exchange: Exchange, deadline: float) -> int:
    """The status, once everything has been sent: a server that answers sooner may not read it."""
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
    connection = exchange.connection
    left_s = deadline - time.monotonic()
    if left_s <= 0:
        raise TimeoutError(f"{_undone(exchange)} in time")
    # An address that does not answer leaves the others their share of the time.
    share_s = 0.0 if connection.has_more() else left_s / (1 + connection.addresses_left)
    if not wait_ready({connection.fd: wants}, share_s) and connection.addresses_left:
        connection.try_next_address()


def _undone(exchange: Exchange) -> str:
    if not exchange.connection.is_open:
        return _UNDONE[exchange.connection.state]
    return "it did not take everything" if exchange.unsent_bytes else "no answer"
