"""The tree of exceptions, and what each of them carries."""

from __future__ import annotations

import inspect
import re

import pytest

from mcptest.core import errors
from mcptest.core.diagnostics import Diagnostic
from mcptest.core.results import Fault

CLASSES = {
    name: value
    for name, value in vars(errors).items()
    if inspect.isclass(value) and issubclass(value, Exception)
}


def test_every_exception_is_drawn_in_the_tree_and_exported() -> None:
    drawn = re.findall(r"^\s*[*·-] (\w+Error)\b", inspect.getdoc(errors) or "", re.MULTILINE)
    exported = [name for name in errors.__all__ if name.endswith("Error")]
    assert sorted(drawn) == sorted(CLASSES) == sorted(exported)


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_every_exception_derives_from_the_root_and_says_what_it_is(name: str) -> None:
    assert issubclass(CLASSES[name], errors.McptestError)
    assert CLASSES[name].__doc__


@pytest.mark.parametrize(("count", "words"), [(1, "1 mistake"), (2, "2 mistakes")])
def test_a_format_error_counts_its_mistakes(count: int, words: str) -> None:
    mistakes = [Diagnostic(code="F001", file="a", message="m")] * count
    error = errors.FormatError(mistakes)
    assert str(error) == f"{words} in the files given"
    assert error.diagnostics == tuple(mistakes)


def test_a_usage_error_has_a_message_and_help() -> None:
    error = errors.UsageError("no such file", "look again")
    assert (str(error), error.message, error.help) == ("no such file", "no such file", "look again")


def test_a_server_error_carries_its_fault() -> None:
    fault = Fault(kind="timeout", message="no answer")
    error = errors.ServerError(fault)
    assert (str(error), error.fault) == ("no answer", fault)
