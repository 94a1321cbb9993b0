"""Which test of our files comes after which under pytest, and which others a test needs.

A plugin of pytest like any other, registered with the first file that may hold tests.
"""

from __future__ import annotations

import pytest

from mcptest.pytest_items import McptestItem

_COLLECTED = pytest.StashKey[list[pytest.Item]]()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    if isinstance(item, McptestItem):
        item.following = nextitem


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("lf", False):
        config.stash[_COLLECTED] = list(items)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """With --lf, what the failed tests need is run as well."""
    everything = session.config.stash.get(_COLLECTED, [])
    if len(session.items) < len(everything):
        session.items[:] = _with_capturing(session.items, everything)


def _with_capturing(items: list[pytest.Item], everything: list[pytest.Item]) -> list[pytest.Item]:
    chosen, found = set(items), list[pytest.Item]()

    def take(item: pytest.Item) -> None:
        if isinstance(item, McptestItem):
            for other in everything[: everything.index(item)]:
                is_near = isinstance(other, McptestItem) and _captures_for(other, item)
                if is_near and other not in chosen:
                    chosen.add(other)
                    take(other)
        found.append(item)

    for item in items:
        take(item)
    return found


def _captures_for(one: McptestItem, other: McptestItem) -> bool:
    """Whether one test captures what the other needs."""
    if one.collected.suite is not other.collected.suite:
        return False
    return bool(one.collected.captures & other.collected.needs)
