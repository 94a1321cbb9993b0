"""The params of each method: right, and wrong in every way, with the name of the field."""

from __future__ import annotations

from typing import Any

import pytest
from case_tables import each_case

from mcptest.coprocess.protocol import (
    CACHE_MODES,
    CASSETTE_MODES,
    CONNECTION_METHODS,
    RefusedError,
    check_params,
)
from mcptest.protocol.jsonrpc import INVALID_PARAMS

GOOD: list[tuple[str, dict[str, Any]]] = [
    ("coprocess/handshake", {"protocol_version": 2}),
    ("coprocess/handshake", {"protocol_version": -1, "sdk": "", "sdk_version": "1"}),
    ("mcp.initialize", {}),
    ("mcp.call", {"tool": "add"}),
    ("mcp.call", {"tool": "", "arguments": {"a": None}}),
    ("mcp.listTools", {}),
    ("mcp.listResources", {}),
    ("mcp.readResource", {"uri": "file:///a"}),
    ("mcp.callPrompt", {"name": "greet"}),
    ("mcp.callPrompt", {"prompt": "greet", "arguments": {"who": "you"}}),
    ("mcp.reporter.setUpload", {"enabled": True, "target": "file:a"}),
    ("mcp.reporter.setUpload", {"enabled": False}),
    ("mcp.reporter.setUpload", {"enabled": False, "target": "file:a"}),
    ("mcp.reporter.flush", {}),
    *(("mcp.cache.set_mode", {"mode": mode}) for mode in CACHE_MODES),
    ("mcp.cassette.set_mode", {"mode": "off"}),
    *(("mcp.cassette.set_mode", {"mode": mode, "path": "a"}) for mode in CASSETTE_MODES),
    ("mcp.shutdown", {}),
]
EXAMPLES = {"text": "a", "number": 1, "true": True, "null": None, "array": [], "object": {}}
# What each type of param may be among the examples.
RIGHT = {str: "text", int: "number", bool: "true", dict: "object"}


def refused(method: str, params: object) -> str:
    with pytest.raises(RefusedError) as caught:
        check_params(method, params, CONNECTION_METHODS[method])
    assert caught.value.code == INVALID_PARAMS
    return caught.value.message


@each_case(("method", "params"), GOOD)
def test_good_params_are_returned_unchanged(method: str, params: dict[str, Any]) -> None:
    assert check_params(method, params, CONNECTION_METHODS[method]) == params


def test_every_method_has_good_params_here() -> None:
    assert {method for method, _ in GOOD} == set(CONNECTION_METHODS)
    assert len(CONNECTION_METHODS) == 12, "the handshake and the eleven of mcp"


@each_case("method", CONNECTION_METHODS)
@each_case("params", [None, [], "x", 1, True])
def test_params_that_are_not_an_object_are_refused(method: str, params: object) -> None:
    message = refused(method, params)
    assert message.startswith(f"the params of {method} must be an object, not ")


@each_case("method", CONNECTION_METHODS)
def test_an_undeclared_param_is_refused_by_its_name(method: str) -> None:
    good = next(params for name, params in GOOD if name == method)
    message = refused(method, {**good, "another": 1})
    assert message.startswith(f'{method} has no param "another"; it takes ')
    assert all(f'"{name}"' in message for name in CONNECTION_METHODS[method])


def test_a_misspelt_param_is_refused_with_what_was_meant() -> None:
    message = refused("mcp.call", {"tool": "a", "argumets": {}})
    assert message == 'mcp.call has no param "argumets"; did you mean "arguments"?'


def every_param() -> list[tuple[str, str]]:
    return [(method, name) for method, params in CONNECTION_METHODS.items() for name in params]


@each_case(("method", "name"), every_param())
def test_a_param_of_another_type_is_refused_by_its_name(method: str, name: str) -> None:
    good = next(params for known, params in GOOD if known == method)
    right = RIGHT[CONNECTION_METHODS[method][name].type]
    for kind, value in EXAMPLES.items():
        if kind != right:
            message = refused(method, {**good, name: value})
            assert message.startswith(f'the param "{name}" of {method} must be ')


@pytest.mark.parametrize(
    ("method", "name"),
    [(method, name) for method, name in every_param() if CONNECTION_METHODS[method][name].required],
)
def test_a_param_that_is_needed_is_asked_for_by_its_name(method: str, name: str) -> None:
    good = next(params for known, params in GOOD if known == method)
    message = refused(method, {key: value for key, value in good.items() if key != name})
    assert message.startswith(f'{method} needs the param "{name}", ')


def test_a_version_with_a_fraction_is_not_a_version() -> None:
    message = refused("coprocess/handshake", {"protocol_version": 2.0})
    assert message == (
        'the param "protocol_version" of coprocess/handshake must be an integer, not a number '
        "written with a fraction"
    )


@pytest.mark.parametrize("method", ["mcp.cache.set_mode", "mcp.cassette.set_mode"])
def test_a_mode_that_there_is_not_is_refused_with_those_there_are(method: str) -> None:
    modes = CONNECTION_METHODS[method]["mode"].choices
    message = refused(method, {"mode": "\x1bon"})
    assert message == f'the param "mode" of {method} is one of {", ".join(modes)}, not "\\u001bon"'


@pytest.mark.parametrize("params", [{}, {"name": "a", "prompt": "a"}, {"arguments": {}}])
def test_a_prompt_has_one_name(params: dict[str, Any]) -> None:
    wanted = 'mcp.callPrompt needs the param "name" (or "prompt"), and one of them'
    assert refused("mcp.callPrompt", params) == wanted


@pytest.mark.parametrize("params", [{}, {"target": ""}])
def test_uploads_are_enabled_with_a_target(params: dict[str, Any]) -> None:
    wanted = 'mcp.reporter.setUpload needs the param "target" to be enabled'
    assert refused("mcp.reporter.setUpload", {"enabled": True, **params}) == wanted


@pytest.mark.parametrize("mode", ["record", "replay"])
@pytest.mark.parametrize("params", [{}, {"path": ""}])
def test_a_cassette_is_used_with_a_path(mode: str, params: dict[str, Any]) -> None:
    wanted = f'mcp.cassette.set_mode needs the param "path" to {mode}'
    assert refused("mcp.cassette.set_mode", {"mode": mode, **params}) == wanted
