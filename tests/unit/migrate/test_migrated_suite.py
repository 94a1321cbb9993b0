"""The suite that is written: joined tests, their order, and the servers of several files."""

from __future__ import annotations

from typing import Any

from migrating import (
    FOLDER,
    SERVER,
    calling,
    carried,
    conductor,
    conductor_source,
    left,
    losses,
    mistake_in_suite,
    server,
    suite_from,
)

from mcptest.formats.yaml import read_document
from mcptest.migrate.suite import ServerConfig, convert_server, write_suite

LANES = ("tools", "resources", "prompts")
OK: dict[str, Any] = {"response": {"result": {"a": 1}}}


def keeps(name: str, **keys: Any) -> dict[str, Any]:
    return calling(OK, capture={name: "result.id"}, **keys)


def uses(name: str, **keys: Any) -> dict[str, Any]:
    return calling(OK, arguments={"id": f"${{{name}}}"}, **keys)


def names(suite: Any) -> list[Any]:
    """The names of all entries, of those with steps the names of the steps."""
    found = [entry for lane in LANES for entry in suite.get(lane, [])]
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


def test_an_unused_capture_stays_with_its_test() -> None:
    (entry,) = carried(keeps("x"))["tools"]
    assert (entry["tool"], entry["capture"]) == ("t", {"x": "result.id"})


def test_tests_that_use_captures_of_an_omitted_test_are_omitted_too() -> None:
    listing = {"list": "tools", "expect": OK, "capture": {"x": "result.id"}}
    text, notes = suite_from(conductor(listing, uses("x"), calling(OK)))
    assert losses(notes) == [
        "it lists tools, and a suite only makes calls",
        "it uses x, and the test that captures it is left behind",
    ]
    assert names(value_of(text)) == ["test 3"]


def test_marks_of_a_group_are_those_that_all_have_and_the_others_are_reported() -> None:
    text, notes = suite_from(
        conductor(keeps("x", tags=["a"], timeout=5), uses("x", tags=["a"], retries=2))
    )
    assert losses(notes) == [
        "timeout: a step cannot have its own",
        "retries: a step cannot have its own",
    ]
    (entry,) = value_of(text)["tools"]
    assert entry["tags"] == ["a"]
    assert "timeout" not in entry


def test_a_skipped_test_is_outside_of_a_group_or_left_out() -> None:
    text, notes = suite_from(conductor(keeps("x"), calling(OK, skip=True), uses("x")))
    assert names(value_of(text)) == ["test 2", ["test 1", "test 3"]]
    text, notes = suite_from(conductor(keeps("x"), uses("x", skip=True), uses("x")))
    assert losses(notes) == ["it is skipped, and a single step that uses x cannot be"]


def test_tests_that_each_have_a_process_do_not_share_one() -> None:
    alone: dict[str, object] = {**SERVER, "isolation": "test"}
    source = conductor_source(conductor(keeps("x"), uses("x"), calling(OK)))
    text, notes = write_suite([(source, server(alone))], mistake_in_suite)
    assert losses(notes) == ["its tests share a value, but each runs in a process of its own"]
    assert names(value_of(text)) == ["test 3"]


def test_a_value_is_not_captured_from_the_envelope() -> None:
    assert left(calling(OK, capture={"x": "id"})) == [
        "x is captured from the envelope of the response"
    ]


# Lanes


def resource() -> dict[str, Any]:
    return {"resource": "a:b", "expect": OK}


def prompt() -> dict[str, Any]:
    return {"prompt": "p", "expect": OK}


def test_tests_ordered_by_lane_are_written_in_their_lanes() -> None:
    suite = carried(calling(OK), resource(), prompt())
    assert [list(suite[lane][0]) for lane in LANES] == [
        ["name", "tool", "expect"],
        ["name", "uri", "expect"],
        ["name", "prompt", "expect"],
    ]


def test_tests_run_in_the_order_of_the_file_with_as_few_as_possible_elsewhere() -> None:
    tests = [calling(OK), resource(), prompt(), calling(OK), calling(OK), resource()]
    value = carried(*tests)
    assert [entry["name"] for lane in LANES for entry in value.get(lane, [])] == [
        f"test {number}" for number in range(1, 7)
    ]
    assert names(value) == ["test 1", [None], [None], "test 4", "test 5", "test 6"]
    assert list(value["tools"][1]["steps"][0]) == ["uri", "expect"]


# Several files


def written(*files: tuple[dict[str, object], str]) -> Any:
    """The suite of these files, each with a server and one test."""
    sources = [
        (conductor_source(conductor(calling(OK)), name), server(keys)) for keys, name in files
    ]
    text, _ = write_suite(sources, mistake_in_suite)
    return value_of(text)


