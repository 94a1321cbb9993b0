"""Our own requests are not traffic of a test; messages of the server meanwhile are."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from staging import echo, plan_for, spec_for, stage

from mcptest.engine.run import RunOptions, run_plan

SERVERS = Path(__file__).parent.parent / "servers"

# Sends a notification when its tools are listed, which no test here does.
CHATTY = f"""
import sys; sys.path.insert(0, {str(SERVERS)!r})
import good_server
def lists(request):
    sys.stdout.write(sys.argv[1] + chr(10)); sys.stdout.flush()
    good_server.write(good_server.line_for(request))
good_server.serve({{"tools/list": lists}})
"""
AGAIN = '{"jsonrpc":"2.0","id":1,"result":{"content":[]}}'


@pytest.mark.parametrize(("said", "rule"), [("hello", "STDIO-01"), (AGAIN, "BASE-08")])
def test_messages_during_our_own_requests_are_judged_and_captured(said: str, rule: str) -> None:
    command = (sys.executable, "-S", "-E", "-c", CHATTY, said)
    with stage() as launcher:
        launcher = launcher.but(judges=True, keeps_traffic=True)
        plan = plan_for(spec_for("chatty", command=command), echo(id=1))
        finished, (capture,) = run_plan(plan, RunOptions(started_at=""), launcher, lambda _: None)
    (session,) = finished.conformance.sessions
    assert rule in [each.id for each in session.verdicts if each.status == "fail"]
    last = capture.exchanges[-1]
    received = [noted.value for noted in (*last.noise, *last.server_messages)]
    assert len(received) == 1
    # Neither our request nor its answer is there.
    assert "tools/list" not in str(capture)
    assert "inputSchema" not in str(capture)
