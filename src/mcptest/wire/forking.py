"""Forks in a program that may have threads: they end in time, and touch nothing of ours."""

from __future__ import annotations

import threading
import warnings
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["quiet_forks"]

_FORK_WARNING = r"This process .* is multi-threaded"


@contextmanager
def quiet_forks() -> Iterator[None]:
    """What takes long is judged in a fork, and nobody is warned of it.

    Newer Pythons warn of forks beside threads, and whoever runs tests may turn warnings into
    errors; a worker of pytest-xdist always has threads.
    """
    if threading.active_count() == 1:
        yield
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", _FORK_WARNING, DeprecationWarning)
        yield
