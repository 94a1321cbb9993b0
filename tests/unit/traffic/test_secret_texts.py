"""Secrets inside strings are found, and words that only mention them stay."""

from __future__ import annotations

import json
from typing import Any

import pytest
from case_tables import each_case
from traffic_samples import call, cases_of, contract, result

from mcptest.core.likely_secrets import secret_places

JWT = "eyJhbGciOi.eyJzdWIiOi.c2ln-x_y"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----"


def starred(text: str, *, is_prose: bool = False) -> str:
    for start, end in reversed(secret_places(text, is_prose=is_prose)):
        text = f"{text[:start]}*{text[end:]}"
    return text


@each_case(
    ("text", "expected"),
    [
        ("curl -H 'Authorization: Bearer abc.def' x", "curl -H 'Authorization: *' x"),
        ("say Bearer abcdef now", "say * now"),
        ("Basic eDp5", "*"),
        ("export API_KEY=abc", "export API_KEY=*"),
        ("my password: hunter2.", "my password: *."),
        ("password=a,b;c x", "password=* x"),
        ("token=zzz, user=bob", "token=*, user=bob"),
        ("API key: abcd", "API key: *"),
        ("--token=abc", "--token=*"),
        ("password => 'a b' x", "password => '*' x"),
        ('password="a b c" x', 'password="*" x'),
        ("{'password': 'hun ter'}", "{'password': '*'}"),
        (r"\"apiKey\": \"abc\"", r"\"apiKey\": \"*\""),
        ("Cookie: a=b; c=d\nnext", "Cookie: *\nnext"),
        ("cookie=a cookie=b", "cookie=*"),
        ("https://u:p@ss@h/x?b=2", "https://u:*@h/x?b=2"),
        (
            "x://h?api_key=1&b=2&sig=ff%3d#access_token=q",
            "x://h?api_key=*&b=2&sig=*#access_token=*",
        ),
        ("a ghp_abcdef123456 b", "a * b"),
        ("a github_pat_11AB22_xyz b", "a * b"),
        ("a gho_abcdef123456, xoxb-1234-abcd", "a *, *"),
        ("sk-abc12345 AKIAIOSFODNN7EXAMPLE AIzaSyA1234567890", "* * *"),
        (f"got {JWT}, ok", "got *, ok"),
        (f"a {PEM} b", "a * b"),
        ("a -----BEGIN PRIVATE KEY-----\nabc", "a *"),
    ],
)
def test_a_secret_in_a_text_is_found(text: str, expected: str) -> None:
    assert starred(text) == expected


@each_case(
    "text",
    [
        *(
            "The password must have 8 characters",
            "token count: 5",
            "author: Ann",
            "progressToken: 5",
        ),
        *("password: the one that you chose", "invalid token: expired", "Bearer token required"),
        *("Basic usage of tools", "maxTokens=500", "token_type=bearer", "sk-learn is used"),
        *("secret://notes/1", "password: <yours>", "token = ${TOKEN}", "Token::new", "a.b.c eyJ"),
        *("https://h:8080/x?page_token=abc", "user@host: hi", "tokens: 512", "password: ***"),
        '{"maxTokens": 5, "tokens": 12, "author": "x", "password": null, "nextCursor": "abc"}',
        '[{"name": "password", "description": "yours"}, "--verbose", "yes"]',
    ],
)
def test_a_string_that_only_mentions_secrets_stays(text: str) -> None:
    assert secret_places(text) == ()


def test_a_description_has_words_behind_a_colon_and_no_secrets() -> None:
    assert starred("password: swordfish. Bearer something", is_prose=True) == (
        "password: swordfish. Bearer something"
    )
    assert starred("password: hunter22. ghp_abcdef123456", is_prose=True) == "password: *. *"


HELD: dict[str, Any] = {
    "user": "ann",
    "apiKey": "k",
    "pin": 1234,
    "deep": {"tokens": ["t", "u"], "credentials": {"of": "v", "ok": True}},
    "headers": [{"name": "X-Api-Key", "value": "w"}, {"name": "Accept", "value": "any"}],
    "args": ["--password", 'x"\\\n', "--verbose", "--token=y"],
}
HIDDEN = {
    "user": "ann",
    "apiKey": "*",
    "pin": 0,
    "deep": {"tokens": ["*", "*"], "credentials": {"of": "*", "ok": True}},
    "headers": [{"name": "X-Api-Key", "value": "*"}, {"name": "Accept", "value": "any"}],
    "args": ["--password", "*", "--verbose", "--token=*"],
}


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("depth", [0, 1, 3])
def test_json_in_a_text_is_looked_through_however_deep(indent: int | None, depth: int) -> None:
    text = json.dumps(HELD, indent=indent)
    for _ in range(depth):
        text = json.dumps({"text": text}, indent=indent)
    found = starred(text)
    for _ in range(depth):
        found = json.loads(found)["text"]
    assert json.loads(found.replace('"pin": *', '"pin": 0')) == HIDDEN


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('got {"password": "x"} and {"a": 1}', 'got {"password": "*"} and {"a": 1}'),
        ('{"password": "x", "password": "y"}', '{"password": "*", "password": "*"}'),
        (r'{"p\u0061ssword": "x"}', r'{"p\u0061ssword": "*"}'),
        ('}{"password": "x", "b": [', '}{"password": "*", "b": ['),
        ('{"credentials": ' + "[" * 300 + '"x"', '{"credentials": ' + "[" * 300 + '"*"'),
    ],
)
def test_json_that_is_not_whole_is_looked_through_as_well(text: str, expected: str) -> None:
    assert starred(text) == expected


