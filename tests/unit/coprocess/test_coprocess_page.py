"""What docs/coprocess.md says is what the code does."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from mcptest._collect import UNSUPPORTED_LANES, lane_cli_hint
from mcptest.coprocess import protocol as refusals
from mcptest.coprocess.protocol import (
    CONNECTION_METHODS,
    OPTIONAL_METHODS,
    describe_version_mismatch,
    read_request,
)
from mcptest.coprocess.uploads import read_target
from mcptest.core.results import FAULTS
from mcptest.core.typed_json import Key
from mcptest.protocol import jsonrpc
from mcptest.protocol.framing import LineDecoder

PAGE = (Path(__file__).parents[3] / "docs" / "coprocess.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    """The text below a heading, up to the next one of its level or above."""
    level, text = next(
        (marks, PAGE[found.end() :])
        for found in re.finditer(r"(?m)^(#+) (.+)$", PAGE)
        for marks in [found[1]]
        if found[2] == title
    )
    return re.split(rf"(?m)^#{{1,{len(level)}}} ", text)[0]


def rows(text: str) -> list[list[str]]:
    """The cells of every row of every table, without the heads."""
    lines = re.findall(r"(?m)^\| (.+) \|$", re.sub(r"(?m)^\|.+\|\n\|(?:---\|)+$", "", text))
    return [re.split(r" \| ", line) for line in lines]


def code(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


def test_the_table_of_methods_has_every_method_and_its_params() -> None:
    table = {code(cells[0])[0]: cells for cells in rows(section("Methods")) if len(cells) == 3}
    methods = {**CONNECTION_METHODS, **OPTIONAL_METHODS}
    assert list(table) == list(methods)
    assert list(OPTIONAL_METHODS) == [
        code(cells[0])[0] for cells in rows(section("Optional methods"))
    ]
    for method, params in methods.items():
        named = code(table[method][1])
        assert [name for name in params if name not in named] == [], method
        choices = [choice for param in params.values() for choice in param.choices]
        assert [choice for choice in choices if choice not in named] == [], method


def test_the_modes_of_the_cache_are_in_their_table() -> None:
    modes: Key = CONNECTION_METHODS["mcp.cache.set_mode"]["mode"]
    assert [code(cells[0])[0] for cells in rows(section("Cache"))] == list(modes.choices)


def test_every_code_is_in_the_table_of_errors() -> None:
    message = {int(cells[0]) for cells in rows(section("Errors"))}
    declared = {**vars(jsonrpc), **vars(refusals)}
    ours = {value for value in declared.values() if type(value) is int and value < 0}
    assert message == ours


def test_the_frames_shown_are_frames() -> None:
    shown = re.findall(r'(?m)^\{"jsonrpc".+\}$', PAGE)
    asked = [line for line in shown if '"method"' in line]
    assert len(asked) == 3
    for line in asked:
        (item,) = LineDecoder().feed(line.encode() + b"\n")
        read_request(item, CONNECTION_METHODS)
    for line in shown:
        if line not in asked:
            answer = json.loads(line)
            assert set(answer) in ({"jsonrpc", "id", "result"}, {"jsonrpc", "id", "error"})


@pytest.mark.parametrize("version", [1, 3])
def test_the_sentences_of_a_mismatch_are_those_of_the_code(version: int) -> None:
    sentence = describe_version_mismatch({"protocol_version": version, "sdk": "rust"})
    assert f"\n{sentence}\n" in section("Handshake")


def test_the_lanes_are_those_of_every_sdk() -> None:
    lanes = {code(cells[0])[0]: cells for cells in rows(section("Lanes"))}
    left_out = [lane for lane, cells in lanes.items() if cells[1] == "no"]
    assert left_out == list(UNSUPPORTED_LANES)
    for lane in left_out:
        assert lane_cli_hint(lane).endswith(f"run: {code(lanes[lane][2])[0]}")
    assert f"\n{lane_cli_hint('agents')}\n" in section("Lanes")


def test_the_targets_shown_are_targets() -> None:
    targets = [target for cells in rows(section("Uploads")) for target in code(cells[0])]
    assert len(targets) == 4
    for target in targets:
        read_target(target)


def test_the_kinds_that_are_spoken_of_are_explained_elsewhere() -> None:
    assert {"timeout", "spawn_failed", "exited_during_call", "exited_early"} <= FAULTS
    assert "[faults](faults.md)" in section("Errors")
