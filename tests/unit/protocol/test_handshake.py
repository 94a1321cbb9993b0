"""Which answers to `initialize` open a session, and what is missing in those that do."""

from __future__ import annotations

from typing import Any

import pytest

from mcptest.core.results import Fault
from mcptest.protocol.revisions import (
    choose_stateless,
    discovery_fault,
    handshake_fault,
    handshake_gaps,
    is_server_failure,
    pinned_fault,
    refuses_era,
)

GOOD: dict[str, Any] = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "serverInfo": {"name": "s", "version": "1"},
}


def without(member: str) -> dict[str, Any]:
    return {name: value for name, value in GOOD.items() if name != member}


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_every_revision_with_a_handshake_opens_a_session(version: str) -> None:
    answer = {"result": GOOD | {"protocolVersion": version}}
    assert handshake_fault(answer) is None
    assert list(handshake_gaps(answer["result"])) == []


def test_an_answer_without_a_version_still_opens_a_session() -> None:
    assert handshake_fault({"result": without("protocolVersion")}) is None


@pytest.mark.parametrize(
    ("version", "shown"),
    [
        ("2023-01-01", '"2023-01-01"'),
        ("2026-07-28", '"2026-07-28"'),
        ("", '""'),
        ("\x1b[0m", '"\\u001b[0m"'),
        (None, "null"),
        (20250618, "20250618"),
        (["2025-06-18"], '["2025-06-18"]'),
        ({}, "{}"),
    ],
)
def test_an_unknown_version_opens_no_session(version: object, shown: str) -> None:
    fault = handshake_fault({"result": GOOD | {"protocolVersion": version}})
    assert fault is not None
    assert fault.kind == "unsupported_version"
    assert f"answered initialize with protocol version {shown}; " in fault.message
    assert fault.message.endswith("2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25")


@pytest.mark.parametrize(("result", "shown"), [(None, "null"), ([], "[]"), ("ok", '"ok"')])
def test_a_result_that_is_not_an_object_opens_no_session(result: object, shown: str) -> None:
    assert handshake_fault({"result": result}) == Fault(
        kind="protocol_violation",
        message=f"the result of initialize must be an object and is {shown}",
    )


def test_a_refusal_is_reported_in_the_words_of_the_server() -> None:
    refusal = {"code": -32602, "message": "Unsupported\x07", "data": {"supported": ["x"]}}
    assert handshake_fault({"error": refusal}) == Fault(
        kind="handshake_refused",
        message='the server refused initialize: code -32602, "Unsupported\\u0007", '
        'data {"supported":["x"]}',
        hint="one of the stateless era may do so: try --spec-version 2026-07-28",
        code=-32602,
    )


@pytest.mark.parametrize(
    ("code", "unspoken", "mishap"),
    [
        (-32601, True, False),
        (-32022, True, False),
        (-32602, True, False),
        (-32603, False, True),
        (-32700, False, True),
        (-32000, False, False),
        (7, False, False),
    ],
)
def test_only_some_refusals_say_that_the_era_is_not_spoken(
    code: int, unspoken: bool, mishap: bool
) -> None:
    fault = handshake_fault({"error": {"code": code, "message": "no"}})
    assert fault is not None
    assert (refuses_era(fault), is_server_failure(fault)) == (unspoken, mishap)


@pytest.mark.parametrize("code", [-32603, -32700])
def test_a_server_that_fails_at_discovery_is_not_said_to_be_of_another_era(code: int) -> None:
    fault = discovery_fault({"error": {"code": code, "message": "oops"}}, "2026-07-28")
    assert fault is not None
    assert (fault.kind, refuses_era(fault)) == ("handshake_refused", False)
    assert f'the server failed at server/discover: code {code}, "oops"' in fault.message


@pytest.mark.parametrize("code", [-32601, -32602, -32600, -32000, -32002])
def test_any_other_refusal_of_discovery_is_that_of_another_era(code: int) -> None:
    fault = discovery_fault({"error": {"code": code, "message": "no"}}, "2026-07-28")
    assert fault is not None
    assert (fault.kind, refuses_era(fault)) == ("unsupported_version", True)


