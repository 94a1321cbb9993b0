"""A `mcptest run --watch` that a test drives."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

from console import ENVIRONMENT, PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# Its last line has been seen, but the round may be just over, or not quite.
ENDS = (0, 130)


class Watching:
    """A watching command, and all that it has printed."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.text = ""
        self.process = subprocess.Popen(
            [sys.executable, "-u", "-m", "mcptest", "run", ".", "--watch", *words],
            cwd=folder,
            env=ENVIRONMENT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout
        with self.process.stdout as stream:
            while line := stream.readline():
                self.text += line

    def wait_for(self, words: str, save: Callable[[], object] | None = None) -> None:
        """Wait for these words; what is saved is saved again now and then, as people do."""
        deadline = time.monotonic() + PATIENCE_S
        saved_at = 0.0
        while words not in self.text:
            now = time.monotonic()
            assert now < deadline, f"waited too long for {words!r} in {self.text!r}"
            if save and now > saved_at + 5:
                save()
                saved_at = now
            time.sleep(0.02)

    def end(self) -> int:
        status = None
        for _ in range(12):
            # Pressed again now and then, as people do.
            self.process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                status = self.process.wait(PATIENCE_S / 12)
                break
        assert status is not None, self.text
        self._reader.join(PATIENCE_S)
        return status
