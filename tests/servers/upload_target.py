"""A target for uploads on loopback, which takes them or does not."""

from __future__ import annotations

import contextlib
import http.server
import json
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Collector", "collecting"]

_PATIENCE_S = 20.0


class Collector(http.server.HTTPServer):
    """Answers with its statuses in their order, the last one again."""

    def __init__(self, statuses: tuple[int, ...], headers: dict[str, str]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.statuses = list(statuses)
        self.headers = headers
        # What was answered, where it was sent to, its headers and its body.
        self.heard: list[tuple[int, str, dict[str, str], bytes]] = []

    @property
    def target(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/calls?run=1"

    @property
    def accepted(self) -> list[Any]:
        """The records in what was answered with success."""
        bodies = b"".join(body for status, _, _, body in self.heard if status < 300)
        return [json.loads(line) for line in bodies.split(b"\n")[:-1]]


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        statuses = self.server.statuses
        status = statuses.pop(0) if len(statuses) > 1 else statuses[0]
        self.server.heard.append((status, self.path, dict(self.headers), body))
        self.send_response(status)
        for name, value in self.server.headers.items():
            self.send_header(name, value)
        self.end_headers()

    do_GET = do_POST

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextlib.contextmanager
def collecting(*statuses: int, **headers: str) -> Iterator[Collector]:
    """A target that is gone afterwards."""
    server = Collector(statuses, headers)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join(_PATIENCE_S)
        server.server_close()