@pytest.mark.parametrize("code", [-32022, -32601])
def test_the_refusal_of_a_stateless_server_is_explained(code: int) -> None:
    fault = handshake_fault({"error": {"code": code, "message": "no"}})
    assert fault is not None
    assert fault.kind == "unsupported_version"
    assert "speaks only the stateless era of the protocol, 2026-07-28" in fault.message
    assert f'code {code}, "no"' in fault.message


@pytest.mark.parametrize("version", ["2025-06-18", "2024-11-05"])
def test_a_pinned_revision_must_be_the_one_that_is_agreed_on(version: str) -> None:
    fault = pinned_fault(version, GOOD)
    if version == GOOD["protocolVersion"]:
        assert fault is None
    else:
        assert fault is not None
        assert fault.kind == "unsupported_version"
        assert 'does not speak 2024-11-05: offered that, it answered with "2025-06-18"' in (
            fault.message
        )
    assert pinned_fault("", GOOD) is None


@pytest.mark.parametrize(
    ("answer", "chosen"),
    [
        ({"result": {"supportedVersions": ["2030-01-01", "2026-07-28"]}}, "2026-07-28"),
        ({"result": {"supportedVersions": ["2025-11-25"]}}, ""),
        ({"result": {"supportedVersions": "2026-07-28"}}, ""),
        ({"result": None}, ""),
        ({"error": {"code": -32022, "data": {"supported": ["2026-07-28"]}}}, "2026-07-28"),
        ({"error": {"code": -32022, "data": {"supported": {}}}}, ""),
        ({"error": {"code": -32022}}, ""),
        ({"error": {"code": -32601, "data": {"supported": ["2026-07-28"]}}}, ""),
    ],
)
def test_the_revision_is_one_that_the_server_names(answer: dict[str, Any], chosen: str) -> None:
    for offered in ("2026-07-28", "2099-01-01"):
        assert choose_stateless(answer, offered) == chosen


def test_a_discovery_that_names_the_era_opens_a_session() -> None:
    result = {"supportedVersions": ["2026-07-28"], "capabilities": {}}
    assert discovery_fault({"result": result}, "2026-07-28") is None


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (
            {"error": {"code": -32601, "message": "what?\x07"}},
            "unsupported_version",
            'it refused server/discover: code -32601, "what?\\u0007"',
        ),
        (
            {"result": {"supportedVersions": ["2030-01-01"]}},
            "unsupported_version",
            'it says that it supports ["2030-01-01"]',
        ),
        ({"result": {}}, "protocol_violation", "must have supportedVersions and is {}"),
        ({"result": None}, "protocol_violation", "must have supportedVersions and is null"),
        (
            {"result": {"supportedVersions": "2026-07-28"}},
            "protocol_violation",
            "must have supportedVersions",
        ),
    ],
)
def test_a_discovery_that_opens_no_session_says_why(
    answer: dict[str, Any], kind: str, words: str
) -> None:
    fault = discovery_fault(answer, "2026-07-28")
    assert fault is not None
    assert fault.kind == kind
    assert words in fault.message


@pytest.mark.parametrize(
    ("result", "gaps"),
    [
        (
            without("protocolVersion"),
            ["result.protocolVersion is missing; 2025-11-25 is assumed"],
        ),
        (without("capabilities"), ["result.capabilities must be an object and is missing"]),
        (GOOD | {"capabilities": None}, ["result.capabilities must be an object"]),
        (GOOD | {"capabilities": []}, ["result.capabilities must be an object"]),
        (without("serverInfo"), ["result.serverInfo must be an object and is missing"]),
        (GOOD | {"serverInfo": "s"}, ["result.serverInfo must be an object"]),
        (
            GOOD | {"serverInfo": {"version": "1"}},
            ["result.serverInfo.name must be a string and is missing"],
        ),
        (
            GOOD | {"serverInfo": {"name": "s", "version": 1}},
            ["result.serverInfo.version must be a string"],
        ),
        (
            {},
            [
                "result.protocolVersion is missing; 2025-11-25 is assumed",
                "result.capabilities must be an object and is missing",
                "result.serverInfo must be an object and is missing",
            ],
        ),
    ],
)
def test_each_member_that_is_missing_or_wrong_is_a_gap(
    result: dict[str, Any], gaps: list[str]
) -> None:
    assert list(handshake_gaps(result)) == gaps
