"""Tests that share captured values become one entry; everything stays in its order."""

from __future__ import annotations

from typing import Any

from migrating import (
    SERVER,
    calling,
    carried,
    conductor,
    entries_of,
    mistake_in_suite,
    owned,
    suite_from,
)

from mcptest.formats.document import read_document
from mcptest.migrate.suite_writing import write_suite

OK: dict[str, Any] = {"response": {"result": {"a": 1}}}


def keeps(name: str, **keys: Any) -> dict[str, Any]:
    return calling(OK, capture={name: "result.id"}, **keys)


def uses(name: str, **keys: Any) -> dict[str, Any]:
    return calling(OK, arguments={"id": f"${{{name}}}"}, **keys)


def names(suite: Any) -> list[Any]:
    """The names of all entries, of those with steps the names of the steps."""
    found = [entry for lane in ("tools", "resources", "prompts") for entry in suite.get(lane, [])]
    return [
        [step.get("name") for step in entry["steps"]] if "steps" in entry else entry["name"]
        for entry in found
    ]


def value_of(text: str) -> Any:
    return read_document(text, "mcptest.yaml").value


def test_everything_from_the_capture_to_its_last_use_is_one_entry() -> None:
    suite = carried(calling(OK), keeps("x"), calling(OK), uses("x"), calling(OK))
    assert names(suite) == ["test 1", ["test 2", "test 3", "test 4"], "test 5"]
    entry = suite["tools"][1]
    assert entry["name"] == "test 2 (and 2 more that build on it)"
    assert entry["steps"][0]["capture"] == {"x": "result.id"}
    assert entry["steps"][2]["args"] == {"id": "${x}"}


def test_groups_that_overlap_are_one() -> None:
    suite = carried(keeps("x"), keeps("y"), uses("x"), uses("y"), keeps("z"), uses("z"))
    assert names(suite) == [["test 1", "test 2", "test 3", "test 4"], ["test 5", "test 6"]]


def test_a_capture_that_nobody_uses_stays_with_its_test() -> None:
    (entry,) = carried(keeps("x"))["tools"]
    assert (entry["tool"], entry["capture"]) == ("t", {"x": "result.id"})


def test_who_uses_what_a_test_captures_that_is_left_behind_is_left_behind_too() -> None:
    listing = {"list": "tools", "expect": OK, "capture": {"x": "result.id"}}
    found = suite_from(conductor(listing, uses("x"), calling(OK)))
    assert [each.reason for each in found.remarks] == [
        "it lists tools, and a suite only makes calls",
        "it uses x, and the test that captures it is left behind",
    ]
    assert names(value_of(found.text)) == ["test 3"]


def test_marks_of_a_group_are_those_that_all_have_and_the_others_are_told() -> None:
    found = suite_from(
        conductor(keeps("x", tags=["a"], timeout=5), uses("x", tags=["a"], retries=2))
    )
    assert [each.reason for each in found.remarks] == [
        "timeout: a step of an entry has none of its own",
        "retries: a step of an entry has none of its own",
    ]
    (entry,) = value_of(found.text)["tools"]
    assert entry["tags"] == ["a"]
    assert "timeout" not in entry


def test_a_skipped_test_stands_outside_of_a_group_or_is_left_behind() -> None:
    found = suite_from(conductor(keeps("x"), calling(OK, skip=True), uses("x")))
    assert names(value_of(found.text)) == ["test 2", ["test 1", "test 3"]]
    found = suite_from(conductor(keeps("x"), uses("x", skip=True), uses("x")))
    assert [each.reason for each in found.remarks] == [
        "it is skipped, and stands among tests that share x"
    ]


def test_tests_that_each_have_a_process_do_not_share_one() -> None:
    alone: dict[str, object] = {**SERVER, "isolation": "test"}
    text = conductor(keeps("x"), uses("x"), calling(OK))
    found = write_suite([owned(text, alone)], mistake_in_suite)
    assert [each.reason for each in found.remarks] == [
        "its tests share a value, and each of them has a process of its own"
    ]
    assert names(value_of(found.text)) == ["test 3"]


def test_a_value_is_not_captured_from_the_envelope() -> None:
    test = calling(OK, capture={"x": "id"})
    found = suite_from(conductor(test))
    assert [each.reason for each in found.remarks] == [
        "x is captured from the envelope of the answer"
    ]


# Lanes


def resource() -> dict[str, Any]:
    return {"resource": "a:b", "expect": OK}


def prompt() -> dict[str, Any]:
    return {"prompt": "p", "expect": OK}


def in_order(suite: Any) -> list[str]:
    """The names of tests as they run: lane after lane."""
    drafts = [draft for each in entries_of(suite).by_server.values() for draft in each]
    return [str(step["title"]).partition(" (")[0] for draft in drafts for step in draft.steps]


def test_tests_that_come_lane_by_lane_stand_in_their_lanes() -> None:
    suite = carried(calling(OK), resource(), prompt())
    assert [list(suite[lane][0]) for lane in ("tools", "resources", "prompts")] == [
        ["name", "tool", "expect"],
        ["name", "uri", "expect"],
        ["name", "prompt", "expect"],
    ]


def test_tests_run_in_the_order_of_the_file_with_as_few_as_possible_elsewhere() -> None:
    tests = [calling(OK), resource(), prompt(), calling(OK), calling(OK), resource()]
    suite = suite_from(conductor(*tests)).text
    value = value_of(suite)
    assert in_order(suite) == [f"test {number}" for number in range(1, 7)]
    assert names(value) == ["test 1", [None], [None], "test 4", "test 5", "test 6"]
    assert list(value["tools"][1]["steps"][0]) == ["uri", "expect"]


# Several files


def test_files_share_a_server_when_they_name_the_same() -> None:
    files = [owned(conductor(calling(OK)), file=name) for name in ("a", "b")]
    value = value_of(write_suite(files, mistake_in_suite).text)
    assert list(value["servers"]) == ["s"]
    assert "server" not in value["tools"][0]


def test_files_that_each_have_a_process_do_not_share_a_server() -> None:
    alone: dict[str, object] = {**SERVER, "isolation": "file"}
    files = [owned(conductor(calling(OK)), alone, name) for name in ("a", "b")]
    value = value_of(write_suite(files, mistake_in_suite).text)
    assert list(value["servers"]) == ["s", "s-2"]
    assert [entry["server"] for entry in value["tools"]] == ["s", "s-2"]


def test_servers_of_one_name_that_differ_are_kept_apart() -> None:
    other: dict[str, object] = {**SERVER, "command": "walk"}
    files = [owned(conductor(calling(OK))), owned(conductor(calling(OK)), other)]
    value = value_of(write_suite(files, mistake_in_suite).text)
    assert value["servers"] == {"s": {"command": ["run"]}, "s-2": {"command": ["walk"]}}


def test_an_entry_that_the_reader_of_suites_refuses_is_left_behind() -> None:
    text = conductor(calling(OK), calling(OK))
    files = [owned(text)]
    found = write_suite(files, lambda suite: "it is odd" if "test 2" in suite else "")
    assert [(each.what, each.reason) for each in found.remarks] == [("test 2", "it is odd")]
    assert names(value_of(found.text)) == ["test 1"]
