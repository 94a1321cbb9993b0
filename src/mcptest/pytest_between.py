"""What lies between two tests of our files under pytest: their servers, and whoever else acts.

A plugin of pytest like any other, registered with the first file that may hold tests.
"""

from __future__ import annotations

import pytest

from mcptest.sdk.driving import Drivers

_DRIVERS = pytest.StashKey[Drivers]()
_IS_ALONE = pytest.StashKey[bool]()

# Whoever else acts between two tests may be preparing something for the second one. These do
# nothing that a server could notice.
_BETWEEN = ("protocol", "logstart", "setup", "call", "teardown", "logfinish")
_HARMLESS = frozenset(
    ["_hypothesis_pytestplugin", "_pytest", "anyio", "hypothesis", "mcptest", "pytest_cov", "xdist"]
)
_HARMLESS |= {"__channelexec__"}  # so is called what xdist sends to its workers


def drivers_of(config: pytest.Config) -> Drivers:
    """The servers of this session, each with what drives it."""
    if _DRIVERS not in config.stash:
        config.stash[_DRIVERS] = Drivers()
    return config.stash[_DRIVERS]


def pytest_sessionfinish(session: pytest.Session) -> None:
    # Here, where warnings are still collected: a server may have left something to say.
    _close_drivers(session.config)


def pytest_unconfigure(config: pytest.Config) -> None:
    _close_drivers(config)


def _close_drivers(config: pytest.Config) -> None:
    drivers = config.stash.get(_DRIVERS, None)
    if drivers:
        del config.stash[_DRIVERS]
        drivers.close()


def is_alone(config: pytest.Config) -> bool:
    """Whether nobody else does anything between two of our tests."""
    if _IS_ALONE not in config.stash:
        hooks = [getattr(config.hook, f"pytest_runtest_{name}") for name in _BETWEEN]
        plugins = [found.plugin for hook in hooks for found in hook.get_hookimpls()]
        names = [getattr(plugin, "__name__", type(plugin).__module__) for plugin in plugins]
        config.stash[_IS_ALONE] = all(name.split(".")[0] in _HARMLESS for name in names)
    return config.stash[_IS_ALONE]
