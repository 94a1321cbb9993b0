"""The published revisions of MCP, as the specification has them."""

from __future__ import annotations

from mcptest.protocol.revisions import DEFAULT_OFFER, HANDSHAKE_REVISIONS, REVISIONS


def test_every_revision_is_listed_under_its_own_version_oldest_first() -> None:
    assert [(version, revision.version) for version, revision in REVISIONS.items()] == [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2026-07-28"),
    ]


def test_only_the_revision_of_march_2025_has_batches() -> None:
    """Spec: batches were added in 2025-03-26 and removed in 2025-06-18."""
    assert [v for v, revision in REVISIONS.items() if revision.has_batches] == ["2025-03-26"]


def test_the_stateless_revision_has_no_handshake_and_no_requests_of_the_server() -> None:
    assert [v for v, revision in REVISIONS.items() if not revision.has_handshake] == ["2026-07-28"]
    assert [v for v, revision in REVISIONS.items() if not revision.server_may_ask] == ["2026-07-28"]


def test_the_newest_revision_with_a_handshake_is_offered() -> None:
    assert HANDSHAKE_REVISIONS == ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
    assert DEFAULT_OFFER == "2025-11-25"
