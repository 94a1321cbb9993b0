"""Suites from real files: one file has several names, and only what is run needs its variables."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mcptest.core.errors import FormatError
from mcptest.engine.loading import Wanted, load_plan, load_suites
from mcptest.engine.selection import Selection

SERVER = "servers: {shop: {command: [x]}}\n"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(path: str, text: str) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text, encoding="utf-8")


def run_of(*paths: str) -> list[tuple[str, str]]:
    """File and name of every test, as it would be run."""
    plan = load_plan(Wanted(paths=paths), {})
    return [(suite.file, case.name) for suite, _ in plan.suites for case in suite.cases]


# Imports


def test_a_file_that_is_imported_by_several_names_is_taken_in_once() -> None:
    write("parts/a.yaml", "tools: [{name: a, tool: t}]\n")
    os.symlink("parts/a.yaml", "link.yaml")
    os.symlink("parts", "folder")
    names = "[parts/a.yaml, ./parts/a.yaml, parts/../parts/a.yaml, link.yaml, folder/a.yaml]"
    write("mcptest.yaml", f"imports: {names}\n{SERVER}")
    assert run_of("mcptest.yaml") == [("parts/a.yaml", "a")]


def test_a_circle_through_a_link_ends_where_it_began() -> None:
    write("mcptest.yaml", f"imports: [again.yaml]\n{SERVER}tools: [{{name: a, tool: t}}]\n")
    os.symlink("mcptest.yaml", "again.yaml")
    assert run_of("mcptest.yaml") == [("mcptest.yaml", "a")]


def test_the_way_back_out_of_a_linked_folder_leads_where_the_system_goes() -> None:
    Path("other/sub").mkdir(parents=True)
    os.symlink("other/sub", "link")
    write("other/mcptest.yaml", "tools: [{name: b, tool: t, args: {a: '${CONFIG_DIR}'}}]\n")
    write(
        "mcptest.yaml", f"imports: [link/../mcptest.yaml]\n{SERVER}tools: [{{name: a, tool: t}}]\n"
    )
    assert run_of("mcptest.yaml") == [("mcptest.yaml", "a"), ("link/../mcptest.yaml", "b")]


def test_files_that_only_look_alike_are_each_taken_in() -> None:
    for name in ("a", "b"):
        write(f"{name}/part.yaml", f"tools: [{{name: {name}, tool: t}}]\n")
    write("mcptest.yaml", f"imports: [a/part.yaml, b/part.yaml]\n{SERVER}")
    assert run_of("mcptest.yaml") == [("a/part.yaml", "a"), ("b/part.yaml", "b")]


@pytest.mark.parametrize("importer", ["a", "c"], ids=["read first", "read last"])
def test_a_suite_imported_under_another_path_is_not_run_alone_as_well(importer: str) -> None:
    write("b.mcptest.yaml", f"{SERVER}tools: [{{name: b, tool: t}}]\n")
    os.symlink("b.mcptest.yaml", "link.yaml")
    write(f"{importer}.mcptest.yaml", "imports: [link.yaml]\ntools: [{name: main, tool: t}]\n")
    assert sorted(name for _, name in run_of(".")) == ["b", "main"]


def test_two_suites_that_are_links_to_one_file_both_run() -> None:
    # Each has its own folder, and so its own server.
    write("shared.yaml", f"{SERVER}tools: [{{name: a, tool: t}}]\n")
    for name in ("one", "two"):
        Path(name).mkdir()
        os.symlink("../shared.yaml", f"{name}/mcptest.yaml")
    assert run_of("one", "two") == [("one/mcptest.yaml", "a"), ("two/mcptest.yaml", "a")]


# What the environment does not have

SECRETS = """\
servers:
  shop: {command: [x]}
  mail: {command: [y], env: {KEY: {secret_env: MAIL_KEY}}}
variables: {token: {secret_env: TOKEN}}
tools:
  - {name: plain, server: shop, tool: t, tags: [quick]}
  - {name: signed, server: shop, tool: t, args: {a: "${token}"}}
  - {name: sent, server: mail, tool: t}
  - {name: left out, server: mail, tool: t, skip: not now, tags: [quick]}
"""


def missed(selection: Selection, **environment: str) -> list[tuple[int, int, str, str]]:
    """What a run of these tests misses."""
    write("mcptest.yaml", SECRETS)
    try:
        load_plan(Wanted(paths=("mcptest.yaml",), selection=selection), environment)
    except FormatError as error:
        return [(each.line, each.column, each.message, each.help) for each in error.diagnostics]
    return []


TOKEN = (
    *(4, 21, "the environment variable 'TOKEN' is not set"),
    "'signed' uses it: export TOKEN=… before the run",
)
MAIL_KEY = (
    *(3, 36, "the environment variable 'MAIL_KEY' is not set"),
    "'sent' uses it: export MAIL_KEY=… before the run",
)


def test_a_run_needs_what_the_tests_need_that_are_run() -> None:
    assert missed(Selection()) == [TOKEN, MAIL_KEY]
    assert missed(Selection(filters=("signed",))) == [TOKEN]
    assert missed(Selection(), TOKEN="tok-12345") == [MAIL_KEY]


def test_a_run_needs_nothing_for_tests_that_are_not_run() -> None:
    assert missed(Selection(filters=("plain",))) == []
    assert missed(Selection(tags=("quick",))) == []


def test_validating_alone_warns() -> None:
    write("mcptest.yaml", SECRETS)
    _, mistakes, warnings = load_suites(Wanted(paths=("mcptest.yaml",)), {})
    assert mistakes == []
    message = [(each.severity, each.code, each.line, each.column) for each in warnings]
    assert message == [("warning", "F016", 4, 21), ("warning", "F016", 3, 36)]
    _, _, warnings = load_suites(
        Wanted(paths=("mcptest.yaml",)), {"TOKEN": "tok-12345", "MAIL_KEY": "key-12345"}
    )
    assert warnings == []


def test_secrets_that_are_set_are_known_even_if_only_others_use_them() -> None:
    write("mcptest.yaml", SECRETS)
    wanted = Wanted(paths=("mcptest.yaml",), selection=Selection(filters=("plain",)))
    plan = load_plan(wanted, {"TOKEN": "tok-12345", "MAIL_KEY": "key-12345"})
    assert set(plan.secrets) == {"tok-12345", "key-12345"}
