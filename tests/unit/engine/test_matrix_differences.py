"""In what ways to a server differ: results, and what it says of itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcptest.core.events import CaseFinished, SuiteStarted, Way
from mcptest.core.results import CaseResult, Fault, Mismatch
from mcptest.core.value_class import ABSENT
from mcptest.engine.matrix import (
    Opening,
    WayResults,
    offer_differences,
    result_differences,
    unread_lists,
)

if TYPE_CHECKING:
    from mcptest.core.results import Status

OLD = Way(transport="stdio", revision="2025-11-25")
NEW = Way(transport="stdio", revision="2026-07-28")
FAR = Way(transport="http", revision="2025-11-25")


def result(name: str, status: Status = "passed", **fields: Any) -> CaseResult:
    return CaseResult(name=name, status=status, line=3, **fields)


def way_with(*results: CaseResult, suites: int = 1) -> WayResults:
    way = WayResults()
    for _ in range(suites):
        way.observe(SuiteStarted(name="s", file="s.yml", format="suite", server="", total=1))
        for each in results:
            way.observe(CaseFinished(result=each))
    return way


def test_tests_with_the_same_outcome_are_not_a_difference() -> None:
    failed = result("b", "failed")
    ways = [
        (OLD, way_with(result("a"), failed).results),
        (NEW, way_with(result("a"), failed).results),
    ]
    assert result_differences(ways) == (2, ())


def test_a_test_that_fails_in_one_way_is_reported_with_its_first_mismatch() -> None:
    mismatches = tuple(
        Mismatch(path=path, expected=1, actual=2, message="differs") for path in ("x.y", "z")
    )
    bad = result("a", "failed", mismatches=mismatches)
    compared, (found,) = result_differences(
        [(OLD, way_with(result("a")).results), (NEW, way_with(bad).results)]
    )
    assert (compared, found.suite, found.file, found.line, found.test) == (1, "s", "s.yml", 3, "a")
    assert [(seen.status, seen.reason) for seen in found.seen] == [
        ("passed", ""),
        ("failed", "x.y: differs"),
    ]


def test_a_fault_is_the_reason_where_there_is_one() -> None:
    broken = result("a", "error", fault=Fault(kind="timeout", message="no answer"))
    ways = [(OLD, way_with(result("a")).results), (NEW, way_with(broken).results)]
    (found,) = result_differences(ways)[1]
    assert found.seen[1].reason == "timeout: no answer"


def test_a_test_that_did_not_run_in_a_way_is_not_compared_with_it() -> None:
    ways = [
        (OLD, way_with(result("a"), result("b")).results),
        (NEW, way_with(result("a")).results),
        (FAR, way_with().results),
    ]
    assert result_differences(ways) == (1, ())


def test_a_way_in_which_a_differing_test_did_not_run_has_no_status() -> None:
    ways = [
        (OLD, way_with(result("a")).results),
        (NEW, way_with(result("a", "failed")).results),
        (FAR, way_with().results),
    ]
    (found,) = result_differences(ways)[1]
    assert [seen.status for seen in found.seen] == ["passed", "failed", None]


def test_tests_of_one_name_are_distinguished_by_their_place() -> None:
    twice = way_with(result("a"), result("a", "failed"), suites=2)
    assert len(twice.results) == 4
    assert result_differences([(OLD, twice.results), (NEW, twice.results)]) == (4, ())


def tool(name: str, **members: object) -> dict[str, object]:
    return {"name": name, "inputSchema": {"type": "object"}, **members}


def opening(*tools: dict[str, object], **capabilities: object) -> Opening:
    return Opening(
        capabilities={"tools": {}, **capabilities},
        info={"name": "shop", "version": "1"},
        lists={"tools": dict(zip(_keys(tools), tools, strict=True))},
    )


def _keys(tools: tuple[dict[str, object], ...]) -> list[tuple[str, int]]:
    names = [str(each["name"]) for each in tools]
    return [(name, names[: at + 1].count(name)) for at, name in enumerate(names)]


def differing_members(*openings: tuple[Way, Opening]) -> list[tuple[str, str, list[object]]]:
    return [
        (each.what, each.member, [seen.value for seen in each.seen])
        for each in offer_differences(openings)
    ]


def test_a_server_that_says_the_same_in_all_ways_has_no_differences() -> None:
    same = opening(tool("add"), tool("sub"))
    other_order = opening(tool("sub"), tool("add"))
    assert differing_members((OLD, same), (NEW, other_order), (FAR, same)) == []


def test_a_single_way_differs_from_nothing() -> None:
    assert differing_members((OLD, opening(tool("add")))) == []
    assert differing_members() == []


def test_a_tool_that_is_missing_in_a_way_is_reported_once() -> None:
    found = differing_members((OLD, opening(tool("add"))), (NEW, opening()))
    assert found == [('tool "add"', "", [True, ABSENT])]


def test_a_tool_that_is_listed_twice_in_one_way_only_is_a_difference() -> None:
    twice = opening(tool("add"), tool("add", description="another"))
    found = differing_members((OLD, opening(tool("add"))), (NEW, twice))
    assert found == [('tool "add", listed 2 times', "", [ABSENT, True])]
    other = opening(tool("add"), tool("add", description="third"))
    assert differing_members((OLD, twice), (NEW, other)) == [
        ('tool "add", listed 2 times', "description", ["another", "third"])
    ]
    assert differing_members((OLD, twice), (NEW, twice)) == []


def test_a_schema_that_differs_is_reported_at_the_place_where_it_does() -> None:
    def schema(kind: str) -> dict[str, object]:
        return {"type": "object", "properties": {"a": {"enum": ["x", kind]}}}

    one, other = tool("add", inputSchema=schema("y")), tool("add", inputSchema=schema("z"))
    found = differing_members((OLD, opening(one)), (NEW, opening(other)))
    assert found == [('tool "add"', "inputSchema.properties.a.enum[1]", ["y", "z"])]


def test_a_number_and_a_truth_value_are_not_the_same() -> None:
    one, other = tool("add", annotations={"hint": 1}), tool("add", annotations={"hint": True})
    (found,) = differing_members((OLD, opening(one)), (FAR, opening(other)))
    assert found[1:] == ("annotations.hint", [1, True])


def test_a_member_that_is_there_in_one_way_only_is_reported_whole() -> None:
    other = tool("add", outputSchema={"type": "object"})
    (found,) = differing_members((OLD, opening(tool("add"))), (FAR, opening(other)))
    assert found[1:] == ("outputSchema", [ABSENT, {"type": "object"}])


def test_members_that_are_not_compared_may_differ() -> None:
    one, other = tool("add", _meta={"a": 1}), tool("add", _meta={"a": 2})
    assert differing_members((OLD, opening(one)), (NEW, opening(other))) == []


def test_a_lasting_capability_must_be_there_in_all_ways() -> None:
    found = differing_members((OLD, opening(prompts={})), (NEW, opening()))
    assert found == [("capability prompts", "", [True, ABSENT])]


def test_a_capability_of_one_revision_is_compared_within_it_only() -> None:
    old, new = opening(logging={}, tasks={"list": {}}), opening(extensions={})
    assert differing_members((OLD, old), (NEW, new)) == []
    found = differing_members((OLD, old), (NEW, new), (FAR, opening(tasks={"list": {}})))
    assert found == [("capabilities", "logging", [{}, ABSENT])]


def test_settings_of_a_capability_are_compared_within_one_revision() -> None:
    one, other = opening(resources={"subscribe": True}), opening(resources={})
    assert differing_members((OLD, one), (NEW, other)) == []
    assert differing_members((OLD, one), (FAR, other)) == [
        ("capabilities", "resources.subscribe", [True, ABSENT])
    ]


def test_another_name_or_version_is_reported_and_a_missing_server_info_is_not() -> None:
    other = opening().but(info={"name": "shop", "version": "2"})
    assert differing_members((OLD, opening()), (NEW, other)) == [
        ("serverInfo", "version", ["1", "2"])
    ]
    assert differing_members((OLD, opening()), (NEW, opening().but(info=None))) == []


def test_a_list_that_could_not_be_read_is_reported_and_not_compared() -> None:
    unread = opening().but(lists={"tools": None})
    ways = [(OLD, opening(tool("add"))), (NEW, unread)]
    assert differing_members(*ways) == []
    assert list(unread_lists(ways)) == ["the list of tools could not be read over " + NEW.label]
    assert list(unread_lists(ways[:1])) == []
