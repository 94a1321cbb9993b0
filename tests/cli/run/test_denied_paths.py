"""What is denied of a path that leads to nothing was not checked: such a test fails."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from format_runs import run_case, run_conductor, run_suite_entry, scripted, verdict

from mcptest.sdk.expect import expect

if TYPE_CHECKING:
    from pathlib import Path

DATA = {"text": "fine", "tools": [{"name": "a"}, {"name": "b"}], "none": [], "used": 1}
RESULT = {"content": [{"type": "text", "text": "fine"}], "structuredContent": DATA}
SERVER = scripted({"result": RESULT})

NOT = "match:not:contains:secret"
NOTHING = "no such path"


def pulled(path: str, value: object = NOT) -> dict[str, object]:
    return {"match:extractField": path, "value": value}


def partial(result: object) -> dict[str, Any]:
    return {"match:partial": {"result": result}}


# What is expected of the result, and where it leads to nothing.
NOWHERE: list[tuple[object, str]] = [
    ({"structuredContent": {"txt": NOT}}, "result.structuredContent.txt"),
    ({"content": [{"txet": NOT}]}, "result.content[0].txet"),
    ({"structuredContent": {"deep": {"match:all": [NOT]}}}, "result.structuredContent.deep"),
    (pulled("content[5].text"), "result.content[5].text"),
    (pulled("structuredContent.tools.*.nmae"), "result.structuredContent.tools[*].nmae"),
    (pulled("structuredContent.none.*.name"), "result.structuredContent.none[*].name"),
]
# Paths inside a matcher: suites by others rely on it that these hold.
IDLE: list[tuple[object, str]] = [
    (
        {"structuredContent": {"match:not:crossField": "used > limit"}},
        "match:not:crossField:used > limit checked nothing at result.structuredContent: ",
    ),
    (
        {"structuredContent": {"tools": "match:not:arrayContains:nmae:x"}},
        "match:not:arrayContains:nmae:x checked nothing at result.structuredContent.tools: ",
    ),
]
SOMEWHERE: list[object] = [
    {"structuredContent": {"text": NOT}},
    {"structuredContent": {"txt": "match:not:exists"}},
    {"structuredContent": {"txt": {"match:any": ["match:not:exists", NOT]}}},
    {"structuredContent": {"tools": "match:not:arrayContains:name:x"}},
    {"structuredContent": {"none": "match:not:arrayContains:name:x"}},
    pulled("structuredContent.tools.*.name"),
    pulled("structuredContent.none.*.name", {"match:any": ["match:empty", NOT]}),
    pulled("structuredContent.tools.*.title", {"match:arrayElements": "match:not:exists"}),
]


@pytest.mark.parametrize(("result", "path"), NOWHERE)
def test_in_a_test_file(tmp_path: Path, result: object, path: str) -> None:
    status, [(place, message)] = verdict(
        run_conductor(tmp_path, SERVER, {"response": partial(result)})
    )
    assert (status, place) == ("failed", path)
    assert NOTHING in message or "finds nothing at" in message or message == "is missing"


@pytest.mark.parametrize(("result", "note"), IDLE)
def test_a_path_inside_a_matcher_is_pointed_out(tmp_path: Path, result: object, note: str) -> None:
    ended = run_conductor(tmp_path, SERVER, {"response": partial(result)})
    assert verdict(ended) == ("passed", [])
    (test,) = ended.report()["suites"][0]["tests"]
    assert [each.startswith(note) for each in test["notes"]] == [True], test["notes"]


@pytest.mark.parametrize("result", SOMEWHERE)
def test_in_a_test_file_it_may_be_denied(tmp_path: Path, result: object) -> None:
    ended = run_conductor(tmp_path, SERVER, {"response": partial(result)})
    assert verdict(ended) == ("passed", [])


@pytest.mark.parametrize(
    ("result", "path"), [*NOWHERE[:1], *NOWHERE[3:5]], ids=["key", "index", "wildcard"]
)
def test_in_a_contract(tmp_path: Path, result: object, path: str) -> None:
    out = {"jsonrpc": "2.0", "id": 1, "result": result}
    status, [(place, _)] = verdict(run_case(tmp_path, SERVER, _patterns=True, out=out))
    assert (status, place) == ("failed", f"out.{path}")


@pytest.mark.parametrize("result", SOMEWHERE[:3])
def test_in_a_contract_it_may_be_denied(tmp_path: Path, result: object) -> None:
    out = {"jsonrpc": "2.0", "id": 1, "result": result}
    assert verdict(run_case(tmp_path, SERVER, _patterns=True, out=out)) == ("passed", [])


DENIED: dict[str, Any] = {"not": {"contains": "secret"}}


@pytest.mark.parametrize(
    ("target", "matcher"),
    [
        ("result.content[5].text", DENIED),
        ("result.content[5].text", {"pattern": "not:contains:secret"}),
        ("result.structuredContent.tools[*].nmae", DENIED),
        ("result.structuredContent.tools[*].nmae", {"pattern": NOT}),
        ("result.structuredContent.tools[*].nmae", {"any": [{"contains": "z"}, DENIED]}),
        ("result.structuredContent.none[*].name", {"not": {"exact": ["a"]}}),
        ("error.message", DENIED),
    ],
)
def test_in_a_suite(tmp_path: Path, target: str, matcher: dict[str, Any]) -> None:
    wished = [{"target": target, "matcher": matcher}]
    status, [(path, message)] = verdict(run_suite_entry(tmp_path, SERVER, expect=wished))
    assert (status, path) == ("failed", target)
    assert message.startswith(NOTHING)


@pytest.mark.parametrize(
    ("target", "matcher"),
    [
        ("result.content[0].text", DENIED),
        ("result.content[5].text", {"exists": False}),
        ("result.content[5].text", {"not": {"exists": True}}),
        ("result.content[5].text", {"any": [{"exists": False}, DENIED]}),
        ("result.structuredContent.tools[*].name", DENIED),
        ("result.structuredContent.none[*].name", {"any": [{"length": 0}, DENIED]}),
        ("result.structuredContent.none", DENIED),
        ("error", {"exists": False}),
        ("notifications[*].method", {"not": {"contains": "gone"}}),
        ("stderr", DENIED),
    ],
)
def test_in_a_suite_it_may_be_denied(tmp_path: Path, target: str, matcher: dict[str, Any]) -> None:
    result = {"target": "result", "matcher": {"type": "object"}}
    wished = [{"target": target, "matcher": matcher}, result]
    assert verdict(run_suite_entry(tmp_path, SERVER, expect=wished)) == ("passed", [])


def test_in_python() -> None:
    with pytest.raises(AssertionError, match=NOTHING):
        expect(DATA).to_match({"match:partial": {"txt": NOT}})
    with pytest.raises(AssertionError, match=NOTHING):
        expect(DATA).to_match(pulled("tools.*.nmae"))
    expect(DATA).to_match({"match:partial": {"text": NOT, "txt": "match:not:exists"}})
