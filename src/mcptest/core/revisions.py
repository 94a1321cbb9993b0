"""What differs between the published revisions of MCP, as a table."""

from __future__ import annotations

from mcptest.core.record import Record

__all__ = [
    "DEFAULT_OFFER",
    "HANDSHAKE_REVISIONS",
    "REVISIONS",
    "STATELESS",
    "VERSION_KEY",
    "Revision",
]


class Revision(Record):
    """One published revision, by the points in which a tester must act differently."""

    version: str
    has_handshake: bool
    has_batches: bool = False
    server_may_ask: bool = True
    # Over HTTP: a header with the revision after the handshake, and a stream that is opened with
    # GET for what the server says on its own.
    has_version_header: bool = True
    has_get_stream: bool = True


REVISIONS = {
    revision.version: revision
    for revision in (
        Revision(version="2024-11-05", has_handshake=True, has_version_header=False),
        Revision(
            version="2025-03-26",
            has_handshake=True,
            has_batches=True,
            has_version_header=False,
        ),
        Revision(version="2025-06-18", has_handshake=True),
        Revision(version="2025-11-25", has_handshake=True),
        Revision(
            version="2026-07-28",
            has_handshake=False,
            server_may_ask=False,
            has_get_stream=False,
        ),
    )
}

HANDSHAKE_REVISIONS = tuple(
    revision.version for revision in REVISIONS.values() if revision.has_handshake
)

# The newest revision with a handshake: a server that is older counters with its own.
DEFAULT_OFFER = HANDSHAKE_REVISIONS[-1]

# The revision without a handshake.
STATELESS = "2026-07-28"

# Where a request of the stateless era names the revision it speaks.
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
