"""Which revision a run uses: pinned, negotiated, or found by asking again without a handshake."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from console import mcptest, write_suite

ERA_SERVER = Path(__file__).parents[2] / "servers" / "era_server.py"
STATELESS = "2026-07-28"
HANDSHAKE = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
STATE = 'opaque "\\ ü \u2028 state'

CALL = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "a"}}
ANSWERED = {
    "it": "is answered",
    "request": CALL,
    "expect": {"response": {"match:partial": {"id": 7, "result": {"content": "match:type:array"}}}},
}

Message = dict[str, Any]


class Ran:
    """A run against the era server: its report, and what the server was sent."""

    def __init__(
        self, folder: Path, mode: str, *words: str, test: Message = ANSWERED, **keys: Any
    ) -> None:
        write_suite(folder / "a.test.mcp.yml", test, test)
        config = {
            "name": "era",
            "command": sys.executable,
            "args": [str(ERA_SERVER), str(folder / "log"), *mode.split()],
            **keys,
        }
        (folder / "conductor.config.json").write_text(json.dumps(config), encoding="utf-8")
        ended = mcptest(folder, "run", "a.test.mcp.yml", "--json", *words)
        self.status = ended.code
        self.report = ended.report()
        lines = (folder / "log").read_text(encoding="utf-8").splitlines()
        self.log: list[tuple[str, Message]] = [tuple(json.loads(line)) for line in lines]

    @property
    def methods(self) -> list[str]:
        return [method for method, _ in self.log]

    @property
    def fault(self) -> Message:
        return dict(self.report["error"])

    def params(self, method: str) -> list[Message]:
        return [params for found, params in self.log if found == method]


# Auto


@pytest.mark.parametrize("mode", ["handshake", "silent"])
def test_a_server_with_a_handshake_is_never_asked_for_the_other_era(
    mode: str, tmp_path: Path
) -> None:
    ran = Ran(tmp_path, mode)
    assert ran.status == 0
    assert ran.methods[:3] == ["start", "initialize", "notifications/initialized"]
    assert ran.params("initialize")[0]["protocolVersion"] == HANDSHAKE[-1]
    assert "server/discover" not in ran.methods


@pytest.mark.parametrize("code", [-32022, -32601, -32602])
def test_a_server_that_refuses_the_handshake_is_asked_again_in_a_new_process(
    code: int, tmp_path: Path
) -> None:
    ran = Ran(tmp_path, f"stateless {code}")
    assert ran.status == 0
    assert ran.methods[:5] == ["start", "initialize", "start", "server/discover", "tools/call"]
    meta = ran.params("tools/call")[0]["_meta"]
    assert meta["io.modelcontextprotocol/protocolVersion"] == STATELESS
    assert meta["io.modelcontextprotocol/clientInfo"]["name"] == "mcptest"


@pytest.mark.parametrize(("code", "findings"), [(-32603, 1), (-32601, 0), (-32602, 0)])
def test_a_handshake_that_failed_inside_is_a_finding_where_the_other_era_works(
    code: int, findings: int, tmp_path: Path
) -> None:
    ran = Ran(tmp_path, f"stateless {code}")
    message = [each for each in ran.report["findings"] if each["kind"] == "protocol_violation"]
    assert (ran.status, len(message)) == (0, findings)
    for each in message:
        assert "refused initialize: code -32603" in each["message"]
        assert "the stateless era was used instead" in each["message"]


def test_the_era_that_was_found_is_not_asked_for_again(tmp_path: Path) -> None:
    ran = Ran(tmp_path, "stateless -32022", isolation="test")
    assert ran.status == 0
    assert ran.methods.count("initialize") == 1
    assert ran.methods.count("server/discover") == 2


def test_a_server_that_refuses_both_is_reported_with_both_refusals(tmp_path: Path) -> None:
    ran = Ran(tmp_path, "contrary")
    assert (ran.status, ran.fault["kind"]) == (3, "handshake_refused")
    assert "no initialize today" in ran.fault["message"]
    assert "no server/discover today" in ran.fault["hint"]
    assert ran.methods == ["start", "initialize", "start", "server/discover"]


# Pinned


@pytest.mark.parametrize("version", HANDSHAKE)
def test_a_pinned_revision_with_a_handshake_is_the_one_that_is_offered(
    version: str, tmp_path: Path
) -> None:
    ran = Ran(tmp_path, "handshake", "--spec-version", version)
    assert ran.status == 0
    assert [params["protocolVersion"] for params in ran.params("initialize")] == [version]


def test_the_pinned_revision_without_one_is_spoken_at_once(tmp_path: Path) -> None:
    ran = Ran(tmp_path, "stateless -32022", "--spec-version", STATELESS)
    assert ran.status == 0
    assert ran.methods[:3] == ["start", "server/discover", "tools/call"]
    assert "initialize" not in ran.methods


@pytest.mark.parametrize("version", HANDSHAKE)
@pytest.mark.parametrize("code", [-32022, -32601])
def test_a_stateless_server_is_not_called_broken_when_the_other_era_is_pinned(
    version: str, code: int, tmp_path: Path
) -> None:
    ran = Ran(tmp_path, f"stateless {code}", "--spec-version", version)
    assert (ran.status, ran.fault["kind"]) == (3, "unsupported_version")
    assert f"speaks only the stateless era of the protocol, {STATELESS}" in ran.fault["message"]
    assert "leave out --spec-version" in ran.fault["hint"]
    assert ran.methods == ["start", "initialize"]


def test_an_ambiguous_refusal_has_a_hint(tmp_path: Path) -> None:
    ran = Ran(tmp_path, "stateless -32602", "--spec-version", "2025-11-25")
    assert (ran.status, ran.fault["kind"]) == (3, "handshake_refused")
    assert f"try --spec-version {STATELESS}" in ran.fault["hint"]


def test_a_server_with_a_handshake_is_not_called_broken_when_the_stateless_era_is_pinned(
    tmp_path: Path,
) -> None:
    ran = Ran(tmp_path, "handshake", "--spec-version", STATELESS)
    assert (ran.status, ran.fault["kind"]) == (3, "unsupported_version")
    assert "does not speak the stateless era of the protocol" in ran.fault["message"]
    assert "leave out --spec-version" in ran.fault["hint"]
    assert ran.methods == ["start", "server/discover"]


def test_a_server_that_never_answers_discovery_times_out_with_a_hint(
    tmp_path: Path,
) -> None:
    ran = Ran(tmp_path, "silent", "--spec-version", STATELESS, startupTimeout=700)
    assert (ran.status, ran.fault["kind"]) == (3, "handshake_timeout")
    assert "did not answer server/discover within 700 ms" in ran.fault["message"]
    assert "leave out --spec-version" in ran.fault["hint"]
    assert ran.methods == ["start", "server/discover"]


def test_an_unknown_revision_is_a_usage_error(tmp_path: Path) -> None:
    write_suite(tmp_path / "a.test.mcp.yml", ANSWERED)
    ended = mcptest(tmp_path, "run", "a.test.mcp.yml", "--spec-version", "2027-01-01")
    assert ended.code == 2
    assert STATELESS in ended.err


# Rounds

ACCEPT = {"action": "accept", "content": {"name": "Ada"}}


def test_input_that_is_required_is_given_from_the_client_s_script(tmp_path: Path) -> None:
    text = json.dumps({"who": ACCEPT}, sort_keys=True)
    content = [{"type": "text", "text": text}]
    test = ANSWERED | {
        "expect": {"response": {"match:partial": {"id": 7, "result": {"content": content}}}}
    }
    ran = Ran(tmp_path, "rounds 2", test=test, client={"elicitation": ACCEPT})
    assert ran.status == 0
    first, second, third = ran.params("tools/call")[:3]
    assert "inputResponses" not in first
    assert second["inputResponses"] == third["inputResponses"] == {"who": ACCEPT}
    assert second["requestState"] == '["asked"]|' + STATE
    assert third["requestState"] == '["asked", "asked"]|' + STATE
    assert first["name"] == second["name"] == third["name"] == "a"


def test_the_rounds_are_in_the_capture_as_they_were(tmp_path: Path) -> None:
    ran = Ran(tmp_path, "rounds 1", "--capture", "c.json", client={"elicitation": ACCEPT})
    assert ran.status == 0
    exchanges = json.loads((tmp_path / "c.json").read_text(encoding="utf-8"))["exchanges"]
    calls = [each for each in exchanges if each["request"]["method"] == "tools/call"]
    first, second = [each["request"]["id"] for each in calls][:2]
    assert (first, second.startswith("mcptest-round-1-")) == (7, True)
    assert [each["response"]["result"]["resultType"] for each in calls][:2] == [
        "input_required",
        "complete",
    ]
    assert all("_meta" in each["request"]["params"] for each in calls)


def test_without_a_script_the_test_gets_the_question(tmp_path: Path) -> None:
    wanted = {"resultType": "input_required", "inputRequests": {"who": "match:type:object"}}
    test = ANSWERED | {
        "expect": {"response": {"match:partial": {"id": 7, "result": {"match:partial": wanted}}}}
    }
    ran = Ran(tmp_path, "rounds 1", test=test)
    assert (ran.status, ran.methods.count("tools/call")) == (0, 2)


def test_a_server_that_is_never_content_is_asked_ten_times(tmp_path: Path) -> None:
    wanted = {"resultType": "input_required"}
    test = ANSWERED | {
        "expect": {"response": {"match:partial": {"id": 7, "result": {"match:partial": wanted}}}}
    }
    ran = Ran(tmp_path, "rounds 99", test=test, client={"elicitation": ACCEPT})
    assert (ran.status, ran.methods.count("tools/call")) == (0, 20)
