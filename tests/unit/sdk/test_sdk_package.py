"""The names of the package and of the modules that SDKs share, and forks beside threads."""

from __future__ import annotations

import threading
import warnings

import pytest

import mcptest
from mcptest import _collect, _coprocess
from mcptest.sdk import coprocess, errors
from mcptest.transport.process.isolated import silence_fork_warnings


def test_the_package_has_every_name_it_promises_and_no_other() -> None:
    for name in mcptest.__all__:
        assert getattr(mcptest, name) is not None
        assert name in dir(mcptest)
    with pytest.raises(AttributeError, match="has no attribute 'conect'"):
        _ = mcptest.conect  # type: ignore[attr-defined]  # that is the point


def test_the_channel_has_the_import_name_that_sdks_share() -> None:
    assert _coprocess.COPROCESS_PROTOCOL_VERSION == coprocess.COPROCESS_PROTOCOL_VERSION
    for name in ("Coprocess", "binary_command"):
        assert getattr(_coprocess, name) is getattr(coprocess, name)
    kinds = [name for name in errors.__all__ if name.endswith("Error")]
    assert {name for name in _coprocess.__all__ if name.endswith("Error")} == set(kinds)
    for name in kinds:
        assert getattr(_coprocess, name) is getattr(errors, name)


def test_collecting_has_the_import_name_that_sdks_share() -> None:
    for name in ("UNSUPPORTED_LANES", "lane_cli_hint", "collect", "Collection", "CollectedTest"):
        assert name in _collect.__all__
    assert all(hasattr(_collect, name) for name in _collect.__all__)


WARNING = (
    "This process (pid=1) is multi-threaded, use of fork() may lead to deadlocks in the child."
)


def test_a_fork_beside_threads_gives_no_warning() -> None:
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
