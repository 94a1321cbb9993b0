"""Cases of a contract as entries of a suite: what is asserted, and what is left behind."""

from __future__ import annotations

from typing import Any

import pytest
from migrating import case_of_suite, contract_from, is_met, losses

from mcptest.formats.yaml import read_document


def call(id: object = 1, name: str = "t", arguments: str = "{}") -> str:
    params = f'{{"name": "{name}", "arguments": {arguments}}}'
    return f'{{"jsonrpc": "2.0", "id": {id}, "method": "tools/call", "params": {params}}}'


def answer(result: str, id: object = 1) -> str:
    return f'{{"jsonrpc": "2.0", "id": {id}, "result": {result}}}'


def pair(result: str, arguments: str = "{}") -> str:
    """A case with one request and its answer."""
    return f"in: {call(arguments=arguments)}\nout: {answer(result)}\n"


def entries(text: str) -> list[Any]:
    suite, notes = contract_from(text)
    assert losses(notes) == []
    value: Any = read_document(suite, "").value
    found: list[Any] = value["tools"]
    return found


def asserted(result: str, more: str = "") -> list[tuple[str, Any]]:
    (entry,) = entries(f"case: c\n{more}in: {call()}\nout: {answer(result)}\n")
    return [(each["target"], each["matcher"]) for each in entry["expect"]]


def reasons(text: str) -> list[str]:
    return losses(contract_from(text)[1])


def test_objects_may_have_more_and_arrays_may_not() -> None:
    assert asserted('{"a": {"b": 1, "c": 2}}') == [("result.a", {"partial": {"b": 1, "c": 2}})]
    assert asserted('{"a": {"b": 1}}') == [("result.a.b", {"exact": 1})]
    assert asserted("[1, [2]]") == [("result", {"exact": [1, [2]]})]
    assert asserted('{"a": [{"b": []}]}') == [
        ("result.a", {"partial": [{"b": []}]}),
        ("result.a", {"length": 1}),
        ("result.a[0].b", {"length": 0}),
    ]
    assert asserted('{"a": [{}]}', "_match: exact\n") == [("result", {"exact": {"a": [{}]}})]


def test_tags_become_matchers() -> None:
    wish = '{"a": !!re "^x", "b": !!ere \'a+b /[0-9]+/\', "c": !!type "string|null", "d": !!any , '
    assert asserted(wish + '"e": !!bind name }') == [
        ("result.a", {"type": "string", "regex": "^x"}),
        ("result.b", {"type": "string", "regex": "^a\\+b (?:[0-9]+)$"}),
        ("result.c", {"type": "string|null"}),
        ("result.d", {"any": [{"exists": True}, {"exact": None}]}),
        ("result.e", {"any": [{"exists": True}, {"exact": None}]}),
    ]


def test_patterns_are_patterns_only_where_the_case_says_so() -> None:
    assert asserted('{"a": "match:uuid"}', "_patterns: true\n") == [
        ("result.a", {"pattern": "uuid"})
    ]
    assert reasons(pair('{"a": "match:uuid"}')) == [
        "a string in it begins with match: and is meant literally"
    ]


def test_a_text_that_looks_like_a_reference_stays_a_text() -> None:
    suite, _ = contract_from(pair('"${a}"'))
    assert is_met(case_of_suite(suite), {"result": "${a}"})
    assert not is_met(case_of_suite(suite), {"result": "$${a}"})


def test_requests_one_after_the_other_become_steps_and_names_become_captures() -> None:
    bound = answer('{"id": !!bind ticket }')
    second = call(2, "u", '{"id": !!ref ticket }')
    text = f"in_1: {call()}\nout_1: {bound}\n"
    text += f"in_2: {second}\nout_2: {answer('!!ref ticket', 2)}\n"
    (entry,) = entries(text)
    first, last = entry["steps"]
    assert (first["capture"], last["args"]) == ({"ticket": "result.id"}, {"id": "${ticket}"})
    assert first["expect"] == [{"target": "duration_ms", "matcher": {"gte": 0}}]
    assert last["expect"] == [{"target": "result", "matcher": {"exact": "${ticket}"}}]


