"""A client of `mcptest mock` that can be as rude as a test needs it to be."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from line_client import LineClient, request

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["MockClient", "call", "mocking", "request"]


class MockClient(LineClient):
    """One mock process, and both ends of its pipes."""

    def message(self) -> Any:
        return json.loads(self.line())

    def ask(self, method: str, params: object = None, id: object = 1) -> Any:
        """Send a request and take the next message."""
        self.send(request(method, params, id))
        return self.message()


def call(tool: str, id: object = 1, **arguments: Any) -> dict[str, Any]:
    return request("tools/call", {"name": tool, "arguments": arguments}, id)


def mocking(folder: Path, *words: str) -> MockClient:
    """A mock that is gone afterwards, whatever happens."""
    return MockClient([sys.executable, "-m", "mcptest", "mock", *words], folder, {})
