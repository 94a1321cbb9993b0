"""A careful server made with the official SDK for Python gets an A+, except for SDK mistakes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from active import check_server

SERVER = Path(__file__).parents[2] / "servers" / "official_server.py"
HINTS = """\
slow_tool: none
progress_tool: none
eliciting_tool: none
sampling_tool: none
readonly_observer: none
resource_that_changes: none
"""
# What mcp 2.3.0 does in every server, and why that is not right.
SDK = {
    "PROMPT-08": "an unknown prompt gets code 0 after a handshake, else -32603; not -32602",
    "PROMPT-09": "a missing argument of a prompt gets the same codes",
}
SDK_HTTP = {
    **SDK,
    "BASE-42": "a request with the id 1.5 gets HTTP status 202: it is taken for a notification",
}
# Other SDKs have these as well, so they do not count.
SHARED = {"TOOL-18", "RES-07", "PAGE-03", "BASE-20", "BASE-42"}


@pytest.mark.long
@pytest.mark.parametrize("is_http", [False, True], ids=["stdio", "http"])
def test_only_what_the_sdk_does_keeps_the_grade_down(tmp_path: Path, is_http: bool) -> None:
    hints = tmp_path / "hints.yml"
    hints.write_text(HINTS, encoding="utf-8")
    where = ["--url", "http://127.0.0.1:{port}/mcp"] if is_http else []
    server = [sys.executable, str(SERVER), *(["{port}"] if is_http else [])]
    known = SDK_HTTP if is_http else SDK
    accepted = tmp_path / "accepted.yml"
    lines = (f'- {{check: {id}, reason: "{reason}"}}\n' for id, reason in known.items())
    accepted.write_text("".join(lines), encoding="utf-8")
    options = ["--hints", str(hints), "--expected-failures", str(accepted), *where]
    checked = check_server(*options, "--", *server)
    assert checked.code == 0
    counted = [each for each in checked.report["checks"] if not each["shared"]]
    assert checked.report["revisions"] == ["2025-11-25", "2026-07-28"]
    assert {each["id"] for each in counted if each["verdict"] in ("failed", "warning")} == set(
        known
    )
    assert [each["id"] for each in counted if each["verdict"] == "could_not_run"] == []
    assert checked.ids("failed", "warning") - set(known) <= SHARED
