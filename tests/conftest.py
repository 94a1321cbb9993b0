"""What tests of every folder may use."""

from __future__ import annotations

import gc
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import processes
import pytest

# How long an example takes says more of the machine than of the code.
hypothesis.settings.register_profile("untimed", deadline=None)
# The inner loop (`./check unit`) tries a few examples, the whole suite many.
hypothesis.settings.register_profile("quick", deadline=None, max_examples=20)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "untimed"))

# The servers are programs, not a package; tests import the listener from among them.
SERVERS = Path(__file__).parent / "servers"
sys.path.insert(0, str(SERVERS))

from connect_back import Listener  # noqa: E402  # found by the line above

if TYPE_CHECKING:
    from collections.abc import Iterator


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--cold", action="store_true", help="start mcptest in a new interpreter every time"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    is_marked = item.get_closest_marker("cold") is not None
    processes.is_cold = is_marked or item.config.getoption("--cold")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let each worker of `pytest -n` begin with long tests: at the end, all of them are busy.

    xdist gives each worker an equal part of the list. Tests of one module, which may share a
    fixture, stay together.
    """
    workers = getattr(config, "workerinput", {}).get("workercount", 1)
    if workers == 1:
        return
    modules: dict[Path, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("long"):
            modules.setdefault(item.path, []).append(item)
    shares: list[list[pytest.Item]] = [[] for _ in range(workers)]
    for module in modules.values():
        min(shares, key=len).extend(module)
    others = [item for item in items if not item.get_closest_marker("long")]
    items.clear()
    for number, share in enumerate(shares):
        room = max(0, (len(others) + sum(map(len, shares))) // workers - len(share))
        taken = others if number == workers - 1 else others[:room]
        items += [*share, *taken]
        others = others[len(taken) :]


def pytest_unconfigure() -> None:
    processes.end()


def pytest_collection() -> None:
    gc.disable()


def pytest_collection_finish() -> None:
    """All tests stay until the end, so the collector need not look at them again and again."""
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True, scope="session")
def _signals_as_usual() -> Iterator[None]:
    """Programs that tests start heed signals, also where the tests were started to ignore them.

    `nohup` has SIGHUP ignored, a shell SIGINT and SIGQUIT in what it puts into the background, and
    programs inherit that. What is handled here is as usual in those we start. SIGINT is Ctrl-C
    here, too, because some tests press it.
    """
    handlers = {
        signal.SIGHUP: lambda *_: None,
        signal.SIGINT: signal.default_int_handler,
        signal.SIGQUIT: lambda *_: None,
    }
    ignored = [number for number in handlers if signal.getsignal(number) == signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, handlers[number])
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)


@pytest.fixture
def listener() -> Iterator[Listener]:
    """A place for server processes to call home to; see `connect_back`."""
    home = Listener()
    yield home
    home.close()
