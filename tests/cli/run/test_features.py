"""What a test file can say beyond a raw request and its answer, against a real server."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from console import Ended, mcptest, write_suite

FEATURES = Path(__file__).parents[2] / "servers" / "feature_server.py"


def features(**keys: Any) -> dict[str, Any]:
    args = ["-S", "-E", str(FEATURES), "tally"]
    return {"name": "features", "command": sys.executable, "args": args, **keys}


def said(words: str) -> dict[str, Any]:
    return {"response": {"result": {"content": [{"type": "text", "text": words}]}}}


def echo(words: str, **keys: Any) -> dict[str, Any]:
    return {
        "it": words,
        "tool": "echo",
        "arguments": {"text": words},
        "expect": said(words),
        **keys,
    }


def run(folder: Path, *tests: dict[str, Any], words: tuple[str, ...] = (), **server: Any) -> Ended:
    write_suite(folder / "a.test.mcp.yml", *tests, server=features(**server))
    return mcptest(folder, "run", "a.test.mcp.yml", "--json", *words)


def results(ended: Ended) -> list[dict[str, Any]]:
    return [test for suite in ended.report()["suites"] for test in suite["tests"]]


def statuses(ended: Ended) -> list[str]:
    return [test["status"] for test in results(ended)]


# Short forms

FORMS: list[tuple[dict[str, Any], Any]] = [
    ({"tool": "echo", "arguments": {"text": "hi"}}, {"content": [{"type": "text", "text": "hi"}]}),
    ({"tool": "echo"}, {"content": [{"type": "text", "text": ""}]}),
    (
        {"resource": "memo://one"},
        {"contents": [{"uri": "memo://one", "text": "this is memo://one"}]},
    ),
    (
        {"prompt": "greet", "arguments": {"who": "Ada"}},
        {"messages": [{"role": "user", "content": {"type": "text", "text": "Hello Ada"}}]},
    ),
    ({"list": "resources"}, {"resources": [{"uri": "memo://one", "name": "one"}]}),
    ({"list": "prompts"}, {"prompts": "match:arrayLength:1"}),
    ({"list": "resourceTemplates"}, {"resourceTemplates": "match:arrayLength:1"}),
    ({"list": "tools"}, {"tools": "match:arrayLength:7"}),
]


def test_a_short_form_has_its_envelope_from_us(tmp_path: Path) -> None:
    tests = [
        {"it": f"form {index}", **form, "expect": {"response": {"result": result}}}
        for index, (form, result) in enumerate(FORMS)
    ]
    ended = run(tmp_path, *tests)
    assert (ended.code, statuses(ended)) == (0, ["passed"] * len(FORMS))


def test_a_short_form_fails_where_its_result_differs(tmp_path: Path) -> None:
    ended = run(tmp_path, echo("hi") | {"expect": said("ho")})
    (test,) = results(ended)
    assert (ended.code, test["mismatches"][0]["path"]) == (1, "result.content[0].text")


# Captures


@pytest.mark.long
def test_a_captured_value_is_used_by_later_tests_with_its_type(tmp_path: Path) -> None:
    create = {
        "it": "creates",
        "tool": "new_id",
        "expect": {"response": {"match:partial": {"result": {}}}},
        "capture": {"id": "result.structuredContent.id", "name": "result.structuredContent.name"},
    }
    create["expect"] = {"response": {"match:partial": {"result": {"content": "match:exists"}}}}
    whole = echo("${name}", it="as a whole")
    inside = echo("id ${id} of $${id}", it="inside") | {"expect": said("id 4711 of $${id}")}
    number = {
        "it": "as a number",
        "tool": "sleep",
        "arguments": {"ms": "${id}"},
        "timeout": "200ms",
        "expect": {"response": "match:exists"},
    }
    pattern = echo("4711", it="in a pattern") | {"expect": said("match:contains:${id}")}
    ended = run(tmp_path, create, whole, inside, pattern, number)
    # The server sleeps for a number of milliseconds; a text would have been an error at once.
    assert statuses(ended) == ["passed", "passed", "passed", "passed", "error"]
    assert results(ended)[-1]["error"]["kind"] == "timeout"


def test_a_failed_capture_fails_the_test_and_tests_that_need_it_are_errors(tmp_path: Path) -> None:
    capture = echo("hi", capture={"id": "result.structuredContent.id"})
    ended = run(tmp_path, capture, echo("${id}", it="needs it"), echo("fine"))
    first, second, third = results(ended)
    assert (first["status"], second["status"], third["status"]) == ("failed", "error", "passed")
    assert first["mismatches"][0]["path"] == "result.structuredContent.id"
    assert "nothing to capture as 'id'" in first["mismatches"][0]["message"]
    assert second["error"]["kind"] == "missing_capture"
    assert "${id}" in second["error"]["message"]


def test_a_captured_value_that_makes_no_sense_where_it_is_used_is_an_error(tmp_path: Path) -> None:
    capture = echo("no number", capture={"n": "result.content[0].text"})
    use = echo("1", it="uses it") | {"expect": said("match:length:${n}")}
    ended = run(tmp_path, capture, use)
    assert results(ended)[1]["error"]["kind"] == "unusable_capture"
    assert '"no number"' in results(ended)[1]["error"]["message"]


def test_values_captured_in_one_file_are_unknown_in_the_next(tmp_path: Path) -> None:
    first = echo("hi", capture={"t": "result.content[0].text"})
    write_suite(tmp_path / "a.test.mcp.yml", first, server=features())
    own = echo("ho", capture={"u": "result.content[0].text"})
    write_suite(tmp_path / "b.test.mcp.yml", echo("${t}"), own, server=features())
    ended = mcptest(tmp_path, "run", ".", "--json")
    assert ended.code == 2
    (mistake,) = ended.report()["error"]["diagnostics"]
    assert (mistake["code"], mistake["file"]) == ("F020", "b.test.mcp.yml")


def test_without_any_capture_a_dollar_brace_is_plain_text(tmp_path: Path) -> None:
    assert run(tmp_path, echo("costs ${price}")).code == 0


# Questions to the client


@pytest.mark.parametrize(
    ("client", "method", "answers"),
    [
        (
            {"roots": ["file:///a", {"uri": "file:///b", "name": "B"}]},
            "roots/list",
            [{"roots": [{"uri": "file:///a"}, {"uri": "file:///b", "name": "B"}]}] * 2,
        ),
        (
            {"sampling": "Paris"},
            "sampling/createMessage",
            [
                {
                    "role": "assistant",
                    "content": {"type": "text", "text": "Paris"},
                    "model": "mcptest",
                }
            ]
            * 2,
        ),
        (
            {"elicitation": [{"action": "accept", "content": {"a": 1}}, "decline"]},
            "elicitation/create",
            [
                {"action": "accept", "content": {"a": 1}},
                {"action": "decline"},
                {
                    "code": -32603,
                    "message": "the client's script has no further answer to elicitation/create",
                },
            ],
        ),
        (
            {"sampling": {"error": {"code": -1, "message": "no"}}},
            "sampling/createMessage",
            [{"code": -1, "message": "no"}],
        ),
        (
            {},
            "roots/list",
            [{"code": -32601, "message": "the client does not offer roots/list"}],
        ),
    ],
)
def test_the_server_is_answered_from_the_script(
    tmp_path: Path, client: dict[str, Any], method: str, answers: list[Any]
) -> None:
    tests = [
        {
            "it": f"asks {number}",
            "tool": "ask",
            "arguments": {"method": method},
            "expect": said(json.dumps(answer)),
        }
        for number, answer in enumerate(answers)
    ]
    ended = run(tmp_path, *tests, client=client)
    assert (ended.code, statuses(ended)) == (0, ["passed"] * len(answers))


# Notifications


def notified(*wanted: object, **given: object) -> dict[str, Any]:
    return {
        "it": "notifies",
        "tool": "notify",
        "arguments": given,
        "expect": {"notifications": list(wanted)},
    }


FIRST = {"method": "notifications/message", "params": {"level": "info", "data": "first"}}
SECOND = {"match:partial": {"params": {"data": "second"}}}
LATE = {"match:partial": {"params": {"data": "late"}}}


def test_notifications_in_the_expected_order_match(tmp_path: Path) -> None:
    ended = run(
        tmp_path,
        notified(FIRST, SECOND),
        notified("notifications/message", "match:endsWith:/message"),
        notified(SECOND),
        notified(FIRST, LATE, when="later"),
        echo("after it all"),
    )
    assert (ended.code, statuses(ended)) == (0, ["passed"] * 5)


@pytest.mark.long
def test_a_notification_that_does_not_arrive_is_a_mismatch(tmp_path: Path) -> None:
    ended = run(tmp_path, notified(SECOND, FIRST), notified("notifications/progress"))
    first, second = (test["mismatches"][0] for test in results(ended))
    assert first["path"] == "notifications[1]"
    assert first["hint"] == "one came earlier; the order matters"
    assert second["expected"] == "notifications/progress"
    assert second["path"] == "notifications[0]"
    assert "2 came: notifications/message" in second["message"]


# Choosing tests


def test_only_leaves_the_others_of_its_file_out_and_says_so(tmp_path: Path) -> None:
    ended = run(tmp_path, echo("a"), echo("b", only=True), echo("c"))
    assert statuses(ended) == ["skipped", "passed", "skipped"]
    assert results(ended)[0]["reason"] == "another test of this file says only"
    assert [warning["code"] for warning in ended.report()["warnings"]] == ["W002"]


TAGGED = (echo("a", tags=["slow", "net"]), echo("b", tags="net"), echo("c"))


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (("--tag", "net"), ["a", "b"]),
        (("--tag", "net", "--skip-tag", "slow"), ["b"]),
        (("--skip-tag", "net"), ["c"]),
        (("--tag", "slow", "--tag", "net"), ["a", "b"]),
        (("-k", "b", "-k", "c"), ["b", "c"]),
        (("-k", "b", "-k", "c", "--tag", "net"), ["b"]),
    ],
)
def test_tags_and_names_choose_tests(
    tmp_path: Path, words: tuple[str, ...], names: list[str]
) -> None:
    ended = run(tmp_path, *TAGGED, words=words)
    assert [test["name"] for test in results(ended)] == names


def test_an_unknown_tag_selects_nothing_and_the_known_tags_are_listed(tmp_path: Path) -> None:
    ended = run(tmp_path, *TAGGED, words=("--tag", "nett"))
    assert ended.code == 7
    message = ended.report()["error"]["message"]
    assert "did you mean 'net'?" in message
    assert "tags there are: net, slow" in message


# Trying again


def flaky(until: int, **keys: Any) -> dict[str, Any]:
    given = {"until": until}
    return {"it": "flaky", "tool": "flaky", "arguments": given, "expect": said("ok"), **keys}


def test_a_test_that_passes_at_last_is_flaky_and_says_what_happened(tmp_path: Path) -> None:
    ended = run(tmp_path, flaky(3), words=("--retries", "4"))
    (test,) = results(ended)
    assert (ended.code, test["status"], test["attempts"]) == (0, "passed", 3)
    assert ended.report()["summary"]["flaky"] == 1
    assert [note[:30] for note in test["notes"]] == [
        "attempt 1: failed at result.co",
        "attempt 2: failed at result.co",
    ]


def test_a_test_that_never_passes_fails_after_its_last_try(tmp_path: Path) -> None:
    ended = run(tmp_path, flaky(9, retries=1), words=("--retries", "7"))
    (test,) = results(ended)
    assert (ended.code, test["status"], test["attempts"]) == (1, "failed", 2)
    assert (tmp_path / "tally").read_text(encoding="utf-8") == "xx"
    assert ended.report()["summary"]["flaky"] == 0


def test_without_retries_a_test_is_tried_once(tmp_path: Path) -> None:
    assert run(tmp_path, flaky(2)).code == 1
    assert (tmp_path / "tally").read_text(encoding="utf-8") == "x"


# Coverage


def test_coverage_counts_what_was_called_and_given(tmp_path: Path) -> None:
    note = {"it": "note", "resource": "memo://notes/x", "expect": {"response": "match:exists"}}
    ended = run(tmp_path, echo("a"), echo("b"), note)
    (server,) = ended.report()["coverage"]["servers"]
    tools = {tool["name"]: tool for tool in server["tools"]}
    assert tools["echo"]["calls"] == 2
    assert tools["echo"]["properties"] == [
        {"name": "text", "calls": 2},
        {"name": "loud", "calls": 0},
    ]
    assert tools["sleep"]["calls"] == 0
    assert [each["calls"] for each in server["resources"]] == [0]
    assert [each["calls"] for each in server["resourceTemplates"]] == [1]
    assert [each["calls"] for each in server["prompts"]] == [0]
    # 10 offers and 8 properties; echo, its text and the notes were used.
    assert ended.report()["coverage"]["percent"] == pytest.approx(100 * 3 / 18, abs=0.1)


@pytest.mark.parametrize(("percent", "code"), [("16.6", 0), ("16.7%", 6)])
def test_a_gate_that_is_not_reached_is_6(tmp_path: Path, percent: str, code: int) -> None:
    note = {"it": "note", "resource": "memo://notes/x", "expect": {"response": "match:exists"}}
    ended = run(tmp_path, echo("a"), note, words=("--min-coverage", percent))
    assert ended.code == code
    assert len(ended.report().get("gates", [])) == (1 if code else 0)


def test_a_failure_counts_more_than_a_gate(tmp_path: Path) -> None:
    wrong = echo("a") | {"expect": said("b")}
    assert run(tmp_path, wrong, words=("--min-coverage", "99")).code == 1


# The log of a test


@pytest.mark.long
def test_a_failure_has_its_messages_in_the_report_and_a_pass_only_when_asked(
    tmp_path: Path,
) -> None:
    tests = (echo("fine"), notified(LATE), echo("x") | {"expect": said("y")})
    plain = results(run(tmp_path, *tests))
    assert "log" not in plain[0]
    assert [line["direction"] for line in plain[1]["log"]] == [
        "sent",
        "received",
        "received",
        "received",
    ]
    assert json.loads(plain[2]["log"][1]["text"])["result"]["content"][0]["text"] == "x"
    verbose = results(run(tmp_path, *tests, words=("-v",)))
    assert [line["direction"] for line in verbose[0]["log"]] == ["sent", "received"]


def test_a_long_log_is_shortened(tmp_path: Path) -> None:
    ended = run(tmp_path, echo("x" * 100_000, it="long") | {"expect": said("y")})
    (test,) = results(ended)
    assert [len(line["text"]) < 5000 for line in test["log"]] == [True, True]


# What a server that ends leaves


def test_a_server_that_is_to_end_is_asked_before_what_it_offers(tmp_path: Path) -> None:
    """The feature server ends with status 1 when it is asked for what it does not know."""
    end = {
        "it": "ends",
        "request": {"jsonrpc": "2.0", "id": 1, "method": "no/such"},
        "expect": {"exitCode": 1},
    }
    ended = run(tmp_path, echo("a"), end)
    assert statuses(ended) == ["passed", "passed"]
    assert ended.report()["coverage"]["percent"] > 0


def test_words_after_two_dashes_start_the_server(tmp_path: Path) -> None:
    write_suite(tmp_path / "a.test.mcp.yml", echo("a"))
    command = (features()["command"], *features()["args"])
    assert mcptest(tmp_path, "run", "a.test.mcp.yml", "--", *command).code == 0
    both = mcptest(tmp_path, "run", ".", "--server-command", "x", "--", *command)
    assert both.code == 2
    assert "--server-command and the words after -- both name a server" in both.err


# Server output stays a value


@pytest.mark.parametrize(
    "value", ["match:type:string", "match:contains:", "match:regex:(", "toBeEmpty"]
)
def test_a_captured_text_that_looks_like_a_pattern_is_compared_as_text(
    tmp_path: Path, value: str
) -> None:
    keep = echo(value, capture={"v": "result.content[0].text"})
    keep["expect"] = {"response": {"match:partial": {"result": {"content": "match:notEmpty"}}}}
    same, other = echo("${v}", it="same"), echo("other") | {"expect": said("${v}")}
    longer = echo("${v}!", it="longer")
    _, *rest = results(run(tmp_path, keep, same, longer, other))
    assert [test["status"] for test in rest] == ["passed", "passed", "failed"]
    assert rest[-1]["mismatches"][0]["expected"] == value


def test_a_captured_object_that_looks_like_a_directive_is_compared_as_it_is(
    tmp_path: Path,
) -> None:
    hostile: dict[str, Any] = {"match:partial": {}}
    ask = {"it": "keeps", "tool": "echo", "arguments": {"text": json.dumps(hostile)}}
    ask |= {"expect": {"response": "match:exists"}, "capture": {"v": "result.content[0]"}}
    use = {"it": "uses", "tool": "echo", "arguments": {"text": "x"}}
    use |= {"expect": {"response": {"result": {"content": ["${v}"]}}}}
    assert statuses(run(tmp_path, ask, use)) == ["passed", "failed"]


def test_a_captured_value_cannot_choose_the_matcher_or_the_file(tmp_path: Path) -> None:
    keep = echo("x", capture={"v": "result.content[0].text"})
    wrong = [echo("x") | {"expect": said(text)} for text in ("match:${v}", "match:not:${v}:x")]
    wrong.append(echo("x") | {"expect": said("match:jsonSchema:${v}")})
    ended = run(tmp_path, keep, *wrong)
    codes = [found["code"] for found in ended.report()["error"]["diagnostics"]]
    assert (ended.code, codes.count("F013")) == (2, 3)


@pytest.mark.parametrize("key", ["text", "match:partial"])
def test_a_captured_key_that_takes_another_ones_place_is_an_error(tmp_path: Path, key: str) -> None:
    keep = echo(key, capture={"k": "result.content[0].text"})
    keep["expect"] = {"response": "match:exists"}
    use = {"it": "uses", "tool": "echo", "arguments": {"text": "a", "${k}": "b"}}
    use |= {"expect": {"response": "match:exists"}}
    _, second = results(run(tmp_path, keep, use))
    assert second["error"]["kind"] == "unusable_capture"


SPLITS = {"properties": {"x": {"$ref": "#/$defs/n"}}}
ENDLESS_SCHEMA = {
    "$defs": {"n": {"anyOf": [SPLITS | {"required": ["y"]}, SPLITS | {"required": ["z"]}]}},
    "$ref": "#/$defs/n",
}


@pytest.mark.long
def test_a_schema_that_never_ends_is_stopped(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text(json.dumps(ENDLESS_SCHEMA), encoding="utf-8")
    wanted = {"response": {"result": {"structuredContent": "match:jsonSchema:s.json"}}}
    deep = {"it": "deep", "tool": "deep", "arguments": {"levels": 60}, "expect": wanted}
    first, second = results(run(tmp_path, deep, echo("goes on")))
    assert first["error"]["kind"] == "pattern_too_slow"
    assert second["status"] == "passed"


def test_lists_that_never_end_leave_the_coverage_unknown(tmp_path: Path) -> None:
    ended = run(tmp_path, echo("a"), words=("--min-coverage", "1"), env={"ENDLESS_LISTS": "1"})
    assert (ended.code, statuses(ended)) == (6, ["passed"])
    assert "could not say what it offers" in ended.report()["gates"][0]
