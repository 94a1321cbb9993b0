"""A report into a pipe: read late it is whole, and not read at all it does not hold the run."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import pytest

from mcptest.cli import report_files
from mcptest.cli.report_files import ReportStream, write_file
from mcptest.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# More than any pipe holds.
LONG = "x" * 3_000_000


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


@pytest.fixture
def reader(pipe: Path) -> Iterator[int]:
    """A reader that has opened the pipe."""
    fd = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(fd, True)
    yield fd
    os.close(fd)


@pytest.mark.usefixtures("reader")
def test_a_reader_that_does_not_read_costs_this_report_alone(
    pipe: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_files, "_READER_PATIENCE_S", 0.05)
    stream = ReportStream(str(pipe))
    stream.write(LONG)
    stream.write("given up")
    with pytest.raises(UsageError, match=r"its reader has read nothing for 0\.05 s"):
        stream.finish()
    with pytest.raises(UsageError, match=r"its reader has read nothing for 0\.05 s"):
        write_file(str(pipe), LONG)


def test_a_reader_that_reads_gets_all_of_it(pipe: Path, reader: int) -> None:
    parts: list[bytes] = []

    def read() -> None:
        while part := os.read(reader, 65_536):
            parts.append(part)

    stream = ReportStream(str(pipe))
    thread = threading.Thread(target=read)
    thread.start()
    stream.write(LONG)
    stream.write("end")
    stream.finish()
    thread.join()
    assert b"".join(parts).decode() == LONG + "end"
