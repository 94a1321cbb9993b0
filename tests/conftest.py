"""What tests of every folder may use."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

# How long an example takes says more of the machine than of the code.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")

# The servers are programs, not a package; tests import the listener from among them.
SERVERS = Path(__file__).parent / "servers"
sys.path.insert(0, str(SERVERS))

from connect_back import Listener  # noqa: E402  # found by the line above

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def listener() -> Iterator[Listener]:
    """A place for server processes to call home to; see `connect_back`."""
    home = Listener()
    yield home
    home.close()
