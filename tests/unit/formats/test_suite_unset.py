"""Unset variables are an error only for the tests that are selected and use them."""

from __future__ import annotations

import pytest
from suite_reading import FILE, SERVER, load, refusals

HEAD = (
    "servers:\n"
    "  shop: {command: [shop]}\n"
    "  mail: {command: [mail], env: {KEY: {secret_env: MAIL_KEY}}}\n"
    "variables:\n"
    "  token: {secret_env: TOKEN}\n"
    "  region: {from_env: REGION}\n"
    "  greeting: 'Bearer ${token}'\n"
    "  fixed: {from_env: FIXED, default: d}\n"
)


def needs(entries: str, head: str = HEAD, **environment: str) -> dict[str, list[tuple[str, str]]]:
    """What each test would need: the place that names it, and the words."""
    suites, warnings = load(f"{head}tools:\n{entries}", None, **environment)
    assert warnings == ()
    return {
        case.name: [(f"{need.file}:{need.line}:{need.column}", need.message) for need in case.needs]
        for suite in suites
        for case in suite.cases
    }


TOKEN = (f"{FILE}:5:11", "the environment variable 'TOKEN' is not set")
REGION = (f"{FILE}:6:12", "the environment variable 'REGION' is not set")
MAIL_KEY = (f"{FILE}:3:39", "the environment variable 'MAIL_KEY' is not set")


@pytest.mark.parametrize(
    ("keys", "needed"),
    [
        ("tool: t", []),
        ("tool: t, args: {a: '${fixed}'}", []),
        ("tool: t, args: {a: '${token}'}", [TOKEN]),
        ("tool: t, args: {a: '${greeting}!'}", [TOKEN]),
        ("tool: '${region}', args: {'${token}': '${token}'}", [REGION, TOKEN]),
        ("tool: t, expect: [{target: result, matcher: {contains: '${token}'}}]", [TOKEN]),
        ("steps: [{tool: t}, {tool: u, args: {a: '${region}'}}]", [REGION]),
        ("tool: t, setup: [{tool: t, args: {a: '${region}'}}]", [REGION]),
        ("tool: t, teardown: [{tool: t, args: {a: '${region}'}}]", [REGION]),
        ("steps: [{tool: t, capture: {token: result}}, {tool: t, args: {a: '${token}'}}]", []),
    ],
)
def test_a_test_needs_what_it_uses(keys: str, needed: list[tuple[str, str]]) -> None:
    other = "  - {name: other, server: shop, tool: t}\n"
    found = needs(f"  - {{name: n, server: shop, {keys}}}\n{other}")
    assert found == {"n": needed, "other": []}


def test_variables_of_a_server_are_needed_by_each_of_its_tests() -> None:
    found = needs(
        "  - {name: a, server: shop, tool: t}\n"
        "  - {name: b, server: mail, tool: t}\n"
        "  - {name: c, server: mail, tool: t, args: {a: '${token}'}}\n"
    )
    assert found == {"a": [], "b": [MAIL_KEY], "c": [MAIL_KEY, TOKEN]}


def test_variables_of_the_defaults_are_needed_by_every_test() -> None:
    head = HEAD + "defaults: {server: shop, setup: [{tool: t, args: {a: '${region}'}}]}\n"
    assert needs("  - {name: a, tool: t}\n", head) == {"a": [REGION]}
    assert needs("  - {name: a, tool: t, setup: [{tool: u}]}\n", head) == {"a": []}


def test_a_variable_that_is_set_is_not_missing() -> None:
    entries = "  - {name: n, server: mail, tool: t, args: {a: '${greeting} ${region}'}}\n"
    found = needs(entries, TOKEN="tok-12345", REGION="", MAIL_KEY="key-12345")
    assert found == {"n": []}


def test_a_redefined_variable_needs_what_its_new_value_needs() -> None:
    files = {"part.yaml": "variables: {token: {secret_env: THEIRS}}\n"}
    text = "imports: [part.yaml]\nvariables: {token: ours}\n" + SERVER
    [suite], _ = load(text + "tools: [{name: n, tool: t, args: {a: '${token}'}}]\n", files)
    assert suite.cases[0].needs == ()


def test_the_place_is_in_the_file_that_names_the_variable() -> None:
    files = {"part.yaml": "\nvariables: {token: {secret_env: THEIRS}}\n"}
    text = "imports: [part.yaml]\n" + SERVER
    [suite], _ = load(text + "tools: [{name: n, tool: t, args: {a: '${token}'}}]\n", files)
    [need] = suite.cases[0].needs
    assert (need.code, need.severity) == ("F016", "error")
    assert (need.file, need.line, need.column) == ("part.yaml", 2, 21)
    assert need.help == "export THEIRS=… before the run"


def test_an_unset_variable_is_not_a_mistake_where_a_value_must_not_be_empty() -> None:
    matchers = "{contains: '${token}', starts-with: '${token}', regex: '${token}'}"
    expect = f"[{{target: result, matcher: {matchers}}}]"
    found = needs(f"  - {{name: n, server: shop, tool: '${{token}}', expect: {expect}}}\n")
    assert found == {"n": [TOKEN]}


def test_beside_other_mistakes_it_is_a_warning() -> None:
    text = f"{HEAD}tools:\n  - {{name: n, server: mail, tool: t, agrs: {{a: '${{token}}'}}}}\n"
    [found] = refusals(text)
    assert found.code == "F006"
