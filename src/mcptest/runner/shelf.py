"""The matchers that each file may use: ours, those installed beside us, and its plugins'."""

from __future__ import annotations

import time

from mcptest.matching.builtins import builtin_registry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mcptest.core.plan import PluginSpec
    from mcptest.matching.registry import Matcher, Registry
    from mcptest.plugins.desk import PluginDesk

__all__ = ["Shelf"]

# No pattern asks a plugin without it.
_SIGN = "plugin"


class Shelf:
    """One registry for all files that ask no plugin, and one for each of the others."""

    def __init__(self, plugins_of: Callable[[str], Iterable[PluginSpec]]) -> None:
        self._registry = builtin_registry(time.time, outside=_installed)
        self._plugins_of = plugins_of
        self.desk: PluginDesk | None = None

    def registry_with(self, file: str, plugins: Iterable[PluginSpec]) -> Registry:
        """The registry for a suite, which may declare plugins of its own."""
        from mcptest.matching.plugin_matcher import plugin_matcher  # noqa: PLC0415  # see below
        from mcptest.plugins.desk import Declared, PluginDesk  # noqa: PLC0415  # see below

        self.desk = self.desk or PluginDesk()
        declared = Declared(self.desk, lambda: (*self._plugins_of(file), *plugins))
        return self._registry.replaced(plugin_matcher(declared))

    def registry_for(self, file: str, text: str) -> Registry:
        if _SIGN not in text:
            return self._registry
        # Most runs have no plugins, and starting is part of the product.
        return self.registry_with(file, ())


def _installed() -> Iterable[Matcher]:
    # Looking for them takes longer than a small run.
    from mcptest.plugins.installed import installed_matchers  # noqa: PLC0415

    return installed_matchers()
