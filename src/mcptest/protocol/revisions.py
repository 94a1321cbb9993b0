"""The published revisions of MCP, oldest first.

A new revision is one row here, plus what really changed in it: rules and message shapes name the
first and the last revision that has them (`since`, `until`), so that what goes on as before needs
no edit. Versions are dates, and compare as strings.
"""

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
    # No handshake: every request names the revision and the capabilities of the client.
    is_stateless: bool = False
    has_batches: bool = False
    server_may_ask: bool = True
    # Tasks as a part of the protocol itself, not as an extension.
    has_tasks: bool = False
    # Over HTTP: a header with the revision after the handshake, and a stream that is opened with
    # GET for what the server sends on its own.
    has_version_header: bool = True
    has_get_stream: bool = True

    @property
    def has_handshake(self) -> bool:
        return not self.is_stateless


REVISIONS = {
    revision.version: revision
    for revision in (
        Revision(version="2024-11-05", has_version_header=False),
        Revision(version="2025-03-26", has_batches=True, has_version_header=False),
        Revision(version="2025-06-18"),
        Revision(version="2025-11-25", has_tasks=True),
        Revision(
            version="2026-07-28", is_stateless=True, server_may_ask=False, has_get_stream=False
        ),
    )
}

HANDSHAKE_REVISIONS = tuple(
    revision.version for revision in REVISIONS.values() if not revision.is_stateless
)

# The newest revision with a handshake: a server that is older counters with its own.
DEFAULT_OFFER = HANDSHAKE_REVISIONS[-1]

# The revision without a handshake.
STATELESS = "2026-07-28"

# Where a request of a stateless revision names the revision it uses.
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
