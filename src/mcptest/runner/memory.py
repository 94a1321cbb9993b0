"""What a server in our own process is described by, where a process would have a command."""

from __future__ import annotations

from mcptest.core.http_address import BadUrlError, parse_url
from mcptest.core.plan import ClientSpec, HttpSpec, ServerSpec
from mcptest.formats.client_stubs import read_client
from mcptest.formats.fields import Fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from mcptest.core.diagnostics import Complaint
    from mcptest.wire.memory_target import MemoryTarget

__all__ = ["client_of", "memory_spec"]

# Nothing listens there. Apps that look at the host they are asked by know this one.
_ORIGIN = "http://localhost:8000"


def memory_spec(
    target: MemoryTarget, *, path: str = "/mcp", headers: Mapping[str, str] | None = None
) -> ServerSpec:
    """The server that stands for an object; an app is asked at `path`, with these headers."""
    http = None
    if target.is_app:
        url = _ORIGIN + (path if path.startswith("/") else f"/{path}")
        try:
            parse_url(url)
        except BadUrlError as error:
            raise ValueError(f"path is no path of a URL: {error}") from None
        http = HttpSpec(url=url, headers=dict(headers or {}))
    return ServerSpec(name=target.name, command=(), http=http)


def client_of(written: dict[str, Any] | None) -> ClientSpec:
    """Our answers to what the server asks, as a config has them; ValueError for mistakes."""
    complaints: list[Complaint] = []
    client = read_client(Fields(written or {}, (), complaints))
    if complaints:
        told = (f"{each.message}; {each.help}".rstrip("; ") for each in complaints)
        raise ValueError(f"client: {'; '.join(told)}")
    return client
