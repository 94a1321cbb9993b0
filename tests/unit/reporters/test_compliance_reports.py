"""The reports of a conformance run: what they say, and that no text of a server acts in them."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from sarif_pydantic import Sarif  # type: ignore[import-untyped]  # it has no py.typed

from mcptest.core.compliance import CheckResult, ComplianceReport, ProfileName, Reference
from mcptest.reporters.compliance import (
    group_findings,
    open_checks,
    render_badge,
    render_html,
    render_json,
    render_junit,
    render_markdown,
    render_sarif_report,
    render_text,
)
from mcptest.reporters.style import NO_COLOUR, Paint, width_of

SPEC = Reference(page="basic", section="Messages", url="https://modelcontextprotocol.io/x#messages")


def result(id: str, verdict: Any, **more: Any) -> CheckResult:
    keys: dict[str, Any] = {
        "name": "a-check",
        "family": id.partition("-")[0],
        "level": "MUST",
        "revision": "2025-11-25",
        "transport": "http",
        "message": f"what {id} found",
        "property": f"what {id} is about",
        "reference": SPEC,
    }
    return CheckResult(**{**keys, "id": id, "verdict": verdict, **more})


def report(*checks: CheckResult, **more: Any) -> ComplianceReport:
    keys: dict[str, Any] = {
        "server": "shop",
        "version": "1.2.0",
        "transport": "http",
        "revisions": ("2025-11-25", "2026-07-28"),
        "profiles": (ProfileName(id="2025-11-25.1", digest="sha256:abc"),),
        "grade": "C",
        "grade_reason": "a MUST failed (BASE-18), which caps the grade at C",
        "verdict": "not conformant",
        "started_at": "2026-11-18T00:00:00Z",
        "duration_s": 2.5,
    }
    return ComplianceReport(**{**keys, "checks": checks, **more})


FAILED = result(
    "BASE-18",
    "failed",
    sent=('{"jsonrpc":"2.0","id":1,"method":"no/such"}',),
    received=('{"jsonrpc":"2.0","id":1,"result":{}}',),
    repeat="mcptest compliance run --only BASE-18 -- node server.js",
    curl="curl -i -X POST http://127.0.0.1/mcp",
)
WHOLE = report(
    result("BASE-01", "passed"),
    FAILED,
    FAILED.but(revision="2026-07-28"),
    result("LOG-04", "warning", level="SHOULD", cause="TypeScript SDK 1.x"),
    result("PAGE-03", "warning", level="SHOULD", is_shared=True),
    result("HTTP-02", "failed", expected="a proxy checks it"),
    result("NEW-01", "failed", is_pending=True),
    result("CANC-02", "could_not_run", message="needs slow_tool", needs="slow_tool"),
    result("CANC-03", "could_not_run", message="needs slow_tool", needs="slow_tool"),
    result("TOOL-03", "not_applicable"),
    problems=("e.yml:3: BASE-07 is expected to fail and does not; take the entry out",),
)


def text_of(whole: ComplianceReport, **more: Any) -> str:
    return render_text(whole, NO_COLOUR, **more)


# What they say


def test_findings_are_grouped_and_said_once_for_all_revisions() -> None:
    groups = {
        group.name: [(each.check.id, each.revisions) for each in group.findings]
        for group in group_findings(WHOLE)
    }
    assert groups == {
        "failed": [("BASE-18", ("2025-11-25", "2026-07-28"))],
        "warning": [("LOG-04", ("2025-11-25",))],
        "shared": [("PAGE-03", ("2025-11-25",))],
        "expected": [("HTTP-02", ("2025-11-25",))],
        "pending": [("NEW-01", ("2025-11-25",))],
    }
    assert open_checks(WHOLE) == [("needs slow_tool", "CANC-02, CANC-03")]


def test_findings_with_one_cause_are_together() -> None:
    names = ["BASE-19", "LOG-01", "LOG-04"]
    causes = ["TypeScript SDK 1.x", "", "TypeScript SDK 1.x"]
    checks = [result(id, "warning", cause=each) for id, each in zip(names, causes, strict=True)]
    (group,) = group_findings(report(*checks))
    assert [each.check.id for each in group.findings] == ["LOG-01", "BASE-19", "LOG-04"]


def test_findings_that_differ_only_in_quoted_values_are_one() -> None:
    checks = [
        FAILED.but(message='the server answered with {"a": 1}'),
        FAILED.but(message='the server answered with {"b": 2}', revision="2026-07-28"),
        FAILED.but(message="the server ended", revision="2025-06-18"),
    ]
    (group,) = group_findings(report(*checks))
    assert [each.revisions for each in group.findings] == [
        ("2025-11-25", "2026-07-28"),
        ("2025-06-18",),
    ]


def test_text_says_what_was_found_where_and_how_to_repeat_it() -> None:
    text = text_of(WHOLE)
    assert text.startswith("shop 1.2.0 over HTTP, MCP 2025-11-25, 2026-07-28\n")
    for words in (
        "Failures\n\n  ✗ BASE-18 a-check (MUST, 2025-11-25, 2026-07-28)\n    what BASE-18 found\n",
        "    spec      basic, Messages\n              https://modelcontextprotocol.io/x#messages\n",
        '    sent      {"jsonrpc":"2.0","id":1,"method":"no/such"}\n',
        '    received  {"jsonrpc":"2.0","id":1,"result":{}}\n',
        "    repeat    mcptest compliance run --only BASE-18 -- node server.js\n",
        "    curl      curl -i -X POST http://127.0.0.1/mcp\n",
        "    cause     TypeScript SDK 1.x\n",
        "    expected  a proxy checks it\n",
        "Could not run\n\n  needs slow_tool: CANC-02, CANC-03\n",
        "1 passed, 4 failed (1 expected), 2 warnings, 2 could not run, 1 do not apply\n"
        "  (each revision counted), in 2.5 s\n",
        "not conformant, grade C: a MUST failed (BASE-18), which caps the grade at C\n"
        "profile 2025-11-25.1\n",
    ):
        assert words in text
    assert "expected failures: e.yml:3: BASE-07 is expected to fail and does not" in text
    assert text.index("Failures\n") < text.index("Warnings\n") < text.index("Deviations that all")


def test_text_shows_metadata_only_where_it_is_what_is_checked() -> None:
    prefix, client = "io.modelcontextprotocol/", {"name": "mcptest", "version": "1"}
    meta = {f"{prefix}protocolVersion": "2026-07-28", f"{prefix}clientCapabilities": {}}
    ordinary = meta | {f"{prefix}clientInfo": client}
    odd = ordinary | {f"{prefix}protocolVersion": "1999-01-01"}
    sent = tuple(json.dumps({"_meta": each}, separators=(",", ":")) for each in (odd, ordinary))
    text = text_of(report(FAILED.but(sent=sent)))
    assert '{"_meta":{…}}\n' in text
    assert '"1999-01-01"' in text


def test_verdicts_that_do_not_count_are_brief_unless_all_are_requested() -> None:
    shared = report(result("PAGE-03", "warning", is_shared=True, sent=("probe",), repeat="again"))
    assert "probe" not in text_of(shared)
    assert "repeat    again" in text_of(shared)
    assert "probe" in text_of(shared, is_verbose=True)


def test_an_interrupted_run_says_so_in_every_format() -> None:
    cut = WHOLE.but(interrupted=True, grade="")
    assert "interrupted" in text_of(cut)
    assert json.loads(render_json(cut, "1"))["interrupted"] is True
    assert "interrupted" in render_junit(cut)
    assert json.loads(render_sarif_report(cut, "", "1"))["runs"][0]["invocations"] == [
        {"executionSuccessful": False, "startTimeUtc": "2026-11-18T00:00:00Z"}
    ]
    assert "**Interrupted**" in render_markdown(cut)
    assert "Interrupted: " in render_html(cut, "1")


def test_lines_for_people_fit_into_80_columns() -> None:
    long = FAILED.but(message="word " * 80, sent=("x" * 5_000,), repeat="", curl="")
    lines = text_of(report(long)).split("\n")
    assert max(map(width_of, lines)) <= 80


def test_colour_is_only_added() -> None:
    coloured = render_text(WHOLE, Paint(on=True))
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == text_of(WHOLE)


def test_a_narrow_stream_gets_characters_that_it_can_take() -> None:
    render_text(WHOLE, NO_COLOUR, "ascii").encode("ascii")


def test_json_has_the_documented_shape() -> None:
    found = json.loads(render_json(WHOLE, "1.0"))
    assert {
        key: found[key]
        for key in ("version", "server", "transport", "revisions", "profile", "grade", "verdict")
    } == {
        "version": 1,
        "server": {"name": "shop", "version": "1.2.0"},
        "transport": "http",
        "revisions": ["2025-11-25", "2026-07-28"],
        "profile": "2025-11-25.1",
        "grade": "C",
        "verdict": "not conformant",
    }
    assert found["profiles"] == [{"id": "2025-11-25.1", "digest": "sha256:abc"}]
    assert found["summary"] == {
        "total": 10,
        "failed": 4,
        "warning": 2,
        "could_not_run": 2,
        "passed": 1,
        "not_applicable": 1,
        "expected": 1,
        "pending": 1,
    }
    assert found["checks"][1] == {
        "id": "BASE-18",
        "name": "a-check",
        "family": "BASE",
        "level": "MUST",
        "revision": "2025-11-25",
        "transport": "http",
        "verdict": "failed",
        "message": "what BASE-18 found",
        "property": "what BASE-18 is about",
        "spec": {
            "page": "basic",
            "section": "Messages",
            "url": "https://modelcontextprotocol.io/x#messages",
        },
        "sent": ['{"jsonrpc":"2.0","id":1,"method":"no/such"}'],
        "received": ['{"jsonrpc":"2.0","id":1,"result":{}}'],
        "repeat": "mcptest compliance run --only BASE-18 -- node server.js",
        "curl": "curl -i -X POST http://127.0.0.1/mcp",
        "passive": False,
        "shared": False,
        "pending": False,
        "expected": "",
        "cause": "",
        "needs": "",
    }


def test_junit_has_a_suite_for_each_revision_and_fails_what_fails_the_run() -> None:
    root = ElementTree.fromstring(render_junit(WHOLE))
    suites = {suite.get("name", ""): suite for suite in root}
    assert [*suites] == [
        "MCP 2025-11-25 on shop 1.2.0",
        "MCP 2026-07-28 on shop 1.2.0",
        "expected failures on shop 1.2.0",
    ]
    failed = [
        case.get("name") for case in root.iter("testcase") if case.find("failure") is not None
    ]
    assert failed == ["BASE-18 a-check", "BASE-18 a-check", "the expected failures are up to date"]
    skipped = {
        case.get("name"): case.find("skipped").get("message")  # type: ignore[union-attr]  # it is one
        for case in root.iter("testcase")
        if case.find("skipped") is not None
    }
    assert skipped["HTTP-02 a-check"] == "expected to fail: a proxy checks it"
    assert skipped["CANC-02 a-check"] == "needs slow_tool"


def test_sarif_keeps_the_rules_of_the_standard() -> None:
    document = json.loads(render_sarif_report(WHOLE, "server.py", "1"))
    Sarif.model_validate(document)
    (run,) = document["runs"]
    assert [(each["ruleId"], each["level"]) for each in run["results"]] == [
        ("BASE-18", "error"),
        ("LOG-04", "warning"),
        ("PAGE-03", "note"),
        ("HTTP-02", "note"),
        ("NEW-01", "note"),
    ]
    rules = {rule["id"]: rule for rule in run["tool"]["driver"]["rules"]}
    assert rules["BASE-18"] == {
        "id": "BASE-18",
        "shortDescription": {"text": "what BASE-18 is about"},
        "helpUri": "https://modelcontextprotocol.io/x#messages",
    }
    (place,) = run["results"][0]["locations"]
    assert place["physicalLocation"]["artifactLocation"]["uri"] == "server.py"
    assert place["logicalLocations"] == [{"fullyQualifiedName": "shop@1.2.0", "kind": "resource"}]
    Sarif.model_validate(json.loads(render_sarif_report(WHOLE, "", "1")))


def test_a_badge_shows_the_grade() -> None:
    root = ElementTree.fromstring(render_badge(WHOLE))
    assert [each.text for each in root.iter("{http://www.w3.org/2000/svg}text")] == [
        "MCP conformance",
        "C",
    ]
    assert "no grade" in render_badge(WHOLE.but(grade=""))


# Hostile servers

HOSTILE = (
    "<script>alert(1)</script>",
    "</pre><img src=x onerror=alert(1)>",
    "\x1b[31mred\x1b]0;title\x07",
    "::error::stop\n##[group]x",
    "]]> & \" ' \u202e \u2028 \x00 \ud800",
    "`` ` ``` [a](javascript:x) @someone | cell",
)


def hostile_report(text: str) -> ComplianceReport:
    keys = {"message": text, "sent": (text,), "received": (text, text), "repeat": text}
    checks = [
        result("BASE-18", "failed", curl=text, cause=text, **keys),
        result("HTTP-02", "failed", expected=text, **keys),
        result("LOG-04", "warning", **keys),
        result("CANC-02", "could_not_run", message=text),
        result("BASE-01", "passed", message=text, name=text),
    ]
    more = {"problems": (text,), "notes": (text,), "grade_reason": text}
    return report(*checks, server=text, version=text, **more)


class Tags(HTMLParser):
    """The tags of a page, and the addresses of its links."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.links: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]
        assert not any(name.startswith("on") for name, _ in attrs)


