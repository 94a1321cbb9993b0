"""`mcptest mock --http PORT`: the mock as a server over Streamable HTTP."""

from __future__ import annotations

import secrets

from mcptest.cli.output import complain
from mcptest.core.errors import UsageError
from mcptest.core.text import visible
from mcptest.mock.http_mock import HttpMock
from mcptest.mock.http_rules import ENDPOINT
from mcptest.wire.http_serving import open_listener, serve_http

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from mcptest.mock.faults import Faults
    from mcptest.mock.report import MockReport
    from mcptest.mock.respond import Player
    from mcptest.wire.interrupts import Interrupts

    Serving = Callable[[Player, Faults, Interrupts], MockReport]

__all__ = ["serving_at"]

_MAX_PORT = 65_535


def serving_at(word: str, bounded: AbstractContextManager[object]) -> Serving:
    """What serves at a port until a signal ends it. UsageError when nothing can listen there."""
    port = int(word) if word.isascii() and word.isdigit() and len(word) <= 5 else -1
    if not 0 <= port <= _MAX_PORT:
        help = "for example --http 8000; with 0 a free one is taken"
        raise UsageError(f"--http takes a port from 0 to {_MAX_PORT}, not {visible(word)!r}", help)
    listener = open_listener(port)

    def serve(player: Player, faults: Faults, interrupts: Interrupts) -> MockReport:
        mock = HttpMock(player, faults, lambda: secrets.token_urlsafe(32), bounded)
        address = f"http://127.0.0.1:{listener.getsockname()[1]}{ENDPOINT}"
        complain(f"mcptest mock: listening on {address}\n")
        serve_http(listener, interrupts, mock)
        return mock.report()

    return serve
