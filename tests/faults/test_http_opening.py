"""What is asked on the way to the first test has the time of the opening, and no more."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from http_runs import with_config
from raw_http import RawHttp, as_json, good, result_for
from staging import echo

if TYPE_CHECKING:
    from pathlib import Path

    from raw_http import Asked, Line

DISCOVERED = {
    "resultType": "complete",
    "supportedVersions": ["2026-07-28"],
    "capabilities": {"tools": {}},
    "ttlMs": 1,
    "cacheScope": "public",
}


@pytest.mark.long
def test_a_list_of_tools_that_never_ends_takes_the_time_of_one_opening(tmp_path: Path) -> None:
    pages: list[float] = []

    def script(asked: Asked, line: Line) -> None:
        id = asked.message.get("id")
        if asked.about == "server/discover":
            line.send(as_json({"jsonrpc": "2.0", "id": id, "result": DISCOVERED}))
        elif asked.about == "tools/list":
            pages.append(time.monotonic())
            time.sleep(0.3)
            page = {"tools": [], "nextCursor": f"{len(pages)}"}
            line.send(as_json({"jsonrpc": "2.0", "id": id, "result": page}))
        elif asked.about == "tools/call":
            line.send(as_json(result_for(asked)))
        else:
            good(asked, line)

    keys = {"protocolVersion": "2026-07-28", "startupTimeout": 1000, "timeout": 2000}
    with RawHttp(script) as server:
        report = with_config(tmp_path, server.url, echo(), **keys)
        (call,) = server.about("tools/call")
        before = server.asked[: server.asked.index(call)]
    assert report.statuses == ["passed"]
    # At 0.3 s a page no more than four can begin within a second.
    assert 1 <= sum(asked.about == "tools/list" for asked in before) <= 4


def test_a_list_of_tools_that_goes_in_a_circle_is_left_at_once(tmp_path: Path) -> None:
    """An incomplete list is reported where it is needed, and not when the session opens."""

    def script(asked: Asked, line: Line) -> None:
        id = asked.message.get("id")
        if asked.about == "server/discover":
            line.send(as_json({"jsonrpc": "2.0", "id": id, "result": DISCOVERED}))
        elif asked.about == "tools/list":
            page = {"tools": [], "nextCursor": "again"}
            line.send(as_json({"jsonrpc": "2.0", "id": id, "result": page}))
        elif asked.about == "tools/call":
            line.send(as_json(result_for(asked)))
        else:
            good(asked, line)

    with RawHttp(script) as server:
        report = with_config(tmp_path, server.url, echo(), protocolVersion="2026-07-28")
        (call,) = server.about("tools/call")
        before = server.asked[: server.asked.index(call)]
    assert report.statuses == ["passed"]
    assert sum(asked.about == "tools/list" for asked in before) == 2


def test_a_server_with_a_single_thread_is_not_blocked_by_an_idle_connection(tmp_path: Path) -> None:
    """It reads from the connection of the GET again, while the call waits on another one."""

    def script(asked: Asked, line: Line) -> None:
        if asked.method == "GET":
            time.sleep(0.3)
        good(asked, line)

    with RawHttp(script, is_serial=True) as server:
        report = with_config(tmp_path, server.url, echo(), echo(id=2), timeout=4000)
    assert report.statuses == ["passed", "passed"]
