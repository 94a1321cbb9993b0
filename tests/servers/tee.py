"""Stands between a client and a server and keeps a log of what they say: `tee.py LOG COMMAND…`."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from typing import IO

LOCK = threading.Lock()


def copy(source: IO[bytes], target: IO[bytes], direction: str, log: IO[str]) -> None:
    """Pass every line on at once, and write it down before."""
    for line in source:
        with LOCK:
            entry = {"direction": direction, "message": json.loads(line), "ts": time.time()}
            log.write(json.dumps(entry) + "\n")
            log.flush()
        target.write(line)
        target.flush()
    target.close()


def main() -> int:
    file, *command = sys.argv[1:]
    with (
        open(file, "a", encoding="utf-8") as log,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server,
    ):
        assert server.stdin
        assert server.stdout
        back = threading.Thread(
            target=copy, args=(server.stdout, sys.stdout.buffer, "out", log), daemon=True
        )
        back.start()
        copy(sys.stdin.buffer, server.stdin, "in", log)
        back.join(10)
        return server.wait(10)


if __name__ == "__main__":
    sys.exit(main())
