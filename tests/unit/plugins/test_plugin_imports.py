"""`imports.subprocess_matchers` in a config: what is read, and every mistake in it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from case_tables import each_case

from mcptest.core.diagnostics import Diagnostic
from mcptest.core.errors import FormatError
from mcptest.core.plan import PluginSpec
from mcptest.formats.config import load_config


def config(imports: object) -> str:
    members = {"name": "tiny", "command": "python3", "args": [], "imports": imports}
    return json.dumps(members, indent=1)


def plugins_in(plugins: object) -> tuple[PluginSpec, ...]:
    text = config({"subprocess_matchers": plugins})
    spec, warnings = load_config(text, "conductor.config.json", {})
    assert warnings == ()
    return spec.plugins


def mistakes_in(imports: object) -> list[Diagnostic]:
    with pytest.raises(FormatError) as caught:
        load_config(config(imports), "conductor.config.json", {})
    return list(caught.value.diagnostics)


def test_a_plugin_has_a_command_a_limit_and_an_owner() -> None:
    plugins = {
        "geo": {"command": ["python3", "geo.py", "--x"], "call_timeout": "1.5s"},
        "a-B_9": {"command": ["./units"]},
        "quick": {"command": ["q"], "call_timeout": 250},
    }
    owner = "conductor.config.json"
    assert plugins_in(plugins) == (
        PluginSpec(
            name="geo", command=("python3", "geo.py", "--x"), call_timeout_s=1.5, owner=owner
        ),
        PluginSpec(name="a-B_9", command=("./units",), call_timeout_s=5.0, owner=owner),
        PluginSpec(name="quick", command=("q",), call_timeout_s=0.25, owner=owner),
    )


def test_imports_may_be_there_without_plugins() -> None:
    assert plugins_in({}) == ()
    assert load_config(config({}), "conductor.config.json", {})[0].plugins == ()


def test_arguments_may_be_empty_texts() -> None:
    (plugin,) = plugins_in({"geo": {"command": ["geo", "", "x"]}})
    assert plugin.command == ("geo", "", "x")


GOOD: dict[str, Any] = {"command": ["geo"]}
MISTAKES: list[tuple[object, str, str]] = [
    ([], "F008", '"imports" must be a mapping and is a list'),
    ({"subprocess_matcher": {}}, "F006", 'did you mean "subprocess_matchers"?'),
    ({"plugins": {"geo": GOOD}}, "F006", '"imports" in a config has no key "plugins"'),
    ({"subprocess_matchers": None}, "F008", "must be a mapping and is empty"),
    ({"subprocess_matchers": [GOOD]}, "F008", "must be a mapping and is a list"),
    ({"subprocess_matchers": {"geo": "geo.py"}}, "F008", '"geo" must be a mapping and is text'),
    ({"subprocess_matchers": {"geo": None}}, "F008", '"geo" must be a mapping and is empty'),
    ({"subprocess_matchers": {"geo": {}}}, "F007", 'a plugin needs the key "command"'),
    ({"subprocess_matchers": {"g.o": GOOD}}, "F009", "'g.o' is not a name for a plugin"),
    ({"subprocess_matchers": {"9": GOOD}}, "F009", "'9' is not a name for a plugin"),
    ({"subprocess_matchers": {"a=b": GOOD}}, "F009", "'a=b' is not a name for a plugin"),
    ({"subprocess_matchers": {"": GOOD}}, "F009", "'' is not a name for a plugin"),
    ({"subprocess_matchers": {"é": GOOD}}, "F009", "'é' is not a name for a plugin"),
    ({"subprocess_matchers": {"geo\n": GOOD}}, "F009", "is not a name for a plugin"),
    (
        {"subprocess_matchers": {"geo": {"comand": ["geo"]}}},
        "F006",
        'a plugin has no key "comand"; did you mean "command"?',
    ),
    (
        {"subprocess_matchers": {"geo": GOOD | {"env": {"A": "1"}}}},
        "F006",
        'a plugin has no key "env"',
    ),
    (
        {"subprocess_matchers": {"geo": {"command": "python3 geo.py"}}},
        "F008",
        '"command" must be a list and is text',
    ),
    ({"subprocess_matchers": {"geo": {"command": None}}}, "F008", "must be a list and is empty"),
    (
        {"subprocess_matchers": {"geo": {"command": [5]}}},
        "F008",
        '"command" must hold texts; number 1 is a number',
    ),
    (
        {"subprocess_matchers": {"geo": {"command": ["geo", ["x"]]}}},
        "F008",
        '"command" must hold texts; number 2 is a list',
    ),
    ({"subprocess_matchers": {"geo": {"command": []}}}, "F009", '"command" is empty'),
    ({"subprocess_matchers": {"geo": {"command": ["", "x"]}}}, "F009", '"command" is empty'),
    ({"subprocess_matchers": {"geo": GOOD | {"call_timeout": 0}}}, "F009", "more than 0"),
    ({"subprocess_matchers": {"geo": GOOD | {"call_timeout": "1h"}}}, "F009", '"call_timeout"'),
    ({"subprocess_matchers": {"geo": GOOD | {"call_timeout": True}}}, "F009", '"call_timeout"'),
    ({"subprocess_matchers": {"geo": GOOD | {"call_timeout": None}}}, "F009", '"call_timeout"'),
]


@each_case(("imports", "code", "message"), MISTAKES)
def test_a_mistake_is_reported_once_with_its_place(
    imports: object, code: str, message: str
) -> None:
    (found,) = mistakes_in(imports)
    assert found.code == code
    assert message in found.message
    assert found.file == "conductor.config.json"
    assert found.line >= 5
    assert found.column >= 1


def test_all_mistakes_are_reported_in_one_go() -> None:
    plugins = {"g.o": {"command": []}, "units": {"comand": 5, "call_timeout": "soon"}}
    found = mistakes_in({"subprocess_matchers": plugins})
    assert [mistake.code for mistake in found] == ["F009", "F009", "F006", "F009"]


def test_one_name_twice_is_a_mistake() -> None:
    text = config({"subprocess_matchers": {"geo": GOOD, "GEO": GOOD}}).replace('"GEO"', '"geo"')
    with pytest.raises(FormatError) as caught:
        load_config(text, "conductor.config.json", {})
    assert [found.code for found in caught.value.diagnostics] == ["F003"]
