"""The lane `compliance` in both eras of the protocol, over stdio and over HTTP."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from console import mcptest
from matrix_runs import AT_A_FREE_PORT, argv, server

if TYPE_CHECKING:
    from pathlib import Path

CHECKS = ("initialize", "ping", "list", "invariants", "rules")
STATELESS = "2026-07-28"
# The server does not know ping, which a server with a handshake must.
KNOWN = tuple(check for check in CHECKS if check != "ping")


def reached(transport: str, **keys: Any) -> dict[str, Any]:
    words = ("stdio",) if transport == "stdio" else ("http", "{port}")
    url = {} if transport == "stdio" else {"url": AT_A_FREE_PORT}
    return {"command": argv(*words), **url, **keys}


def ran(
    folder: Path, server: dict[str, Any], compliance: object, *words: str
) -> tuple[int, dict[str, dict[str, Any]]]:
    suite = {"servers": {"ways": server}, "compliance": compliance}
    (folder / "mcptest.yaml").write_text(json.dumps(suite), encoding="utf-8")
    ended = mcptest(folder, "run", "--json", *words)
    suites = ended.report()["suites"]
    return ended.code, {test["name"]: test for suite in suites for test in suite["tests"]}


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize("check", KNOWN)
@pytest.mark.parametrize("version", ["2025-11-25", STATELESS])
def test_every_check_gives_a_verdict_in_both_eras(
    tmp_path: Path, transport: str, check: str, version: str
) -> None:
    spoken = reached(transport, protocol_version=version)
    code, tests = ran(tmp_path, spoken, [{"name": "it", "check": check}])
    assert (tests["it"]["status"], tests["it"]["mismatches"], code) == ("passed", [], 0)


@pytest.mark.parametrize("check", ["invariants", "rules"])
def test_the_era_that_is_found_by_asking_again_is_judged(tmp_path: Path, check: str) -> None:
    spoken = {"command": argv("stdio", "no-handshake")}
    code, tests = ran(tmp_path, spoken, [{"name": "it", "check": check}])
    assert (tests["it"]["status"], code) == ("passed", 0)


def test_the_checks_give_a_verdict_in_every_way_of_the_matrix(tmp_path: Path) -> None:
    suite = {
        "servers": {"ways": reached("stdio")},
        "compliance": [{"name": check, "check": check} for check in KNOWN],
    }
    (tmp_path / "mcptest.yaml").write_text(json.dumps(suite), encoding="utf-8")
    http = ("--url", AT_A_FREE_PORT, "--http-command", server("http", "{port}"))
    ended = mcptest(tmp_path, "run", "--json", "--transport-matrix", *http)
    found = [test["status"] for each in ended.report()["suites"] for test in each["tests"]]
    assert (set(found), ended.code) == ({"passed"}, 0)


def test_without_a_handshake_there_is_no_ping_check(tmp_path: Path) -> None:
    asked = {"spec_version": STATELESS, "tests": ["ping", "list"]}
    code, tests = ran(tmp_path, reached("stdio", protocol_version=STATELESS), asked)
    ping = tests["compliance: ping"]
    assert (ping["status"], ping["reason"]) == ("skipped", f"there is no ping in {STATELESS}")
    assert (tests["compliance: list"]["status"], code) == ("passed", 0)


def test_a_ping_that_a_handshake_promises_is_missed(tmp_path: Path) -> None:
    code, tests = ran(tmp_path, reached("stdio"), [{"name": "it", "check": "ping"}])
    assert (tests["it"]["status"], code) == ("failed", 1)


def test_the_stateless_revision_can_be_asked_for_by_its_name(tmp_path: Path) -> None:
    spoken = reached("stdio", protocol_version=STATELESS)
    code, tests = ran(tmp_path, spoken, {"spec_version": STATELESS})
    assert {name.removeprefix("compliance: ") for name in tests} == set(CHECKS)
    assert {test["status"] for test in tests.values()} == {"passed", "skipped"}
    assert (not any(test.get("not_run") for test in tests.values()), code) == (True, 0)
