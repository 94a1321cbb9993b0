"""Active checks for a suite."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mcptest.cli import compliance_run
from mcptest.core.plan import ServerSpec
from mcptest.engine.server import make_bare_launcher

TINY = Path(__file__).parents[2] / "servers" / "tiny_server.py"


def test_a_server_that_could_not_be_checked_does_not_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compliance_run, "_TOTAL_S", 0.001)
    spec = ServerSpec(name="tiny", command=(sys.executable, str(TINY)))
    mismatches, _ = compliance_run.check_actively(spec, make_bare_launcher(judges=False), "")
    assert [each.message for each in mismatches] == [
        "no check could be made: the time limit of the run, 0.001 s, was over"
    ]
