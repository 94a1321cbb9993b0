"""Orphaned descendants are re-parented to this process, with whichever part of `ctypes` exists."""

from __future__ import annotations

import subprocess
import sys

import pytest

ASKS = """
import ctypes
found = ctypes.c_int()
ctypes.CDLL(None).prctl(37, ctypes.byref(found), 0, 0, 0)
print(found.value)
"""
ADOPT = "from mcptest.transport.process.stopping import adopt_orphans; adopt_orphans()\n"
WITHOUT_INNER_PART = "import _ctypes; del _ctypes.call_function\n"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a process adopt orphans")
@pytest.mark.parametrize(
    ("before", "adopts"), [("", "0"), (ADOPT, "1"), (WITHOUT_INNER_PART + ADOPT, "1")]
)
def test_orphans_are_adopted_by_the_process_that_asked(before: str, adopts: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", before + ASKS],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
    )
    assert (done.stdout.strip(), done.stderr) == (adopts, "")


STOPS = """
import sys
from mcptest.core.plan import ServerSpec
from mcptest.transport.process import stopping
from mcptest.transport.process.child import Guardian
from mcptest.transport.process.signals import Interrupts
from mcptest.transport.stdio import StdioTransport

if sys.argv[1] == "blind":
    stopping._list_children = lambda: None
looks = []
list_marked = stopping.list_marked
stopping.list_marked = lambda *given, **named: looks.append(1) or list_marked(*given, **named)
guardian = Guardian(adopts_orphans=True)
spec = ServerSpec(name="it", command=("sh", "-c", sys.argv[2]))
with Interrupts() as interrupts:
    stopped = StdioTransport(spec, guardian, interrupts).end(stopping.Grace())
guardian.dismiss()
print(len(looks), *stopped.left_behind.values())
"""
LEAVES = "sleep 60 >/dev/null 2>&1 & exec cat"


@pytest.mark.skipif(sys.platform != "linux", reason="as above")
@pytest.mark.parametrize(
    ("sight", "server", "message"),
    [
        ("seeing", "exec cat", "0"),
        ("seeing", LEAVES, "1 sleep 60"),
        ("blind", "exec cat", "1"),
        ("blind", LEAVES, "1 sleep 60"),
    ],
)
def test_all_processes_are_looked_through_only_for_a_reason(
    sight: str, server: str, message: str
) -> None:
    """A process was left behind, or this cannot be known."""
    done = subprocess.run(
        [sys.executable, "-c", STOPS, sight, server],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
    )
    assert (done.stdout.strip(), done.stderr) == (message, "")
