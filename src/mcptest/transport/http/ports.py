"""Which processes listen on a port of this machine. Linux only: elsewhere none is found."""

from __future__ import annotations

import os

from mcptest.transport.process.stopping import read_command_line, read_mark

__all__ = ["Listeners", "listeners_on"]

_LISTENING = "0A"


class Listeners:
    """The processes that listen on a port, told apart by the mark that our servers carry."""

    def __init__(self, pids: set[int], mark: str) -> None:
        marks = {pid: read_mark(pid) for pid in pids}
        self.has_ours = any(found.startswith(mark) for found in marks.values())
        # A server that this or another run of mcptest has started for other tests.
        self.others = [pid for pid, found in marks.items() if found and not found.startswith(mark)]
        self.unmarked = [pid for pid, found in marks.items() if not found]

    def describe_unmarked(self) -> str:
        return ", ".join(f"{pid}: {read_command_line(pid)}" for pid in self.unmarked)


def listeners_on(port: int, mark: str) -> Listeners:
    """The processes that listen on a port, as far as that can be seen."""
    wanted = {f"socket:[{inode}]" for inode in _inodes(port)}
    return Listeners({pid for pid in _pids() if wanted and _has_open(pid, wanted)}, mark)


def _inodes(port: int) -> set[str]:
    """The sockets that listen on a port, as the system numbers them."""
    found = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in _lines(table)[1:]:
            fields = line.split()
            is_listening = len(fields) > 9 and fields[3] == _LISTENING
            if is_listening and int(fields[1].rpartition(":")[2], 16) == port:
                found.add(fields[9])
    return found


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read().splitlines()
    except OSError:
        return []


def _pids() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []


def _has_open(pid: int, wanted: set[str]) -> bool:
    # Processes end while we look, and those of other users cannot be read.
    folder = f"/proc/{pid}/fd"
    try:
        handles = os.listdir(folder)
    except OSError:
        return False
    for handle in handles:
        try:
            if os.readlink(f"{folder}/{handle}") in wanted:
                return True
        except OSError:
            continue
    return False
