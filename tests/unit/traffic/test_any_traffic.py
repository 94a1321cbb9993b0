"""Whatever was recorded, the contract loads, says what was recorded, and is met by it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from traffic_samples import UUID, loaded, log

from mcptest.core.errors import FormatError
from mcptest.core.plan import Suite
from mcptest.matching.case_tags import fill, has_blanks, pull_bound
from mcptest.matching.compare import compare
from mcptest.traffic import contract_text

# Strings that could leave their quotes, be read as something else or vary.
PIECES = st.sampled_from(
    [
        *("\n---\n", "'", '"', "# ", "!!re x", "\\", "/", "\\/", "${HOME}", "match:type:x", ": "),
        *("{", "}", "[", ",", "&a", "*a", "\x1b[2J", "\u2028", "\u202e", "\x85", "\ufeff", "\x00"),
        *(UUID, "2026-01-02T03:04:05Z", "took 12 ms", '"ts": 1763264999', "12:34:56", "null"),
        *("caf2bc7d", " caf2bc7d ", "note-17", "added ", " in 3 ms", "48213"),
        *("\U0001f600", "é", "[secret", "% TAG", "|", ">", "- ", "? ", "\t", "0x1f", "1e3", "~"),
    ]
)
TEXTS = st.lists(PIECES | st.text(max_size=8), max_size=6).map("".join) | st.text(max_size=20)
KEYS = TEXTS | st.sampled_from(
    ["id", "note_id", "createdAt", "durationMs", "cursor", "text", "k" * 1100]
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.sampled_from([1763264999, 1763264999123, 10**300, UUID, "caf2bc7d", "note-17", 48213])
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
METHODS = st.sampled_from(["tools/call", "ping", "x", "notifications/message"]) | TEXTS
SECRETS = (
    "password",
    "secret",
    "token",
    "key",
    "credential",
    "authorization",
    "pwd",
    "pass",
    "api",
    *("auth", "bearer", "basic", "cookie", "csrf", "jwt", "otp", "pin", "xsrf", "sig", "cookies"),
    *("akia", "aiza", "eyj", "gho_", "ghp_", "ghs_", "ghu_", "sk-", "xox", "begin", "connection"),
)


@st.composite
def conversations(draw: st.DrawFn) -> list[tuple[str, Any]]:
    """Requests of both sides, answered at once, late or never, with notifications in between."""
    said: list[tuple[str, Any]] = []
    waiting: list[tuple[str, str, Any]] = []
    for _ in range(draw(st.integers(1, 8))):
        number = len(said)
        deed = draw(st.sampled_from(["ask", "be asked", "tell", "be told", "answer", "answer"]))
        side, back = ("in", "out") if deed in ("ask", "tell") else ("out", "in")
        if deed == "answer" and waiting:
            side, back, id = waiting.pop(draw(st.integers(0, len(waiting) - 1)))
            body = draw(st.sampled_from(["result", "error"]))
            said.append((back, {"jsonrpc": "2.0", "id": id, body: content(draw, number)}))
            continue
        message: dict[str, Any] = {
            "jsonrpc": "2.0",
            "method": draw(METHODS),
            "params": content(draw, number),
        }
        if deed in ("ask", "be asked"):
            id = draw(st.sampled_from([number, f"{number}", f"id {number}\n#"]))
            message["id"] = id
            waiting.append((side, back, id))
        said.append((side, message))
    return said


def content(draw: st.DrawFn, number: int) -> dict[str, Any]:
    return {"marker": -1000 - number, **draw(st.dictionaries(KEYS, VALUES, max_size=3))}


def marker_of(message: dict[str, Any]) -> int:
    inner = message.get("params") or message.get("result") or message.get("error")
    assert isinstance(inner, dict)
    marker = inner["marker"]
    assert isinstance(marker, int)
    return marker


def has_none_of(said: Any) -> bool:
    # What is left out on purpose has tests of its own.
    text = json.dumps(said, ensure_ascii=False).lower()
    return not any(word in text for word in (*SECRETS, "[secret]", "bearer", "basic"))


def refuse_unmet(suite: Suite, said: list[tuple[str, Any]]) -> None:
    """Every message is once in the suite, and is met."""
    recorded = {marker_of(message): message for _, message in said}
    values: dict[str, object] = {}
    for case in suite.cases:
        assert case.dialogue
        for turn in case.dialogue.turns:
            message = recorded.pop(marker_of(turn.value))  # type: ignore[arg-type]
            values |= pull_bound(turn.binds, message)
            wanted = fill(turn.value, values)
            if not turn.is_ours:
                assert list(compare(wanted, message, leniency="objects")) == []
            elif has_blanks(wanted):
                # A secret that the client sent is left open.
                assert list(compare(wanted, message)) == []
            else:
                assert json.dumps(wanted) == json.dumps(message)
    # Nothing is left out: every answer here has its request.
    assert recorded == {}


@pytest.mark.long
@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(conversations().filter(has_none_of))
def test_a_contract_loads_and_is_met_by_what_was_recorded(said: list[tuple[str, Any]]) -> None:
    refuse_unmet(loaded(contract_text(log(*said), "a.ndjson")), said)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(conversations().filter(has_none_of))
def test_with_kept_values_only_ids_of_the_server_are_tags(said: list[tuple[str, Any]]) -> None:
    recorded = {marker_of(message): message for _, message in said}
    for case in loaded(contract_text(log(*said), "a.ndjson", keep_values=True)).cases:
        assert case.dialogue
        for turn in case.dialogue.turns:
            assert isinstance(turn.value, dict)
            message = recorded[marker_of(turn.value)]
            for member in ("params", "result", "error"):
                assert json.dumps(turn.value.get(member)) == json.dumps(message.get(member))


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=200) | st.lists(TEXTS, max_size=6).map("\n".join))
def test_a_text_that_is_not_a_recording_is_refused_and_nothing_else_happens(text: str) -> None:
    try:
        made = contract_text(text, "a.ndjson")
    except FormatError:
        return
    loaded(made)
