"""Packages with matchers that sleep: none of them delays a run forever."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, cast

import pytest

from mcptest.core.errors import UsageError
from mcptest.matching.registry import Matcher, ParameterError
from mcptest.plugins import installed
from mcptest.plugins.installed import installed_matchers

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.metadata import EntryPoint

LONG_S = 60.0


class Point:
    """An entry point of a package, without a distribution."""

    name, value, dist = "slow", "slow:add", None

    def __init__(self, load: Callable[[], Any]) -> None:
        self.load = load


def sleep(*_: object) -> Any:
    threading.Event().wait(LONG_S)


def words(**keys: Any) -> Matcher:
    parts: dict[str, Any] = {
        "parse": lambda text: text,
        "wants": lambda text: f"words like {text}",
        "check": lambda text, actual: None,
    }
    return Matcher(
        name="words",
        family="Words",
        parameters=("N",),
        summary="Words.",
        example="match:words:3",
        passes=(),
        fails=(),
        **(parts | keys),
    )


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], None]:
    """Have one package, and little patience with it."""
    monkeypatch.setattr(installed, "_LOAD_LIMIT_S", 0.05)
    monkeypatch.setattr(installed, "_PARSE_LIMIT_S", 0.05)

    def put(load: Callable[[], Any]) -> None:
        points = [cast("EntryPoint", Point(load))]
        monkeypatch.setattr(installed, "_find_entry_points", lambda group: points)

    return put


@pytest.mark.parametrize("load", [sleep, lambda: sleep])
def test_a_package_that_sleeps_while_it_is_loaded_cannot_be_used(
    load: Callable[[], Any], install: Callable[[Callable[[], Any]], None]
) -> None:
    install(load)
    why = r"\(slow:add\) cannot be used: loading it took more than 0.05 s"
    with pytest.raises(UsageError, match=why):
        installed_matchers()


def test_a_matcher_that_sleeps_over_its_parameters_cannot_read_them(
    install: Callable[[Callable[[], Any]], None],
) -> None:
    install(lambda: lambda register: register(words(parse=sleep)))
    [matcher] = installed_matchers()
    with pytest.raises(ParameterError, match=r"that took more than 0.05 s"):
        matcher.parse("3")


def test_a_matcher_that_sleeps_over_its_words_gets_others(
    install: Callable[[Callable[[], Any]], None],
) -> None:
    install(lambda: lambda register: register(words(wants=sleep)))
    [matcher] = installed_matchers()
    assert matcher.wants("3") == "what the matcher words accepts"


def test_a_package_that_is_quick_is_used(install: Callable[[Callable[[], Any]], None]) -> None:
    install(lambda: lambda register: register(words()))
    [matcher] = installed_matchers()
    assert (matcher.parse("3"), matcher.wants("3")) == ("3", "words like 3")
