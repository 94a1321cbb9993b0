"""Run one command and print its wall time in ms and its peak memory in KB.

A process of its own, as small as can be: the kernel counts the memory of whoever
started a command as that command's, so a large parent would hide a small child.
"""

import os
import sys
import time


def main() -> None:
    began = time.perf_counter()
    pid = os.fork()
    if pid == 0:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.execv(sys.argv[1], sys.argv[1:])
    _, status, usage = os.wait4(pid, 0)
    took_ms = (time.perf_counter() - began) * 1000
    os.write(1, f"{took_ms} {usage.ru_maxrss}\n".encode())
    sys.exit(os.waitstatus_to_exitcode(status))


main()