def test_files_share_a_server_when_they_name_the_same() -> None:
    value = written((SERVER, "a"), (SERVER, "b"))
    assert list(value["servers"]) == ["s"]
    assert "server" not in value["tools"][0]


def test_files_that_each_have_a_process_do_not_share_a_server() -> None:
    alone: dict[str, object] = {**SERVER, "isolation": "file"}
    value = written((alone, "a"), (alone, "b"))
    assert list(value["servers"]) == ["s", "s-2"]
    assert [entry["server"] for entry in value["tools"]] == ["s", "s-2"]


def test_servers_of_one_name_that_differ_are_kept_apart() -> None:
    other: dict[str, object] = {**SERVER, "command": "walk"}
    value = written((SERVER, "a"), (other, "b"))
    assert value["servers"] == {"s": {"command": ["run"]}, "s-2": {"command": ["walk"]}}


def test_an_entry_that_the_reader_of_suites_refuses_is_left_behind() -> None:
    source = conductor_source(conductor(calling(OK), calling(OK)))
    text, notes = write_suite(
        [(source, server(SERVER))], lambda suite: "it is odd" if "test 2" in suite else ""
    )
    assert [(note.test, note.reason) for note in notes] == [("test 2", "it is odd")]
    assert names(value_of(text)) == ["test 1"]


# Servers


def test_every_key_has_its_name_in_a_suite() -> None:
    keys: dict[str, object] = {
        "name": "s",
        "command": "run",
        "args": ["--fast"],
        "cwd": "lib",
        "env": {"MODE": "test", "TOKEN": "${TOKEN}"},
        "inheritEnv": False,
        "startupTimeout": "5s",
        "readyPattern": "ready",
        "timeout": 500,
        "protocolVersion": "2025-06-18",
        "isolation": "test",
        "maxLineBytes": 1000,
        "client": {"roots": ["file:///a"]},
    }
    found = convert_server(ServerConfig(keys=keys, file="a.json", cwd=f"{FOLDER}/lib"), FOLDER)
    assert found.value == {
        "command": ["run", "--fast"],
        "cwd": "lib",
        "env": {"MODE": "test", "TOKEN": {"secret_env": "TOKEN"}},
        "inherit_env": False,
        "startup_timeout": "5s",
        "ready_pattern": "ready",
        "timeout": 500,
        "protocol_version": "2025-06-18",
        "isolation": "test",
        "max_line_bytes": 1000,
        "client": {"roots": ["file:///a"]},
    }
    assert (found.name, found.notes, found.variables) == ("s", (), {})


def test_a_folder_is_seen_from_the_new_file() -> None:
    config = ServerConfig(keys=SERVER, file="a.json", cwd="/there/lib")
    assert convert_server(config, FOLDER).value["cwd"] == "../there/lib"
    assert "cwd" not in convert_server(config.but(cwd=FOLDER), FOLDER).value


def test_a_secret_inside_of_a_text_becomes_a_variable() -> None:
    found = server({**SERVER, "env": {"AUTH": "Bearer ${TOKEN}, ${odd-name}"}})
    assert found.value["env"] == {"AUTH": "Bearer ${TOKEN}, ${v_odd_name}"}
    variables = {"TOKEN": {"secret_env": "TOKEN"}, "v_odd_name": {"secret_env": "odd-name"}}
    assert found.variables == variables


def test_a_secret_of_an_argument_becomes_a_variable() -> None:
    found = server({**SERVER, "args": ["--key=${API_KEY}"]})
    assert found.value["command"] == ["run", "--key=${API_KEY}"]
    assert found.variables == {"API_KEY": {"secret_env": "API_KEY"}}


def test_texts_that_look_like_references_stay_texts() -> None:
    found = server({**SERVER, "args": ["${HOME}"], "readyPattern": "a${b}"})
    assert found.value["command"] == ["run", "$${HOME}"]
    assert found.value["ready_pattern"] == "a$${b}"


def test_server_settings_that_a_suite_cannot_express_are_reported() -> None:
    found = server({**SERVER, "strictInvariants": True, "env": {"A": "$${B}"}})
    assert [(note.file, note.reason) for note in found.notes] == [
        ("a.json", "strictInvariants: run the suite with --strict-invariants instead"),
        ("a.json", 'env A: "$${B}" would be read as an escaped reference'),
    ]
    assert "env" not in found.value


def test_a_contract_has_a_process_of_its_own_and_says_hello_as_it_did() -> None:
    hello = {"protocolVersion": "2025-06-18", "capabilities": {"roots": {}}, "clientInfo": {}}
    found = server(SERVER, handshake=hello)
    assert found.value == {
        "command": ["run"],
        "isolation": "file",
        "protocol_version": "2025-06-18",
        "client": {"capabilities": {"roots": {}}},
    }
    assert found.is_for_one_file
    assert "protocol_version" not in server(SERVER, handshake={"protocolVersion": "1999"}).value
