"""All plugins of a run: called by name, ended together, and never mistaken for the server."""

from __future__ import annotations

import contextlib
import warnings
from typing import TYPE_CHECKING

import pytest
from plugin_stage import LONG_S, SHORT_S, children, command_for, left_clean

from mcptest.core.errors import CheckError, InterruptedRunError, UsageError
from mcptest.core.plan import PluginSpec
from mcptest.plugins.host import DeclaredPlugins, PluginManager, index_plugins
from mcptest.transport.process.child import Guardian
from mcptest.transport.process.signals import Interrupts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connect_back import Listener

GEO = PluginSpec(name="geo", command=tuple(command_for()), call_timeout_s=LONG_S)


@contextlib.contextmanager
def manager_of_a_run() -> Iterator[PluginManager]:
    desk = PluginManager()
    with left_clean(), Interrupts() as interrupts:
        with warnings.catch_warnings():
            # It forks, and newer Pythons warn of that where there are threads.
            warnings.simplefilter("ignore", DeprecationWarning)
            guardian = Guardian()
        desk.open(guardian, interrupts)
        try:
            yield desk
        finally:
            desk.close()
            assert guardian.groups == set()
            guardian.dismiss()


def test_plugins_are_started_when_they_are_first_asked_and_once() -> None:
    with manager_of_a_run() as desk:
        before = set(children())
        first = desk.ask(GEO, "pid", {})
        assert desk.ask(GEO, "pid", {}) == first
        assert set(children()) - before == {first}


def test_two_plugins_with_one_command_are_two_processes_and_equal_ones_are_one() -> None:
    with manager_of_a_run() as desk:
        other = desk.ask(GEO.but(name="other"), "pid", {})
        assert desk.ask(GEO, "pid", {}) != other
        assert desk.ask(GEO.but(name="other"), "pid", {}) == other


def test_an_error_answer_is_a_failure_of_the_plugin() -> None:
    with manager_of_a_run() as desk:
        with pytest.raises(CheckError) as caught:
            desk.ask(GEO, "refusal", {})
        fault = caught.value.fault
        assert fault.kind == "plugin_failed"
        assert fault.message == (
            "the plugin 'geo' answered 'refusal' with an error: code 7, no such town"
        )
        assert desk.ask(GEO, "echo", 1) == 1


@pytest.mark.parametrize(
    ("method", "name"),
    [
        ("not_json", "InvalidJson"),
        ("both", "InvalidResponse"),
        ("other_id", "InvalidResponse"),
        ("exit", "PluginCrashed"),
        ("half_a_line", "PluginCrashed"),
        ("silent", "Timeout"),
    ],
)
def test_a_failure_of_the_host_is_reported_with_its_name_and_its_evidence(
    method: str, name: str
) -> None:
    spec = GEO.but(call_timeout_s=SHORT_S) if method == "silent" else GEO
    with manager_of_a_run() as desk:
        with pytest.raises(CheckError) as caught:
            desk.ask(spec, method, 3)
        fault = caught.value.fault
        assert fault.kind == "plugin_failed"
        assert fault.message.startswith(f"the plugin 'geo' failed ({name}): ")
        assert fault.evidence is not None
        assert fault.evidence.command == GEO.command
        told = fault.evidence.stderr_tail
        assert told == ("geo: out of memory\n" if method == "exit" else "")


def test_a_program_that_is_missing_is_reported_with_what_to_do() -> None:
    with manager_of_a_run() as desk:
        with pytest.raises(CheckError) as caught:
            desk.ask(PluginSpec(name="geo", command=("/no/such/program",)), "near", {})
        fault = caught.value.fault
        assert "(SpawnFailed): cannot start '/no/such/program' in" in fault.message
        assert fault.hint == "there is no such file: check the path, and whether it is installed"


def test_a_signal_ends_the_wait_for_an_answer_and_the_plugin_at_once(
    listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in listener.environment.items():
        monkeypatch.setenv(name, value)
    stubborn = GEO.but(command=tuple(command_for("stubborn")))
    with manager_of_a_run() as desk:
        with pytest.raises(InterruptedRunError):
            desk.ask(stubborn, "interrupt", {})
        family = listener.callers("plugin", "child")
    assert all(caller.is_dead_within(LONG_S) for caller in family)


def test_a_closed_manager_starts_its_plugins_again() -> None:
    with manager_of_a_run() as desk:
        first = desk.ask(GEO, "pid", {})
        desk.close()
        assert desk.ask(GEO, "pid", {}) != first


# Who they are


def test_plugins_are_not_searched_before_one_is_asked() -> None:
    looked: list[str] = []

    def specs() -> list[PluginSpec]:
        looked.append("now")
        return [GEO]

    declared = DeclaredPlugins(PluginManager(), specs)
    assert looked == []
    assert declared.names == declared.names == ("geo",)
    assert looked == ["now"]


def test_a_declared_plugin_is_asked_by_its_name() -> None:
    with manager_of_a_run() as desk:
        assert DeclaredPlugins(desk, lambda: [GEO]).ask("geo", "echo", [1]) == [1]


def test_two_plugins_of_one_name_are_refused_and_both_owners_are_named() -> None:
    told = GEO.but(owner="--plugin geo=x\x1b")
    with pytest.raises(UsageError) as caught:
        index_plugins([told, GEO.but(owner="conductor.config.json")])
    assert caught.value.message == (
        "the plugin 'geo' has two owners: --plugin geo=x\\u001b and conductor.config.json"
    )
    assert caught.value.help == "give one of them another name"


def test_plugins_of_different_names_are_kept_in_order() -> None:
    specs = [GEO.but(name=name) for name in ("b", "a", "c")]
    assert list(index_plugins(specs)) == ["b", "a", "c"]
