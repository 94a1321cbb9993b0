"""Suites in several files: what is shared, whose word counts, and what cannot be imported."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

import pytest
from suite_reading import (
    FILE,
    FOLDER,
    REGISTRY,
    SERVER,
    context,
    mistakes,
    refusals,
    sent,
    suites_of,
)

from mcptest.core.errors import FormatError
from mcptest.core.plan import Gates, PluginSpec, Suite
from mcptest.formats.suite.loader import load_suite

if TYPE_CHECKING:
    from mcptest.matching.registry import Registry

TEST = "tools: [{name: main, tool: t}]\n"


def names(suites: list[Suite]) -> list[tuple[str, str, list[str]]]:
    """File, server and tests of each suite."""
    return [
        (suite.file, suite.server.name if suite.server else "", [case.name for case in suite.cases])
        for suite in suites
    ]


def test_an_imported_file_shares_servers_and_variables_both_ways() -> None:
    files = {
        "parts/more.yaml": "variables: {theirs: from part}\n"
        "tools: [{name: part, tool: t, args: {a: '${ours}'}}]\n"
    }
    text = (
        "imports: [parts/more.yaml]\nvariables: {ours: from main}\n"
        + SERVER
        + "tools: [{name: main, tool: t, args: {a: '${theirs}'}}]\n"
    )
    suites = suites_of(text, files)
    assert names(suites) == [(FILE, "shop", ["main"]), ("parts/more.yaml", "shop", ["part"])]
    given = [sent(suite.cases[0].steps[0])["params"]["arguments"] for suite in suites]
    assert given == [{"a": "from part"}, {"a": "from main"}]
    assert [suite.name for suite in suites] == [FILE, "more.yaml"]


def test_the_servers_may_all_be_in_an_imported_file() -> None:
    files = {"servers.yaml": "servers: {shop: {command: [x], cwd: data}}\n"}
    [suite] = suites_of("imports: {suites: [servers.yaml]}\n" + TEST, files)
    assert suite.server is not None
    assert suite.server.cwd == f"{FOLDER}/data"


def test_a_file_with_nothing_but_imports_runs_what_they_hold() -> None:
    files = {"a.yaml": SERVER + TEST, "b.yaml": "prompts: [{name: b, prompt: p}]\n"}
    suites = suites_of("imports: [a.yaml, b.yaml]\n", files)
    assert names(suites) == [("a.yaml", "shop", ["main"]), ("b.yaml", "shop", ["b"])]


def test_the_suites_of_one_server_are_adjacent_so_that_it_is_started_once() -> None:
    servers = "servers: {a: {command: [x]}, b: {command: [y]}}\n"
    entries = "tools: [{name: 1, server: a, tool: t}, {name: 2, server: b, tool: t}]\n"
    entries = entries.replace("1,", "'1',").replace("2,", "'2',")
    files = {"part.yaml": entries}
    suites = suites_of("imports: [part.yaml]\n" + servers + entries, files)
    assert names(suites) == [
        (FILE, "a", ["1"]),
        ("part.yaml", "a", ["1"]),
        (FILE, "b", ["2"]),
        ("part.yaml", "b", ["2"]),
    ]


@pytest.mark.parametrize(
    ("imports", "value"),
    [
        ("[a.yaml, b.yaml]", "of b"),
        ("[b.yaml, a.yaml]", "of a"),
        ("[a.yaml]", "of a"),
        ("[deep.yaml]", "of deep"),
    ],
)
def test_a_later_import_overrides_an_earlier_one_and_the_importer_overrides_both(
    imports: str, value: str
) -> None:
    files = {
        "a.yaml": "variables: {x: of a}\n",
        "b.yaml": "variables: {x: of b}\n",
        "deep.yaml": "imports: [a.yaml]\nvariables: {x: of deep}\n",
    }
    text = f"imports: {imports}\n{SERVER}tools: [{{name: n, tool: '${{x}}'}}]\n"
    [suite] = suites_of(text, files)
    assert suite.cases[0].steps[0].tool == value
    [suite] = suites_of(text + "variables: {x: of main}\n", files)
    assert suite.cases[0].steps[0].tool == "of main"


def test_an_import_may_use_the_variables_of_the_ones_before_it() -> None:
    files = {"a.yaml": "variables: {x: 1}\n", "b.yaml": "variables: {y: 'y${x}'}\n"}
    text = SERVER + "tools: [{name: n, tool: '${y}'}]\nimports: [a.yaml, b.yaml]\n"
    [suite] = suites_of(text, files)
    assert suite.cases[0].steps[0].tool == "y1"


def test_config_dir_is_the_folder_of_the_file_that_says_it_also_in_later_steps() -> None:
    steps = (
        "tools: [{name: n, steps: [{tool: a, capture: {id: result}}, "
        "{tool: b, args: {x: '${CONFIG_DIR} ${id}'}}]}]\n"
    )
    files = {"sub/part.yaml": steps}
    text = "imports: [sub/part.yaml]\nservers: {s: {command: ['${CONFIG_DIR}/run']}}\n" + steps
    folders = []
    for suite in suites_of(text, files):
        template = suite.cases[0].steps[1].template
        assert template is not None
        folders.append(sent(template.fill({"id": 1}))["params"]["arguments"]["x"])
        assert suite.server is not None
        assert suite.server.command == (f"{FOLDER}/run",)
    assert folders == [f"{FOLDER} 1", f"{FOLDER}/sub 1"]


def test_defaults_and_names_are_of_their_own_file() -> None:
    files = {"part.yaml": "name: Part\ndefaults: {tags: [theirs]}\n" + TEST}
    text = "name: Main\nimports: [part.yaml]\ndefaults: {tags: [ours]}\n" + SERVER + TEST
    found = [(suite.name, suite.cases[0].tags) for suite in suites_of(text, files)]
    assert found == [("Main", ("ours",)), ("Part", ("theirs",))]


def test_gates_and_run_options_are_gathered_and_the_importer_has_the_last_word() -> None:
    files = {
        "part.yaml": "coverage: {tools: 10, prompts: 20}\nperformance: {max_ms: 5}\n"
        "run_options: {retries: 1, parallel: 2}\n" + TEST
    }
    text = "imports: [part.yaml]\ncoverage: {tools: 90}\nrun_options: {retries: 3}\n"
    suites = suites_of(text + SERVER + TEST, files)
    gates = Gates(coverage={"tools": 90.0, "prompts": 20.0}, performance={"max_ms": 5.0})
    assert [suite.gates for suite in suites] == [gates, gates]
    assert suites[0].gates is suites[1].gates
    assert [(suite.parallel, suite.cases[0].retries) for suite in suites] == [(2, 3), (2, 3)]


def test_plugins_of_all_files_are_gathered_each_at_home_in_its_folder() -> None:
    seen: list[PluginSpec] = []

    def registry_with(plugins: tuple[PluginSpec, ...]) -> Registry:
        seen.extend(plugins)
        return REGISTRY

    files = {
        "sub/part.yaml": "imports: {subprocess_matchers: {geo: {command: [./geo]}}}\n",
    }
    text = "imports: {suites: [sub/part.yaml], subprocess_matchers: {own: {command: [x]}}}\n"
    load_suite(text + SERVER + TEST, FILE, context(files, registry_with=registry_with))
    assert [(each.name, each.cwd, each.owner) for each in seen] == [
        ("own", FOLDER, FILE),
        ("geo", f"{FOLDER}/sub", "sub/part.yaml"),
    ]


# Circles


@pytest.mark.parametrize("path", [FILE, f"./{FILE}", f"sub/../{FILE}"])
def test_a_file_that_imports_itself_is_read_once(path: str) -> None:
    text = f"imports: [{path}]\n{SERVER}{TEST}"
    assert names(suites_of(text, {FILE: text})) == [(FILE, "shop", ["main"])]


def test_files_that_import_each_other_are_read_once_each() -> None:
    files = {
        "a.yaml": "imports: [b.yaml]\ntools: [{name: a, tool: t}]\n",
        "b.yaml": f"imports: [a.yaml, {FILE}]\ntools: [{{name: b, tool: t}}]\n",
    }
    text = f"imports: [a.yaml, b.yaml, a.yaml]\n{SERVER}{TEST}"
    suites = suites_of(text, files)
    assert [suite.cases[0].name for suite in suites] == ["main", "a", "b"]


def test_a_chain_of_very_many_imports_ends_with_a_mistake() -> None:
    files = {f"f{n}.yaml": f"imports: [f{n + 1}.yaml]\n" for n in range(1000)}
    found = refusals(f"imports: [f0.yaml]\n{SERVER}{TEST}", files)
    message = "with this there are more than 200 files in one suite"
    assert [(each.code, each.message) for each in found] == [("F004", message)]
    assert found[0].file == "f198.yaml"


# What cannot be imported


@pytest.mark.parametrize(
    ("imports", "place"),
    [("[nope.yaml]", (1, 11)), ("{suites: [x.yaml, nope.yaml]}", (1, 28))],
)
def test_a_missing_file_is_reported_at_its_name_without_consequential_errors(
    imports: str, place: tuple[int, int]
) -> None:
    text = f"imports: {imports}\ntools: [{{name: n, server: theirs, tool: '${{theirs}}'}}]\n"
    expected = ("F001", *place, "cannot import it: no such file or directory")
    assert mistakes(text, {"x.yaml": "{}"}) == [expected]


def test_mistakes_of_all_files_are_reported_at_once_each_in_its_own_file() -> None:
    files = {
        "a.yaml": "tools: [{name: a}]\nwht: 1\n",
        "sub/b.yaml": "servers: {shop: {command: x}}\n",
        "c.yaml": "tools: [\n",
    }
    text = f"imports: [a.yaml, sub/b.yaml, c.yaml]\n{SERVER}toolz: []\n"
    found = [(each.file, each.code, each.line) for each in refusals(text, files)]
    assert found == [
        ("c.yaml", "F002", 1),
        (FILE, "F003", 2),
        (FILE, "F006", 3),
        ("a.yaml", "F007", 1),
        ("a.yaml", "F006", 2),
        ("sub/b.yaml", "F008", 1),
    ]


def test_two_servers_of_one_name_are_an_error_that_names_both_files() -> None:
    files = {"part.yaml": SERVER}
    [found] = refusals("imports: [part.yaml]\n" + SERVER + TEST, files)
    assert (found.file, found.code, found.line, found.column) == (FILE, "F003", 2, 11)
    assert found.message == f"the server 'shop' has two owners: part.yaml and {FILE}"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", ("F005", 1, "a suite must be a mapping and is empty")),
        ("- a\n", ("F005", 1, "a suite must be a mapping and is a list")),
        (
            "description: d\ntests: [{it: a, tool: t, expect: {stderr: toBeEmpty}}]\n",
            ("F006", 2, 'a suite has no key "tests"'),
        ),
        ("case: c\nin: {}\nout: {}\n", ("F006", 1, 'a suite has no key "case"')),
        ("tools: [{name: *x}]\n", ("F002", 1, None)),
    ],
)
def test_a_file_that_is_not_a_suite_cannot_be_imported(
    content: str, expected: tuple[str, int, str | None]
) -> None:
    found = refusals(f"imports: [other.yml]\n{SERVER}{TEST}", {"other.yml": content})
    first = found[0]
    assert (first.file, first.code, first.line) == ("other.yml", expected[0], expected[1])
    assert expected[2] is None or first.message.startswith(expected[2])


@pytest.mark.parametrize("error", [OSError("disk on fire"), ValueError("embedded null byte")])
def test_a_file_that_cannot_be_read_is_reported_with_the_reason(error: Exception) -> None:
    def read_beside(name: str) -> str:
        raise error

    given = context().but(read_beside=read_beside)
    with pytest.raises(FormatError) as caught:
        load_suite(f"imports: ['']\n{SERVER}{TEST}", FILE, given)
    [found] = caught.value.diagnostics
    assert (found.code, found.message) == ("F001", f"cannot import it: {error}")


def test_paths_are_taken_from_the_folder_of_the_file_that_names_them() -> None:
    asked = []

    def read_beside(name: str) -> str:
        asked.append(posixpath.normpath(name))
        return {"sub/a.yaml": "imports: [b.yaml, ../c.yaml]\n"}.get(asked[-1], "{}")

    given = context().but(read_beside=read_beside)
    load_suite(f"imports: [sub/a.yaml, /abs/d.yaml]\n{SERVER}{TEST}", FILE, given)
    assert asked == ["sub/a.yaml", "sub/b.yaml", "c.yaml", "/abs/d.yaml"]
