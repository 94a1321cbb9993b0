"""Active checks of the base protocol, the lifecycle, stdio, HTTP, authorization and utilities.

The reference server breaks what a group names, and exactly these checks must find it; without
breaks every check passes. `tests/soak/single_breaks.py` tries each break alone with all checks.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import pytest
import test_active_features as features
from active import check_server

from mcptest.compliance.checks import CHECKS
from mcptest.rules.rule import family_of

SERVERS = Path(__file__).parents[2] / "servers"
REFERENCE = SERVERS / "conformance" / "reference_server.py"
HINTS = SERVERS / "conformance" / "hints.yml"
TOKEN = "a-token-of-the-test"


class Group(NamedTuple):
    """Things to break at once, and how to start the server and the checks."""

    ids: str
    http: bool = False
    server: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    path: str = "mcp"


OTHER = "token-of-another-user"
AUTH = ("--auth", f"{TOKEN},{OTHER}")
USERS = SERVERS / "conformance" / "users.yml"
GROUPS = {
    "base": Group("BASE-07 BASE-15 BASE-18 BASE-19 BASE-20 BASE-33 BASE-34"),
    "context": Group("BASE-32"),
    "ids": Group("BASE-42"),
    "batches": Group("BASE-16", options=("--spec-version", "2025-03-26")),
    "handshake": Group("LIFE-01 LIFE-03 LIFE-05 LIFE-11 LIFE-13 LIFE-14"),
    "versions": Group("LIFE-02 LIFE-04 LIFE-20"),
    "discovery": Group("LIFE-16 LIFE-18 LIFE-21 LIFE-22 LIFE-24"),
    "later versions": Group("LIFE-19"),
    "no discovery": Group("LIFE-15"),
    "one era": Group("LIFE-23", server=("--era", "stateless")),
    "stdio": Group("STDIO-04 STDIO-05 STDIO-06 STDIO-10 STDIO-16"),
    "utilities": Group("LOG-01 LOG-08 PAGE-02 PAGE-03 PAGE-04 CANC-01"),
    "levels": Group("LOG-03 LOG-04"),
    "progress": Group("PROG-02", options=("--hints", str(HINTS))),
    "cancellation": Group("CANC-02 STDIO-09", options=("--hints", str(HINTS))),
    "work goes on": Group("CANC-03", options=("--hints", str(HINTS))),
    "sessions": Group(
        "HTTP-01 HTTP-02 HTTP-05 HTTP-06 HTTP-12 HTTP-13 HTTP-14 HTTP-17 HTTP-55", http=True
    ),
    "requests": Group("HTTP-07 HTTP-18 AUTH-21", http=True),
    "headers": Group(
        "HTTP-26 HTTP-28 HTTP-29 HTTP-30 HTTP-31 HTTP-34 HTTP-35 HTTP-36 HTTP-37 HTTP-42 HTTP-43 "
        "HTTP-44 HTTP-45",
        http=True,
    ),
    "encodings": Group("HTTP-32 HTTP-33 HTTP-46", http=True),
    "stateless only": Group("HTTP-27 HTTP-47", http=True, server=("--era", "stateless")),
    "old transport": Group(
        "HTTP-56", http=True, path="sse", options=("--spec-version", "2024-11-05")
    ),
    "no token": Group("AUTH-01", http=True, server=AUTH, options=("--bearer-env", "T")),
    "tokens": Group(
        "AUTH-05 AUTH-07 AUTH-08", http=True, server=AUTH, options=("--bearer-env", "T")
    ),
    "echo": Group("AUTH-22", http=True, server=AUTH, options=("--bearer-env", "T")),
    "no document": Group("AUTH-03", http=True, server=AUTH, options=("--bearer-env", "T")),
    "no authority": Group("AUTH-04", http=True, server=AUTH, options=("--bearer-env", "T")),
    "authority": Group("AUTH-10 AUTH-11", http=True, server=AUTH, options=("--bearer-env", "T")),
    "users": Group("AUTH-20 CACHE-06", http=True, server=AUTH, options=("--hints", str(USERS))),
    "challenge": Group(
        "AUTH-02",
        http=True,
        server=AUTH,
        options=("--bearer-env", "T", "--spec-version", "2025-06-18"),
    ),
    "root": Group(
        "AUTH-12",
        http=True,
        server=AUTH,
        options=("--bearer-env", "T", "--spec-version", "2025-03-26"),
    ),
}


def words_for(group: Group, broken: str = "") -> list[str]:
    """The words of `mcptest compliance run` for a group."""
    server = [sys.executable, str(REFERENCE), *group.server]
    server += ["--break", broken] if broken else []
    where: list[str] = []
    if group.http:
        where, server = (
            ["--url", f"http://127.0.0.1:{{port}}/{group.path}"],
            [
                *server,
                "--http",
                "{port}",
            ],
        )
    return [*group.options, *where, "--", *server]


@pytest.mark.long
@pytest.mark.parametrize("group", list(GROUPS.values()), ids=list(GROUPS))
def test_a_broken_server_is_found(group: Group) -> None:
    ids = group.ids.split()
    chosen = [word for id in ids for word in ("--only", id)]
    checked = check_server(*chosen, *words_for(group, ",".join(ids)), T=TOKEN, OTHER=OTHER)
    assert checked.ids("failed", "warning") == set(ids)


# Ways to run the checks against a server that breaks nothing, and the checks that do not apply.
# What applies must pass: a check that has nothing to look at has shown nothing.
ABOUT_HTTP = tuple(check.id for check in CHECKS if check.transport == "http")
ABOUT_STDIO = tuple(check.id for check in CHECKS if check.transport == "stdio")
ELSEWHERE = ("CACHE-06", "AUTH-02", "AUTH-12", "BASE-16", "LIFE-23", "RES-13", "SUB-04", "TASK-01")
HINTED = ("--hints", str(HINTS))
KEEPING = {
    "stdio": (Group("", options=HINTED), (*ABOUT_HTTP, *ELSEWHERE, "XTASK-12")),
    "http": (
        Group("", http=True, options=HINTED),
        (
            *(*ABOUT_STDIO, *ELSEWHERE, "HTTP-56", "SUB-08"),
            *(
                id
                for id in ABOUT_HTTP
                if id.startswith("AUTH") and id not in ("AUTH-21", "AUTH-22")
            ),
        ),
    ),
    "token": (
        Group("AUTH CACHE-06", http=True, server=AUTH, options=("--hints", str(USERS))),
        ("AUTH-02", "AUTH-12"),
    ),
    "challenge": (GROUPS["challenge"], ()),
    "root": (GROUPS["root"], ()),
    "batches": (GROUPS["batches"], ()),
    "old transport": (GROUPS["old transport"], ()),
    "one era": (GROUPS["one era"], ()),
}


@pytest.mark.long
@pytest.mark.parametrize("way", KEEPING)
def test_the_reference_server_keeps_everything(way: str) -> None:
    group, absent = KEEPING[way]
    ids = group.ids.split()
    chosen = [word for id in ids for word in ("--only", id)]
    checked = check_server(*chosen, *words_for(group), T=TOKEN, OTHER=OTHER)
    assert checked.ids("failed", "warning", "could_not_run") == set()
    assert checked.report["grade"] in ("A+", None)
    wanted = {check.id for check in CHECKS if selects(ids, check.id)}
    # Passive rules with the same ids do not count: whether they apply depends on timing.
    shown = {
        each["id"]
        for each in checked.report["checks"]
        if each["verdict"] == "passed" and not each["passive"]
    }
    assert wanted - shown == set(absent) & wanted


def selects(ids: list[str], id: str) -> bool:
    return not ids or id in ids or family_of(id) in ids


def test_every_check_is_broken_by_one_server_and_kept_by_another() -> None:
    """For each check there is a server that fails it, and a run in which it passes."""
    ids = {check.id for check in CHECKS}
    broken = {id for group in GROUPS.values() for id in group.ids.split()} | features.ACTIVE
    assert broken == ids
    kept = {
        check.id
        for group, absent in KEEPING.values()
        for check in CHECKS
        if selects(group.ids.split(), check.id) and check.id not in absent
    }
    assert ids - kept <= features.KEPT


@pytest.mark.long
def test_a_passive_rule_alone_judges_what_all_checks_provoke() -> None:
    checked = check_server("--only", "BASE-11", "--", sys.executable, str(REFERENCE))
    assert {each["verdict"] for each in checked.report["checks"]} == {"passed"}