@each_case(
    "piece",
    [
        *("password ", "eyJ-", "a.b", '"\\', "[", "token=,", "://a:", "basic ", "sk-", "Bearer :"),
        *("-----BEGIN PRIVATE KEY-----", ",a", "(", '\\"password', '{"k":', "cookie=a ", "?a="),
        *("password='", "a ", "-", "password: "),
    ],
)
def test_a_text_that_repeats_itself_is_read_to_its_end(piece: str) -> None:
    assert len(secret_places("password: " + piece * 5_000)) <= 5_000


# In a contract


def only_case(*said: tuple[str, Any]) -> tuple[dict[str, Any], list[str]]:
    made = contract(*said)
    (found,) = cases_of(made.text).values()
    return found, [note.partition(": ")[2] for note in made.notes]


def test_a_secret_in_a_longer_text_is_an_expression_or_a_word() -> None:
    found, notes = only_case(
        ("in", call(1, note="use token=abc1 here", url="https://h/?sig=f00", key=JWT)),
        ("out", result(1, text='{"apiKey":"sk-1","n":1}', all=JWT)),
    )
    assert found["in"]["params"]["arguments"] == {
        "note": "use token=REDACTED here",
        "url": "https://h/?sig=REDACTED",
        "key": "!!any",
    }
    assert found["out"]["result"] == {
        "text": r'!!ere {"apiKey":"/[^\s"]+/","n":1}',
        "all": "!!any",
    }
    inside = 'holds a secret inside a longer string; "REDACTED" is sent instead'
    assert notes == [
        f"params.arguments.note {inside}, and the case will not play as recorded",
        f"params.arguments.url {inside}, and the case will not play as recorded",
        "params.arguments.key holds a secret; a made-up string is sent instead",
        "result.text holds a secret, which is left out and not checked",
        "result.all holds a secret, which is left out and not checked",
    ]


def test_a_value_beside_the_name_of_a_secret_is_hidden() -> None:
    pair = {"header": "Authorization", "value": "abc"}
    args = ["--password", "abc", "--user", "ann"]
    found, notes = only_case(("in", call(1, pair=pair, args=args)), ("out", result(1, all=[pair])))
    assert found["in"]["params"]["arguments"] == {
        "pair": {"header": "Authorization", "value": "!!any"},
        "args": ["--password", "!!any", "--user", "ann"],
    }
    assert found["out"]["result"] == {"all": [{"header": "Authorization", "value": "!!any"}]}
    assert len(notes) == 3


def test_a_number_that_is_secret_is_hidden_wherever_else_it_occurs() -> None:
    found, notes = only_case(
        ("in", call(1, pin=987654, other=987654, count=5)),
        ("out", result(1, n=987654, text="pin was 987654", count=5)),
    )
    assert found["in"]["params"]["arguments"] == {"pin": "!!any", "other": "!!any", "count": 5}
    assert found["out"]["result"] == {
        "n": "!!any",
        "text": r'!!ere pin was /[^\s"]+/',
        "count": 5,
    }
    assert len(notes) == 4


def test_a_secret_found_in_a_string_is_hidden_wherever_else_it_occurs() -> None:
    inner = json.dumps({"password": 'hun"ter2'})
    made = contract(
        ("in", call(1, header="Authorization: Bearer swordfish", swordfish=1)),
        ("out", result(1, text=inner, said='a swordfish, hun"ter2', swordfish=2)),
    )
    assert "swordfish" not in made.text
    assert "ter2" not in made.text
    assert "result has a secret for a key" in "".join(made.notes)


def test_very_many_secrets_in_a_text_make_it_any_text() -> None:
    text = " ".join(f"token=abc{n}" for n in range(11))
    found, _ = only_case(("in", call(1)), ("out", result(1, text=text)))
    assert found["out"]["result"] == {"text": "!!type string"}


def test_a_secret_that_is_cut_in_a_name_leaves_nothing_behind() -> None:
    said = {"jsonrpc": "2.0", "id": 1, "method": "resources/read"}
    uri = "x://" + "host/" * 9 + f"?token=q&jwt={JWT * 3}"
    made = contract(("in", {**said, "params": {"uri": uri}}), ("out", result(1)))
    assert "eyJ" not in made.text + "".join(made.notes)
    assert "token=q" not in made.text
