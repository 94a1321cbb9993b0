"""The stable words for what can go wrong with a server. docs/faults.md explains each."""

from __future__ import annotations

__all__ = ["FATAL", "FAULTS", "FINDINGS"]

# A test that met one of these is an error.
FAULTS = frozenset(
    [
        "spawn_failed",
        "exited_early",
        "handshake_timeout",
        "handshake_refused",
        "unsupported_version",
        "exited_during_call",
        "timeout",
        "stdin_blocked",
        "malformed_line",
        "protocol_violation",
        "line_too_long",
        "output_budget",
        "pattern_too_slow",
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
        "late_response",
        "crlf",
        "blank_line",
        "unclean_end",
        "needed_term",
        "needed_kill",
        "left_behind",
        "bad_schema",
    ]
)

# Findings with which no run is a success: what is declared cannot be right.
FATAL = frozenset(["bad_schema"])
