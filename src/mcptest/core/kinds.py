"""The stable words for what can go wrong with a server. docs/faults.md explains each."""

from __future__ import annotations

__all__ = ["FATAL", "FAULTS", "FINDINGS", "NOT_KEPT", "STRICT"]

# A test that met one of these is an error.
FAULTS = frozenset(
    [
        "spawn_failed",
        "exited_early",
        "handshake_timeout",
        "handshake_refused",
        "unsupported_version",
        "exited_during_call",
        "early_response",
        "timeout",
        "stdin_blocked",
        "malformed_line",
        "protocol_violation",
        "line_too_long",
        "output_budget",
        "name_lookup",
        "connect_failed",
        "tls_failed",
        "redirect_refused",
        "auth_failed",
        "http_status",
        "content_type",
        "http_body",
        "event_stream",
        "malformed_json",
        "session_lost",
        "server_raised",
        "pattern_too_slow",
        "schema_undecided",
        "missing_capture",
        "unusable_capture",
        "no_batches",
        "hook_failed",
        "plugin_failed",
        "worker_lost",
        "incomplete_report",
        "interrupted",
    ]
)

# These break a rule without breaking a test.
FINDINGS = frozenset(
    [
        "malformed_line",
        "protocol_violation",
        "line_too_long",
        "unknown_id",
        "duplicate_response",
        "early_response",
        "late_response",
        "misplaced_response",
        "unattributed_error",
        "crlf",
        "blank_line",
        "unclean_end",
        "needed_term",
        "needed_kill",
        "left_behind",
        "server_raised",
        "bad_schema",
        "unchecked_output",
        "listed_twice",
        "teardown_failed",
        "snapshots_not_written",
        "snapshot_shared",
        "gates_not_asked",
        "shard_missing",
        "http_status",
        "content_type",
        "http_body",
        "event_stream",
        "malformed_json",
        "connect_failed",
        "redirect_refused",
        "auth_failed",
        "session_lost",
        "tls_unverified",
        "way_broken",
        "foreign_listener",
    ]
)

# Snapshots that were to be accepted and are not.
NOT_KEPT = frozenset(["snapshots_not_written", "snapshot_shared"])

# Findings with which no run is a success: what is declared cannot be right, or kept.
FATAL = frozenset(["bad_schema", "way_broken"]) | NOT_KEPT

# And those with which no strict run is one: something that is always checked was not.
STRICT = frozenset(["unchecked_output", "listed_twice"])
