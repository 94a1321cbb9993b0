"""What stands for a server and its keeper has all that performing a case asks of them."""

from __future__ import annotations

import threading
import warnings
from typing import TYPE_CHECKING

import pytest

import mcptest
from mcptest.core.plan import Expectation, ServerSpec, Step
from mcptest.sdk.channel_server import ChannelKeeper, ChannelServer
from mcptest.sdk.forking import quiet_forks

if TYPE_CHECKING:
    from mcptest.runner.faces import KeeperFace, ServerFace

SPEC = ServerSpec(name="a", command=("a",))

# That they have what is asked of them is for the type checker to say: `mcptest.runner.faces`.


def test_a_performer_takes_what_stands_for_a_keeper() -> None:
    keeper: KeeperFace = ChannelKeeper(SPEC, 1.0)
    server: ServerFace = ChannelServer(SPEC, keeper.launcher, 1.0)
    assert (keeper.is_ready, keeper.keeps_log, keeper.findings) == (False, "", [])
    keeper.take_inventory()
    assert server.connection.inbox.tool_changes == 0
    assert server.connection.stderr_since(0) == ""
    assert not server.wait_for_stderr(0.0)
    assert not server.wait_for_notification(0.0)
    assert server.is_usable
    server.give_up(Step(line=b"{}", method="a", expectation=Expectation()))
    assert not server.is_usable, "an answer that nobody awaits must not be taken for another"


def test_what_is_told_as_a_finding_is_taken() -> None:
    keeper = ChannelKeeper(SPEC, 1.0)
    server = ChannelServer(SPEC, keeper.launcher, 1.0)
    server.findings.add("bad_schema", "it is none")
    assert not server.has_begun
    assert keeper.log() == ()


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
        with warnings.catch_warnings(), quiet_forks():
            warnings.warn(WARNING, DeprecationWarning, stacklevel=1)
            with pytest.raises(DeprecationWarning):
                warnings.warn("another", DeprecationWarning, stacklevel=1)
    finally:
        done.set()
        thread.join()
