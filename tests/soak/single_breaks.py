"""Break one thing of the reference server at a time: all checks together report just that.

Usage: python3 tests/soak/single_breaks.py [ID…], all breaks unless some are given. Not part of the
test run: it takes minutes. The tests of `tests/cli/compliance` break several things at once.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parent.parent
sys.path[:0] = [str(TESTS / "servers")]

from conformance.breaks import BREAKS  # noqa: E402  # found by the line above

REFERENCE = TESTS / "servers" / "conformance" / "reference_server.py"
HINTS = TESTS / "servers" / "conformance" / "hints.yml"
TOKEN = "a-token-of-the-test"

# Breaks that show only in one revision, or only to a server of one era.
REVISIONS = {
    "BASE-16": "2025-03-26",
    "HTTP-56": "2024-11-05",
    "AUTH-02": "2025-06-18",
    "AUTH-12": "2025-03-26",
}
ONE_ERA = ("LIFE-23", "HTTP-27", "HTTP-47")
# Checks of these families are about HTTP; the others are tried on stdio.
HTTP_FAMILIES = ("HTTP", "AUTH")


def main(ids: list[str]) -> int:
    """The number of breaks that are not found, or not alone."""
    wrong = 0
    for id in ids or BREAKS:
        found = find(id)
        is_alone = found == {id}
        wrong += not is_alone
        say(f"ok    {id}" if is_alone else f"WRONG {id}: {', '.join(sorted(found)) or 'nothing'}")
    say(f"{len(ids or BREAKS) - wrong} passed, {wrong} failed")
    return min(wrong, 1)


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def find(id: str) -> set[str]:
    """The ids of all findings on a server that breaks this."""
    server = [sys.executable, str(REFERENCE), "--break", id]
    server += ["--era", "stateless"] if id in ONE_ERA else []
    options = ["--format", "json", "--hints", str(HINTS)]
    options += ["--spec-version", REVISIONS[id]] if id in REVISIONS else []
    if id.startswith(HTTP_FAMILIES):
        path = "sse" if id == "HTTP-56" else "mcp"
        options += ["--url", f"http://127.0.0.1:{{port}}/{path}"]
        server += ["--http", "{port}"]
    if id.startswith("AUTH") and id != "AUTH-21":
        options += ["--bearer-env", "MCPTEST_SOAK_TOKEN"]
        server += ["--auth", TOKEN]
    ended = subprocess.run(
        [sys.executable, "-m", "mcptest", "compliance", "run", *options, "--", *server],
        env={"MCPTEST_SOAK_TOKEN": TOKEN},
        capture_output=True,
        check=False,
    )
    checks = json.loads(ended.stdout)["checks"]
    return {each["id"] for each in checks if each["verdict"] in ("failed", "warning")}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
