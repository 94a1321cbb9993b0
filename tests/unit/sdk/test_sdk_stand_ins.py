"""What stands for a server and its keeper has all that performing a case asks of them."""

from __future__ import annotations

import re
import threading
import warnings
from pathlib import Path

import pytest

import mcptest
from mcptest.core.plan import ServerSpec
from mcptest.sdk.channel_server import ChannelKeeper, ChannelServer
from mcptest.sdk.driving import _quiet_forks

RUNNER = Path(__file__).parents[3] / "src" / "mcptest" / "runner"
SPEC = ServerSpec(name="a", command=("a",))

# Asked of a server only about what no case for the channel looks at: stderr, notifications.
UNSEEN = {"connection", "notifications", "wait_for_notification", "wait_for_stderr"}
# Asked of a keeper only for dialogues, for checks, and where a server is to end.
UNUSED = {"replace", "take_inventory", "answered", "server_for_dialogue"}


def asked_of(name: str, *modules: str) -> set[str]:
    text = "".join((RUNNER / f"{each}.py").read_text(encoding="utf-8") for each in modules)
    return set(re.findall(rf"\b{name}\.(\w+)", text))


def test_a_server_has_what_is_asked_of_one() -> None:
    keeper = ChannelKeeper(SPEC, 1.0)
    server = ChannelServer(SPEC, keeper.launcher, 1.0)
    asked = asked_of("server", "performing", "outputs", "weighing")
    assert {"perform", "launcher", "spec"} <= asked
    assert [name for name in asked - UNSEEN if not hasattr(server, name)] == []


def test_a_keeper_has_what_is_asked_of_one() -> None:
    asked = asked_of("_keeper", "performing")
    assert {"server_for", "broke", "passed"} <= asked
    keeper = ChannelKeeper(SPEC, 1.0)
    assert [name for name in asked - UNUSED if not hasattr(keeper, name)] == []


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
        with warnings.catch_warnings(), _quiet_forks():
            warnings.warn(WARNING, DeprecationWarning, stacklevel=1)
            with pytest.raises(DeprecationWarning):
                warnings.warn("another", DeprecationWarning, stacklevel=1)
    finally:
        done.set()
        thread.join()
