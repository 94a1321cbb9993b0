"""Rules about resources, prompts and completions, where captures would be too many."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from case_tables import each_case
from hypothesis import example, given
from hypothesis import strategies as st

from mcptest.core.results import Verdict
from mcptest.rules.all_rules import RULES as EVERY_RULE
from mcptest.rules.captures import score_capture
from mcptest.rules.shared import (
    base64_fault,
    is_iso_date,
    is_media_type,
    template_fault,
    uri_fault,
)

RULES = {rule.id: rule for rule in EVERY_RULE}


def verdict(id: str, method: str, result: Any, version: str = "2025-11-25") -> Verdict:
    """What one rule says of one result."""
    request = {"jsonrpc": "2.0", "id": 1, "method": method}
    exchange = {"request": request, "response": {"jsonrpc": "2.0", "id": 1, "result": result}}
    session = {"server_label": "s", "protocol_version": version, "exchanges": [exchange]}
    [found] = score_capture([session], [RULES[id]]).sessions[0].verdicts
    return found


# Addresses


@pytest.mark.parametrize(
    "uri",
    [
        "file:///a.txt",
        "file:///C:/a%20b.txt",
        "https://user:pw@example.com:8080/a/b?c=d&e=%5B#f",
        "http://[2001:db8::1]:80/",
        "http://example.com:/",
        "urn:isbn:0451450523",
        "mailto:a@example.com",
        "memo:",
        "x-my.scheme+1://notes/!$&'()*+,;=:@~",
        "git://a//b",
        "data:,a",
    ],
)
def test_an_address_by_rfc_3986_is_a_uri(uri: str) -> None:
    assert uri_fault(uri) == ""


@each_case(
    ("uri", "reason"),
    [
        ("", "scheme"),
        ("a.txt", "scheme"),
        ("/a.txt", "scheme"),
        (":a", "scheme"),
        ("1a:b", "scheme"),
        ("a b:c", "scheme"),
        ("é:c", "scheme"),
        ("file:///a b", '" "'),
        ("file:///ä", '"ä"'),
        ("file:///a\n", '"\\n"'),
        ('x:"', '"\\""'),
        ("x:{a}", '"{"'),
        ("x:\ud800", '"\ud800"'),
        ("x:%", "%"),
        ("x:%2", '"2"'),
        ("x:%zz", '"zz"'),
        ("x:a#b#c", "#"),
        ("x:a[b]", "[ and ]"),
        ("x://a/[b]", "[ and ]"),
        ("x://a:b/", '"a:b"'),
        ("x://[::1/", '"[::1"'),
        ("x://a@b@c/", '"a@b@c"'),
    ],
)
def test_an_invalid_uri_is_reported_with_the_reason(uri: str, reason: str) -> None:
    assert reason in uri_fault(uri)


@pytest.mark.parametrize(
    "template",
    [
        "",
        "file:///a",
        "file:///{path}",
        "x://{a,b}{+c}{#d}{.e}{/f*}{;g}{?h,i:3}{&j}",
        "x://{a.b_c}{%41}/ä'%20",
        "{=a}{!b}{@c}{|d}{,e}",
        "x://{a:1}{b:9999}",
    ],
)
def test_a_template_by_rfc_6570_is_one(template: str) -> None:
    assert template_fault(template) == ""


@each_case(
    ("template", "reason"),
    [
        ("x://{a", "never closed"),
        ("x://a}", '"}"'),
        ("x://{a}}", '"}"'),
        ("x://{{a}}", '"{a"'),
        ("x://{}", '""'),
        ("x://{?}", '""'),
        ("x://{a,}", '""'),
        ("x://{a..b}", '"a..b"'),
        ("x://{.a.}", '"a."'),
        ("x://{a-b}", '"a-b"'),
        ("x://{a%4}", '"a%4"'),
        ("x://{a:}", '"a:"'),
        ("x://{a:0}", '"a:0"'),
        ("x://{a:10000}", '"a:10000"'),
        ("x://{a:²}", '"a:²"'),
        ("x://{a:3*}", '"a:3*"'),
        ("x://{a**}", '"a*"'),
        ("x:// {a}", '" "'),
        ("x://%{a}", "%"),
        ("x://\x00", '"\\u0000"'),
        ("x:\\{a}", '"\\\\"'),
    ],
)
def test_an_invalid_template_is_reported_with_the_reason(template: str, reason: str) -> None:
    assert reason in template_fault(template)


@given(st.text("ab:/?#[]@%4{}.,*+ é", max_size=20))
@example("%" * 50)
@example("{" * 50)
def test_no_text_breaks_the_looking_at_addresses(text: str) -> None:
    assert isinstance(uri_fault(text), str)
    assert isinstance(template_fault(text), str)


def test_a_very_long_address_is_parsed_once() -> None:
    for part in ("a", "%41", "[", "@", ":", "{a}", "{", "}"):
        long = "x://" + part * 30_000
        assert len(uri_fault(long)) < 200
        assert len(template_fault(long)) < 200


def test_a_resource_that_was_linked_may_be_linked_again() -> None:
    link = {"type": "resource_link", "uri": "file:///a", "name": "a"}
    assert verdict("RES-03", "tools/call", {"content": [link, link]}).status == "pass"


# Bytes


@given(st.binary(max_size=50))
def test_base64_is_base64(data: bytes) -> None:
    assert base64_fault(base64.b64encode(data).decode("ascii")) == ""


@each_case(
    ("text", "reason"),
    [
        ("a", "has no meaning"),
        ("ab", "must end in 2"),
        ("abc", "must end in 1"),
        ("abcd=", "must end in 0"),
        ("abcd====", "must end in 0"),
        ("====", "must end in 0"),
        ("ab=c", '"="'),
        ("ab==cd==", '"="'),
        ("ab\n==", '"\\n"'),
        ("ab-_", "alphabet for URLs"),
        ("é", '"é"'),
        ("data:text/plain;base64,abcd", "comma"),
    ],
)
def test_invalid_base64_is_reported_with_the_reason(text: str, reason: str) -> None:
    assert reason in base64_fault(text)


def test_a_media_type_has_two_parts() -> None:
    for good in ("image/png", "image/svg+xml", "text/plain; charset=utf-8", "x-a/b.c-d"):
        assert is_media_type(good)
    for bad in ("", "png", "image/", "/png", "image/png/x", "image /png", "imäge/png", "a/b c"):
        assert not is_media_type(bad)


def test_a_resource_without_a_blob_is_nothing_to_look_at() -> None:
    contents = {"contents": [{"uri": "file:///a", "text": "a"}, 5]}
    assert verdict("RES-06", "resources/read", contents).status == "not_applicable"


def test_a_null_blob_beside_a_text_is_a_finding_only_about_the_blob() -> None:
    resource = {"uri": "file:///a", "mimeType": "text/plain", "text": "a", "blob": None}
    message = {"role": "user", "content": {"type": "resource", "resource": resource}}
    assert verdict("PROMPT-07", "prompts/get", {"messages": [message]}).status == "pass"
    assert verdict("RES-06", "prompts/get", {"messages": [message]}).status == "fail"


# Annotations


@each_case(
    "date",
    [
        *("2025", "2025-01", "2025-01-12", "20250112", "2025-W03-1", "2025-012"),
        *("2025-01-12T15:00:58Z", "2025-01-12T15:00:58.123456789+01:00", "2025-01-12 15:00"),
        *("20250112T150058Z", "2025-01-12t15:00:60z", "2025-01-12T24:00:00", "2025-01-12T15,5"),
    ],
)
def test_every_form_of_iso_8601_is_a_date(date: str) -> None:
    assert is_iso_date(date)


@pytest.mark.parametrize(
    "date",
    [
        *("", "yesterday", "12 January 2025", "01/12/2025", "2025/01/12", "2025-13-01"),
        *("2025-01-32", "1736694058", "2025-01-12T25:00", "2025-01-12T15:00:58 UTC", "２０２５"),
    ],
)
def test_other_forms_are_not_dates(date: str) -> None:
    assert not is_iso_date(date)


def test_a_date_is_judged_only_by_revisions_that_have_it() -> None:
    result = {"resources": [{"uri": "x:a", "name": "a", "annotations": {"lastModified": 5}}]}
    by_version = {
        version: verdict("RES-12", "resources/list", result, version).status
        for version in ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
    }
    assert [*by_version.values()] == ["pass", "pass", "fail", "fail"]


@pytest.mark.parametrize("size", [0, 12, 12.0, 10**30])
def test_a_whole_number_is_a_size(size: float) -> None:
    result = {"resources": [{"uri": "x:a", "name": "a", "size": size}]}
    assert verdict("RES-12", "resources/list", result).status == "pass"


@pytest.mark.parametrize("size", [1.5, True, None, "1"])
def test_anything_else_is_not_a_size(size: object) -> None:
    result = {"resources": [{"uri": "x:a", "name": "a", "size": size}]}
    assert verdict("RES-12", "resources/list", result).status == "fail"


def test_other_blocks_may_have_sizes_of_their_own() -> None:
    block = {"type": "text", "text": "a", "size": "large"}
    assert verdict("RES-12", "tools/call", {"content": [block]}).status == "not_applicable"


# Prompts and completions


def test_a_prompt_that_asks_for_input_first_has_no_messages_to_judge() -> None:
    image = {"role": "user", "content": {"type": "image"}}
    result = {"resultType": "input_required", "messages": [image]}
    assert verdict("PROMPT-05", "prompts/get", result, "2026-07-28").status == "not_applicable"
    assert verdict("PROMPT-05", "prompts/get", result).status == "fail"


def test_a_completion_without_a_total_says_nothing_about_more() -> None:
    for completion in ({"values": ["a"], "hasMore": False}, {"values": [], "total": "5"}, 5):
        found = verdict("COMP-06", "completion/complete", {"completion": completion})
        assert found.status == "not_applicable"


def test_a_completion_with_all_its_values_is_not_asked_for_more() -> None:
    completion = {"values": ["a", "b"], "total": 2}
    assert verdict("COMP-06", "completion/complete", {"completion": completion}).status == "pass"
