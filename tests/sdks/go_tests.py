"""Run the tests of a Go module, and count them: go test does not.

    python tests/sdks/go_tests.py FOLDER

Prints what the tests that failed printed, then `N passed, N failed, N skipped`. A subtest is
not counted.
"""

from __future__ import annotations

import collections
import json
import subprocess
import sys
from pathlib import Path

# It does nothing by itself: other tests run it in a process of its own.
HELPER = "TestHelperProcess"


def main(folder: Path) -> int:
    command = ["go", "test", "-count=1", "-timeout=10m", "-json", "./..."]
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, encoding="utf-8")
    counts: collections.Counter[str] = collections.Counter()
    printed: dict[str, list[str]] = collections.defaultdict(list)
    for line in done.stdout.splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            sys.stdout.write(f"{line}\n")
            continue
        test, action = event.get("Test", ""), event["Action"]
        if action in ("output", "build-output"):
            printed[test.partition("/")[0]].append(event["Output"])
        elif test and "/" not in test and test != HELPER:
            counts[action] += 1
        if action == "fail" and "/" not in test:
            sys.stdout.write("".join(printed.pop(test, [])))
    sys.stdout.write("{pass} passed, {fail} failed, {skip} skipped\n".format_map(counts))
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
