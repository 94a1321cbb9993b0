"""Read suites from text, without any file: what the tests of their reader share."""

from __future__ import annotations

import json
import posixpath
from typing import TYPE_CHECKING, Any

import pytest

from mcptest.core.errors import FormatError
from mcptest.formats.suite.loader import SuiteContext, load_suite
from mcptest.matching.registry import builtin_registry

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcptest.core.diagnostics import Diagnostic
    from mcptest.core.plan import Case, PluginSpec, Step, Suite
    from mcptest.matching.registry import Registry

__all__ = [
    "FILE",
    "FOLDER",
    "REGISTRY",
    "SERVER",
    "case_of",
    "context",
    "entry",
    "load",
    "mistakes",
    "refusals",
    "reported_at",
    "sent",
    "step_of",
    "suites_of",
    "warnings_of",
]

FILE = "mcptest.yaml"
FOLDER = "/home/me/project"
REGISTRY = builtin_registry()
SERVER = "servers: {shop: {command: [shop-server]}}\n"


def context(
    files: Mapping[str, str] | None = None,
    environment: Mapping[str, str] | None = None,
    registry_with: Callable[[tuple[PluginSpec, ...]], Registry] = lambda plugins: REGISTRY,
) -> SuiteContext:
    """What a suite is read with; `files` lie beside it."""

    def read_beside(name: str) -> str:
        path = posixpath.normpath(name)
        if path not in (files or {}):
            raise ValueError("cannot read it: No such file or directory")
        return (files or {})[path]

    return SuiteContext(
        environment=environment or {},
        folder=FOLDER,
        read_beside=read_beside,
        registry_with=registry_with,
    )


def load(
    text: str, files: Mapping[str, str] | None = None, **environment: str
) -> tuple[list[Suite], tuple[Diagnostic, ...]]:
    return load_suite(text, FILE, context(files, environment))


def suites_of(text: str, files: Mapping[str, str] | None = None, **environment: str) -> list[Suite]:
    """The suites in a text that has nothing wrong with it."""
    suites, warnings = load(text, files, **environment)
    assert warnings == ()
    return suites


def warnings_of(text: str) -> list[tuple[str, int, int, str]]:
    _, warnings = load(text)
    return [(each.code, each.line, each.column, each.message) for each in warnings]


def mistakes(
    text: str, files: Mapping[str, str] | None = None, **environment: str
) -> list[tuple[str, int, int, str]]:
    """Code, line, column and words of every mistake, in the order in which they are reported."""
    found = refusals(text, files, **environment)
    return [(each.code, each.line, each.column, each.message) for each in found]


def refusals(
    text: str, files: Mapping[str, str] | None = None, **environment: str
) -> list[Diagnostic]:
    with pytest.raises(FormatError) as caught:
        load(text, files, **environment)
    return [each for each in caught.value.diagnostics if each.severity == "error"]


def reported_at(text: str) -> tuple[str, str]:
    """Code and words of the one mistake in a text, which must be reported at the mark (§) in it."""
    before = text[: text.index("§")]
    place = (before.count("\n") + 1, len(before) - before.rfind("\n"))
    [found] = refusals(text.replace("§", ""))
    assert (found.line, found.column) == place
    return found.code, found.message


def case_of(text: str, **environment: str) -> Case:
    """The one test of a text that has one server and one test."""
    [suite] = suites_of(text, None, **environment)
    [case] = suite.cases
    return case


def entry(keys: str, lane: str = "tools", head: str = SERVER) -> str:
    """A suite with one test that has these keys; ¶ puts the mark at the test itself."""
    mark = "§" if "¶" in keys else ""
    return f"{head}{lane}:\n  - {mark}{{{keys.replace('¶', '')}}}\n"


def step_of(keys: str, lane: str = "tools", **environment: str) -> Step:
    """The one step of a test that has these keys beside its name."""
    [step] = case_of(entry(f"name: n, {keys}", lane), **environment).steps
    return step


def sent(step: Step) -> dict[str, Any]:
    """Method and params of what a step sends."""
    message = json.loads(step.line)
    assert message["jsonrpc"] == "2.0"
    assert message["id"] == step.id
    return {"method": message["method"], "params": message["params"]}
