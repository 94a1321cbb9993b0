"""Schemas of files that cannot be read, and mistakes that must not show a secret."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from console import mcptest
from suite_runs import call, outcomes, run_suite, server, write

if TYPE_CHECKING:
    from pathlib import Path

UNREADABLE = ("ends the program that reads it: ", "takes over 2 s to read")
TEXT = {"$ref": "#/$defs/text", "$defs": {"text": {"type": "string"}}}


def deep_schema(levels: int = 1000) -> dict[str, Any]:
    """Each level must know what the next one has evaluated: more than fits into memory."""
    defs: dict[str, object] = {
        f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}], "unevaluatedProperties": {}}
        for n in range(levels)
    }
    return {"$ref": "#/$defs/d0", "$defs": defs | {f"d{levels}": {"type": "object"}}}


def with_schema(folder: Path, schema: object) -> dict[str, Any]:
    (folder / "s.json").write_text(json.dumps(schema), encoding="utf-8")
    expect = [{"target": "result.content[0].text", "matcher": {"schema": "s.json"}}]
    return {"tools": [call("echoes", args={"text": "hello"}, expect=expect)]}


def test_a_schema_file_that_breaks_what_reads_it_is_a_mistake_with_its_place(
    tmp_path: Path,
) -> None:
    write(tmp_path, {"servers": {"a": server()}, **with_schema(tmp_path, deep_schema())})
    ended = mcptest(tmp_path, "validate")
    assert ended.code == 2
    assert 'error[F019]: the matcher "schema" reads s.json, which ' in ended.err
    assert any(why in ended.err for why in UNREADABLE)
    assert " --> mcptest.yaml:" in ended.err


def test_so_it_is_in_a_pattern_of_a_test_file(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text(json.dumps(deep_schema()), encoding="utf-8")
    request = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    expect = {"response": {"jsonrpc": "2.0", "id": 1, "result": "match:jsonSchema:s.json"}}
    test = {"it": "is deep", "request": request, "expect": expect}
    text = json.dumps({"description": "d", "tests": [test]})
    (tmp_path / "a.test.mcp.yml").write_text(text, encoding="utf-8")
    ended = mcptest(tmp_path, "validate", "a.test.mcp.yml")
    assert (ended.code, "error[F019]" in ended.err) == (2, True)
    assert any(why in ended.err for why in UNREADABLE)


def test_a_schema_file_that_refers_to_its_own_parts_is_used(tmp_path: Path) -> None:
    ended = run_suite(tmp_path, with_schema(tmp_path, TEXT))
    assert (ended.code, outcomes(ended)) == (0, {"echoes": "passed"})
    number = {**TEXT, "$defs": {"text": {"type": "number"}}}
    assert run_suite(tmp_path, with_schema(tmp_path, number)).code == 1


# Mistakes in what holds a secret

SECRET = "Zq9xWv7k.[Lm3Pt5Rj2"


@pytest.mark.parametrize(
    ("url", "target", "message"),
    [
        ("http://127.0.0.1:${token}/", "result", "is not the URL of a server: its "),
        ("http://[${token}/", "result", "its host is not the name or number of a machine"),
        ("", "${token}", '"target" is not a path: '),
        ("", "result.${token}", '"target" is not a path: '),
        ("", "x${token}", '"target" is not a path: '),
    ],
)
def test_no_part_of_a_secret_is_in_a_mistake(
    tmp_path: Path, url: str, target: str, message: str
) -> None:
    expect = [{"target": target, "matcher": {"exact": 1}}]
    suite = {
        "servers": {"a": {"url": url} if url else server()},
        "variables": {"token": {"secret_env": "SHOP_TOKEN"}},
        "tools": [call("echoes", expect=expect)],
    }
    write(tmp_path, suite)
    ended = mcptest(tmp_path, "validate", SHOP_TOKEN=SECRET)
    assert (ended.code, message in ended.err) == (2, True)
    for begin in range(len(SECRET) - 3):
        assert SECRET[begin : begin + 4].lower() not in ended.err.lower()


def test_a_url_of_the_command_line_is_not_quoted(tmp_path: Path) -> None:
    ended = mcptest(tmp_path, "list", "--url", f"http://user:{SECRET}@a:port/")
    assert ended.err.startswith("error: --url is not the URL of a server: ")
    assert SECRET not in ended.err


# Snapshots of a test that is tried again


def test_only_the_try_that_passes_leaves_snapshots(tmp_path: Path) -> None:
    text = "result.content[0].text"
    either = {"any": [{"exact": "ok"}, {"snapshot": "first"}]}
    expect = [{"target": text, "matcher": either}, {"target": text, "matcher": {"exact": "ok"}}]
    flaky = call("settles", "flaky", args={"until": 2}, retries=1, expect=expect)
    ended = run_suite(tmp_path, {"tools": [flaky]}, CI="")
    assert (ended.code, ended.report()["snapshots"]["written"]) == (0, {})
    assert not (tmp_path / "__snapshots__").exists()
    kept = {"target": text, "matcher": {"snapshot": "last"}}
    ended = run_suite(tmp_path, {"tools": [{**flaky, "expect": [*expect, kept]}]}, CI="")
    written = ended.report()["snapshots"]["written"]
    assert (ended.code, list(written.values())) == (0, [["last"]])
