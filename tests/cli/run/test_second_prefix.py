"""`match:not:match:…` would search for the text "match:…" and always pass: it is a mistake."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from console import mcptest
from format_runs import run_case, run_conductor, run_suite_entry, scripted

from mcptest.sdk.expect import BadExpectationError, expect

if TYPE_CHECKING:
    from pathlib import Path

WRONG = "match:not:match:contains:secret"
SAID = '"match:" is written once, in front of "not:"'
HELP = (
    "write match:not:contains:secret; to search for exactly this string, write "
    "match:not:contains:match:contains:secret"
)
SERVER = scripted({"result": {"content": [{"type": "text", "text": "fine"}]}})


def test_it_is_reported_with_its_place_and_what_to_write(tmp_path: Path) -> None:
    text = f"""description: d
tests:
  - it: keeps the secret
    tool: say
    expect:
      response: {{ result: {{ content: [{{ type: text, text: "{WRONG}" }}] }} }}
"""
    (tmp_path / "a.test.mcp.yml").write_text(text, encoding="utf-8")
    ended = mcptest(tmp_path, "validate", "a.test.mcp.yml")
    assert ended.code == 2
    line = text.splitlines()[5]
    column = line.index("match:contains") + 1
    assert f"error[F012]: {SAID}" in ended.err
    assert f" --> a.test.mcp.yml:6:{column}" in ended.err
    shown = ended.err.splitlines()
    [caret] = [each for each in shown if set(each.partition("|")[2].strip()) == {"^"}]
    [quoted] = [each for each in shown if WRONG in each and "|" in each]
    assert quoted[caret.index("^") :].startswith("match:contains")
    assert caret.count("^") == len("match:")
    assert HELP in " ".join(ended.err.split())


def diagnostics(ended: Any) -> list[tuple[str, str, str]]:
    error = ended.report()["error"]
    return [(each["code"], each["message"], each["help"]) for each in error["diagnostics"]]


@pytest.mark.parametrize(
    "wished",
    [
        {"response": {"match:partial": {"result": {"content": [{"text": WRONG}]}}}},
        {"response": {"result": {"match:any": [WRONG, {"match:all": [WRONG]}]}}},
        {"response": {"result": {"match:extractField": "content.*.text", "value": WRONG}}},
        {"response": {"result": {"content": {"match:arrayElements": {"text": WRONG}}}}},
        {"stderr": WRONG},
        {"notifications": [{"method": "a", "params": {"data": WRONG}}]},
    ],
)
def test_it_is_found_everywhere_in_test_files(tmp_path: Path, wished: dict[str, Any]) -> None:
    ended = run_conductor(tmp_path, SERVER, wished)
    assert ended.code == 2
    assert set(diagnostics(ended)) == {("F012", SAID, HELP)}
    assert len(diagnostics(ended)) == json.dumps(wished).count(WRONG)


def test_in_contracts(tmp_path: Path) -> None:
    out = {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"text": WRONG}]}}
    ended = run_case(tmp_path, SERVER, _patterns=True, out=out)
    assert (ended.code, diagnostics(ended)) == (2, [("F012", SAID, HELP)])


@pytest.mark.parametrize("wrong", [WRONG, WRONG.removeprefix("match:")])
@pytest.mark.parametrize("is_nested", [False, True])
def test_in_suites(tmp_path: Path, wrong: str, is_nested: bool) -> None:
    matcher: dict[str, Any] = {"pattern": wrong}
    if is_nested:
        matcher = {"all": [{"exists": True}, {"any": [{"not": matcher}]}]}
    wished = [{"target": "result.content[0].text", "matcher": matcher}]
    ended = run_suite_entry(tmp_path, SERVER, expect=wished)
    message = f'the matcher "pattern" is wrong: {SAID}'
    assert (ended.code, diagnostics(ended)) == (2, [("F012", message, HELP)])


def test_in_python() -> None:
    with pytest.raises(BadExpectationError, match="is written once"):
        expect({"text": "fine"}).to_match({"text": WRONG})


def test_one_prefix_is_fine(tmp_path: Path) -> None:
    right = {"text": "match:not:contains:match:contains:secret", "type": "text"}
    wished = {"response": {"jsonrpc": "2.0", "id": 1, "result": {"content": [right]}}}
    assert run_conductor(tmp_path, SERVER, wished).code == 0