def assert_inert(text: str) -> None:
    whole = hostile_report(text)
    for page in (text_of(whole), render_markdown(whole)):
        assert all(line.isprintable() for line in page.split("\n"))
        assert not any(line.lstrip().startswith("::") for line in page.split("\n"))
        assert "##[" not in page
    json.loads(render_json(whole, "1").encode("utf-8", "backslashreplace"))
    ElementTree.fromstring(render_junit(whole).encode("utf-8", "backslashreplace"))
    ElementTree.fromstring(render_badge(whole).encode("utf-8", "backslashreplace"))
    Sarif.model_validate(json.loads(render_sarif_report(whole, "", "1")))
    tags = Tags(render_html(whole, "1"))
    assert (tags.names.count("script"), tags.names.count("img")) == (1, 0)
    assert all(each.startswith(("#", "https://modelcontextprotocol.io/")) for each in tags.links)
    tokens = MarkdownIt().parse(render_markdown(whole))
    inner = [token for each in tokens for token in (each, *(each.children or ()))]
    assert not any(token.type in ("html_block", "html_inline", "image") for token in inner)
    targets = {str(token.attrs["href"]) for token in inner if token.type == "link_open"}
    assert targets <= {SPEC.url}


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_of_a_server_acts_in_a_report(text: str) -> None:
    assert_inert(text)


@pytest.mark.slow
@given(st.text(max_size=60))
@settings(max_examples=60, deadline=None)
def test_no_text_at_all_acts_in_a_report(text: str) -> None:
    assert_inert(text)
