"""The names of the package, and forks beside threads."""

from __future__ import annotations

import threading
import warnings

import pytest

import mcptest
from mcptest.transport.process.isolated import silence_fork_warnings


def test_the_package_has_every_name_it_promises_and_no_other() -> None:
    for name in mcptest.__all__:
        assert getattr(mcptest, name) is not None
        assert name in dir(mcptest)
    with pytest.raises(AttributeError, match="has no attribute 'conect'"):
        _ = mcptest.conect  # type: ignore[attr-defined]  # that is the point


WARNING = (
    "This process (pid=1) is multi-threaded, use of fork() may lead to deadlocks in the child."
)


def test_a_fork_beside_threads_is_no_warning_and_others_are() -> None:
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        with warnings.catch_warnings(), silence_fork_warnings():
            warnings.warn(WARNING, DeprecationWarning, stacklevel=1)
            with pytest.raises(DeprecationWarning):
                warnings.warn("another", DeprecationWarning, stacklevel=1)
    finally:
        done.set()
        thread.join()
