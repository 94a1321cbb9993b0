"""The matchers that each file may use: ours, those installed beside us, and its plugins'."""

from __future__ import annotations

import os
import time

from mcptest.matching.registry import builtin_registry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from mcptest.core.plan import PluginSpec
    from mcptest.core.snapshots import SnapshotMode
    from mcptest.matching.registry import Matcher, Registry
    from mcptest.plugins.desk import PluginDesk
    from mcptest.runner.snapshots import Book, Snapshots

__all__ = ["Shelf"]

# No pattern asks a plugin without it.
_SIGN = "plugin"


class Shelf:
    """One registry for all files that ask no plugin, and one for each of the others."""

    def __init__(
        self,
        plugins_of: Callable[[str], Iterable[PluginSpec]],
        snapshots: SnapshotMode | None = None,
    ) -> None:
        self._registry = builtin_registry(
            time.time, outside=self._installed, try_schema=self._tried
        )
        self._found: list[Matcher] | None = None
        # Why schemas cannot be read, by their texts; many tests use one.
        self._trials: dict[str, str] = {}
        self._plugins_of = plugins_of
        self.desk: PluginDesk | None = None
        # What suites know of the environment, where that is more than others do.
        self.environment: Mapping[str, str] | None = None
        self._mode = snapshots
        self.snapshots: Snapshots | None = None

    def book_of(self, file: str) -> Book:
        """The snapshots of a suite."""
        from mcptest.runner.snapshots import Snapshots, mode_of  # noqa: PLC0415  # see below

        if self.snapshots is None:
            mode = self._mode or mode_of(update=False, force=False, environment=os.environ)
            self.snapshots = Snapshots(mode)
        return self.snapshots.book(file)

    def registry_with(self, file: str, plugins: Iterable[PluginSpec]) -> Registry:
        """The registry for a suite, which may declare plugins of its own."""
        from mcptest.matching.matchers.plugin import plugin_matcher  # noqa: PLC0415  # see below
        from mcptest.plugins.desk import Declared, PluginDesk  # noqa: PLC0415  # see below

        self.desk = self.desk or PluginDesk()
        declared = Declared(self.desk, lambda: (*self._plugins_of(file), *plugins))
        return self._registry.replaced(plugin_matcher(declared))

    def registry_for(self, file: str, text: str) -> Registry:
        if _SIGN not in text:
            return self._registry
        # Most runs have no plugins, and starting is part of the product.
        return self.registry_with(file, ())

    def _installed(self) -> list[Matcher]:
        """The matchers of packages, which are asked for them once."""
        if self._found is None:
            # Looking for them takes longer than a small run.
            from mcptest.plugins.installed import installed_matchers  # noqa: PLC0415

            self._found = installed_matchers()
        return self._found

    def _tried(self, work: Callable[[], object], text: str) -> str:
        """Why the schema of this text cannot be read, "" when it can; few refer to anything."""
        from mcptest.runner.trying import tried_alone  # noqa: PLC0415  # see above

        if text not in self._trials:
            self._trials[text] = tried_alone(work)
        return self._trials[text]
