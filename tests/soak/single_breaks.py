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
USERS = HINTS.with_name("users.yml")
TOKEN = "a-token-of-the-test"
OTHER = "token-of-another-user"

# Breaks that show only in one revision, or only to a server of one era.
REVISIONS = {
    "BASE-16": "2025-03-26",
    "HTTP-56": "2024-11-05",
    "AUTH-02": "2025-06-18",
    "AUTH-12": "2025-03-26",
}
ONE_ERA = ("LIFE-23", "HTTP-27", "HTTP-47")
# Checks of these families are about HTTP; the others are tried on stdio.
HTTP_FAMILIES = ("HTTP", "AUTH", "CACHE")
# Breaks that only a second user can see.
OF_USERS = ("AUTH-20", "CACHE-06")
# Breaks that no check can see for certain; docs/compliance.md says why.
UNSEEN = ("CANC-08", "LOG-05", "XTASK-02")


def main(ids: list[str]) -> int:
    """The number of breaks that are not found, or not alone."""
    wrong = 0
    tried = ids or [id for id in BREAKS if id not in UNSEEN]
    for id in tried:
        found = find(id)
        is_alone = found == {id}
        wrong += not is_alone
        say(f"ok    {id}" if is_alone else f"WRONG {id}: {', '.join(sorted(found)) or 'nothing'}")
    say(f"{len(tried) - wrong} passed, {wrong} failed")
    return min(wrong, 1)


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def find(id: str) -> set[str]:
    """The ids of all findings on a server that breaks this."""
    server = [sys.executable, str(REFERENCE), "--break", id]
    server += ["--era", "stateless"] if id in ONE_ERA else []
    hints = USERS if id in OF_USERS else HINTS
    options = ["--format", "json", "--hints", str(hints)]
    options += ["--spec-version", REVISIONS[id]] if id in REVISIONS else []
    if id.startswith(HTTP_FAMILIES):
        path = "sse" if id == "HTTP-56" else "mcp"
        options += ["--url", f"http://127.0.0.1:{{port}}/{path}"]
        server += ["--http", "{port}"]
    if id.startswith(("AUTH", "CACHE")) and id != "AUTH-21":
        options += [] if id in OF_USERS else ["--bearer-env", "T"]
        server += ["--auth", f"{TOKEN},{OTHER}"]
    ended = subprocess.run(
        [sys.executable, "-m", "mcptest", "compliance", "run", *options, "--", *server],
        env={"T": TOKEN, "OTHER": OTHER},
        capture_output=True,
        check=False,
    )
    checks = json.loads(ended.stdout)["checks"]
    return {each["id"] for each in checks if each["verdict"] in ("failed", "warning")}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
