"""All plugins of a run: called by name, ended together, and never mistaken for the server."""

from __future__ import annotations

import contextlib
import warnings
from typing import TYPE_CHECKING

import pytest
from plugin_stage import LONG_S, SHORT_S, command_for, left_clean

from mcptest.core.errors import CheckError
from mcptest.core.plan import PluginSpec
from mcptest.plugins.host import DeclaredPlugins, PluginManager, index_plugins
from mcptest.transport.process.child import Guardian
from mcptest.transport.process.signals import Interrupts

if TYPE_CHECKING:
    from collections.abc import Iterator


GEO = PluginSpec(name="geo", command=tuple(command_for()), call_timeout_s=LONG_S)


@contextlib.contextmanager
def manager_of_a_run() -> Iterator[PluginManager]:
    manager = PluginManager()
    with left_clean(), Interrupts() as interrupts:
        with warnings.catch_warnings():
            # It forks, and newer Pythons warn of that where there are threads.
            warnings.simplefilter("ignore", DeprecationWarning)
            guardian = Guardian()
        manager.open(guardian, interrupts)
        try:
            yield manager
        finally:
            manager.close()
            assert guardian.groups == set()
            guardian.dismiss()


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
    with manager_of_a_run() as manager:
        with pytest.raises(CheckError) as caught:
            manager.ask(spec, method, 3)
        fault = caught.value.fault
        assert fault.kind == "plugin_failed"
        assert fault.message.startswith(f"the plugin 'geo' failed ({name}): ")
        assert fault.evidence is not None
        assert fault.evidence.command == GEO.command
        message = fault.evidence.stderr_tail
        assert message == ("geo: out of memory\n" if method == "exit" else "")


def test_a_closed_manager_starts_its_plugins_again() -> None:
    with manager_of_a_run() as manager:
        first = manager.ask(GEO, "pid", {})
        manager.close()
        assert manager.ask(GEO, "pid", {}) != first


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


def test_plugins_of_different_names_are_kept_in_order() -> None:
    specs = [GEO.but(name=name) for name in ("b", "a", "c")]
    assert list(index_plugins(specs)) == ["b", "a", "c"]
