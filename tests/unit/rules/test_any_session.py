"""Whatever client and server send, every rule gives a verdict, in a short sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from mcptest.core.errors import FormatError
from mcptest.protocol.revisions import REVISIONS
from mcptest.rules.all_rules import RULES
from mcptest.rules.captures import score_file
from mcptest.rules.rule import Facts
from mcptest.rules.scorer import Scorer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest.core.results import SessionScore


def words_in(value: Any) -> Iterator[str]:
    """Every key and every string in a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from value
        for inner in value.values():
            yield from words_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from words_in(inner)


CAPTURES = [
    json.loads(path.read_text(encoding="utf-8"))
    for path in sorted((Path(__file__).parents[2] / "captures").glob("*.json"))
]
WORDS = sorted({*words_in(CAPTURES), "\ud800", "%", "{", "#/$defs/a"})
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=8),
    st.sampled_from(WORDS),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=4)
    ),
    max_leaves=12,
)
MEMBERS = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | VALUES,
        "id": st.sampled_from([0, 1, "1", None, True, 1.5, [], {}]),
        "method": st.one_of(st.sampled_from(WORDS), VALUES),
        "params": VALUES,
        "result": VALUES,
        "error": VALUES,
    },
)
MESSAGES = st.one_of(MEMBERS, VALUES, st.lists(MEMBERS, max_size=3))
VERSIONS = st.sampled_from(["", *REVISIONS])
TRANSPORTS = st.sampled_from(["", "stdio:1", "http://x", "sse:x"])


def start(version: str, transport: str) -> Scorer:
    facts = Facts()
    facts.set_version(version)
    facts.transport = transport
    return Scorer(RULES, facts)


def check_verdicts(score: SessionScore) -> None:
    verdicts = score.verdicts
    assert {verdict.status for verdict in verdicts} <= {"pass", "fail", "warning", "not_applicable"}
    assert all(len(verdict.message) < 600 for verdict in verdicts)


@pytest.mark.long
@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["client", "server", "noise"]), MESSAGES), max_size=12),
    VERSIONS,
    TRANSPORTS,
)
def test_every_rule_answers_on_any_messages(
    sent: list[tuple[str, Any]], version: str, transport: str
) -> None:
    scorer = start(version, transport)
    for side, message in sent:
        if side == "noise":
            scorer.noise(json.dumps(message, ensure_ascii=False))
        else:
            (scorer.client if side == "client" else scorer.server)(message)
    check_verdicts(scorer.finish())


def changed(value: Any, draw: st.DrawFn) -> Any:
    """A copy of a value in which one place, at any depth, holds something else."""
    places = list(value) if isinstance(value, dict) else range(len(value))
    at = draw(st.sampled_from(list(places)))
    inner = value[at]
    is_deep = isinstance(inner, (dict, list)) and inner and draw(st.integers(0, 5))
    copy = value.copy()
    copy[at] = changed(inner, draw) if is_deep else draw(VALUES)
    return copy


@st.composite
def changed_exchanges(draw: st.DrawFn) -> list[Any]:
    exchanges: list[Any] = draw(st.sampled_from(CAPTURES))["exchanges"]
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(exchanges) - 1))
        exchanges = [*exchanges[:at], changed(exchanges[at], draw), *exchanges[at + 1 :]]
    return exchanges


@pytest.mark.long
@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(changed_exchanges(), VERSIONS, TRANSPORTS)
def test_every_rule_answers_on_a_capture_with_changes(
    exchanges: list[Any], version: str, transport: str
) -> None:
    session = {
        "server_label": "x",
        "transport": transport,
        "protocol_version": version,
        "exchanges": exchanges,
    }
    try:
        score = score_file(iter([json.dumps(session), ""]).__next__, "capture.json")
    except FormatError:
        reject()
    check_verdicts(score.sessions[0])