def test_marks_are_kept_and_a_case_without_a_name_has_a_number() -> None:
    marks = "_tags: [a]\n_skip: later\n_only: true\n_timeout: 2s\n"
    (entry,) = entries(f"{marks}in: {call()}\nout: {answer('{}')}\n")
    kept = {key: entry[key] for key in ("name", "tags", "skip", "only", "timeout")}
    assert kept == {"name": "case 1", "tags": ["a"], "skip": "later", "only": True, "timeout": "2s"}


def test_keys_that_mean_nothing_to_a_suite_are_noted() -> None:
    _, notes = contract_from(f"_owner: me\n_description: d\nin: {call()}\nout: {answer('{}')}\n")
    assert [(note.reason, note.is_loss) for note in notes] == [
        ("_owner is not a key of mcptest", False),
        ("_description has no counterpart in a suite", False),
    ]


MORE = "it is more than requests, each followed by its response"
PING = '{"jsonrpc": "2.0", "id": 2, "method": "ping"}'
NOTICE = '{"jsonrpc": "2.0", "method": "notifications/x"}'


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            f"in: {PING}\nout: {answer('{}', 2)}\n",
            "it sends ping, and a suite only calls tools",
        ),
        (f"in: {call()}\n", "it does not say what the response must be"),
        (f"in: {NOTICE}\n", MORE),
        (f"in: {call()}\nout_n: {NOTICE}\nout: {answer('{}')}\n", MORE),
        (
            f"in_1: {call()}\nin_2: {PING}\nout_1: {answer('{}')}\nout_2: {answer('{}', 2)}\n",
            MORE,
        ),
        (f"in: [{call()}, {PING}]\n", "it sends a batch"),
        (f"_strict: true\n{pair('{}')}", "with _strict it allows no other messages"),
        ("_before: {command: a}\n" + pair("{}"), "it runs a command before"),
        ("_after: {command: a}\n" + pair("{}"), "it runs a command after"),
        (pair("{}", '{"a": !!any }'), "it sends a generated value"),
    ],
)
def test_a_case_that_no_suite_has_is_left_behind(text: str, reason: str) -> None:
    (found,) = reasons(text)
    assert found.startswith(reason)


def test_a_name_that_another_case_binds_is_left_behind() -> None:
    assert reasons(f"{pair('!!bind a')}---\n{pair('!!ref a')}") == [
        "the value of a is bound by another case or message"
    ]


def test_a_name_that_no_suite_has_is_left_behind() -> None:
    text = f"in_1: {call()}\nout_1: {answer('!!bind a-b')}\nin_2: {call(2)}\n"
    assert reasons(f"{text}out_2: {answer('!!ref a-b', 2)}\n") == [
        "a-b cannot be the name of a value in a suite"
    ]


def test_sessions_that_a_contract_opens_itself_are_left_to_the_suite() -> None:
    hello = '{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": '
    hello += '{"protocolVersion": "2025-06-18", "capabilities": {"roots": {}}}}'
    opening = f"case: opens\nin: {hello}\nout: {answer('{}', 0)}\n"
    cases = [f"case: {name}\n{pair('{}')}" for name in ("early", "in time", "late")]
    text = "---\n".join([cases[0], opening, cases[1], opening, cases[2]])
    suite, notes = contract_from(text)
    assert [(note.test, note.reason) for note in notes] == [
        ("early", "it comes before the session is opened"),
        ("opens", "it opens a session, and a suite does that itself"),
        ("opens", "it opens a session, and a suite does that itself"),
        ("late", "it comes after a second session has been opened"),
    ]
    value: Any = read_document(suite, "").value
    assert [entry["name"] for entry in value["tools"]] == ["in time"]
    assert value["servers"]["s"]["client"] == {"capabilities": {"roots": {}}}
