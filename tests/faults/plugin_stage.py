"""Hosts of real plugins, and the insistence that nothing of them is left afterwards."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcptest.plugins import PluginHost
from mcptest.transport.process.stopping import list_unknown_children

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["LONG_S", "PLUGIN", "SHORT_S", "children", "command_for", "hosting", "left_clean"]

PLUGIN = Path(__file__).parents[1] / "servers" / "bad_plugin.py"

# A limit that no test reaches, and one that is there to be reached.
LONG_S = 30.0
SHORT_S = 0.2


def command_for(mode: str = "good", *arguments: str) -> list[str]:
    return [sys.executable, "-S", "-E", str(PLUGIN), mode, *arguments]


@contextlib.contextmanager
def hosting(mode: str = "good", **options: Any) -> Iterator[PluginHost]:
    """A host of the bad plugin in this mode, which by default waits long and counts from 1."""
    with left_clean():
        usual = {"call_timeout": LONG_S, "first_id": 1}
        host = PluginHost(command_for(mode), **(usual | options))
        try:
            yield host
        finally:
            host.close()


@contextlib.contextmanager
def left_clean() -> Iterator[None]:
    """Every process started inside has ended afterwards, and no pipe is still open."""
    before, pipes = set(list_unknown_children(set())), _open_files()
    _kept_children.update(before)
    yield
    assert set(list_unknown_children(set())) == before, "a child or a zombie is left"
    assert _open_files() == pipes, "a descriptor is left"


# Child processes that tests of other modules keep for later tests.
_kept_children: set[int] = set()


def children() -> list[int]:
    return list_unknown_children(_kept_children)


def _open_files() -> int:
    """How many descriptors are open; the sockets are those of the test itself."""
    count = 0
    for fd in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):
            count += not os.readlink(f"/proc/self/fd/{fd}").startswith("socket:")
    return count
