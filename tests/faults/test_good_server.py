"""The other half of every rule: a server that does nothing wrong is not accused of anything."""

from __future__ import annotations

import pytest
from staging import call, echo, perform, spec_for

PING = {
    "it": "answers a ping",
    "request": {"jsonrpc": "2.0", "id": "p", "method": "ping"},
    "expect": {"response": {"jsonrpc": "2.0", "id": "p", "result": {}}, "stderr": "toBeEmpty"},
}
UNKNOWN = {
    "it": "refuses what it does not know",
    "request": {"jsonrpc": "2.0", "id": 2, "method": "nothing/such"},
    "expect": {
        "response": {
            "jsonrpc": "2.0",
            "id": 2,
            "error": {"code": -32601, "message": "unknown method nothing/such"},
        }
    },
}


def test_a_good_server_leaves_no_finding_and_no_note() -> None:
    perform(spec_for("good"), echo(), PING, UNKNOWN, echo("é\u2028", id=1)).assert_spotless()


@pytest.mark.parametrize("isolation", ["run", "file", "test"])
def test_every_grain_of_isolation_is_clean_with_a_good_server(isolation: str) -> None:
    perform(spec_for("good", isolation=isolation), echo(), echo("two")).assert_spotless()


def test_a_wrong_expectation_is_a_failure_and_not_an_error() -> None:
    wrong = echo() | {"request": call("something else")}
    report = perform(spec_for("good"), wrong)
    assert (report.status, report.statuses) == (1, ["failed"])
    assert report.members["findings"] == []
