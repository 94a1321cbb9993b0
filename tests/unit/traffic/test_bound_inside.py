"""A value that is bound, or varies by its key, varies inside longer texts as well."""

from __future__ import annotations

from typing import Any

import pytest
from case_tables import each_case
from traffic_samples import (
    UUID,
    answer_to_call,
    call,
    cases_of,
    contract,
    is_met,
    notification,
    refused,
    request,
    result,
)

from mcptest.formats.yaml.full import Tagged
from mcptest.matching.case_tags import make_value, read_tag
from mcptest.traffic.varying_values import VaryingStrings, expression_for, is_random

ID = "caf2bc7d"
HEX = "0123456789abcdef0123"


def answers(said: list[tuple[str, Any]], *, keep_values: bool = False) -> list[dict[str, Any]]:
    """What the server says in the contract, message by message."""
    found = cases_of(contract(*said, keep_values=keep_values).text)
    return [each for case in found.values() for key, each in case.items() if key.startswith("out")]


def used(id: Any, /, **beside: Any) -> list[tuple[str, Any]]:
    """The server sends an id among other things, and the client uses it."""
    return [
        ("in", call(1, "add")),
        ("out", result(1, **beside, id=id)),
        ("in", call(2, "get", id=id)),
        ("out", result(2)),
    ]


def beside(text: Any, id: Any = ID) -> Any:
    """The contract for a value beside an id that is used again."""
    return answers(used(id, text=text))[0]["result"]["text"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"added {ID}", "!!ere added /[0-9a-f]{8}/"),
        (f"Added {ID} in 3 ms", r"!!ere Added /[0-9a-f]{8}/ in /\d+(?:\.\d+)?/ ms"),
        (f"{ID}, {ID}.", "!!ere /[0-9a-f]{8}/, /[0-9a-f]{8}/."),
        (f"a/b/{ID}.txt", r"!!ere a\/b\//[0-9a-f]{8}/.txt"),
        (f"note_{ID}", "!!ere note_/[0-9a-f]{8}/"),
        (f'{{"id": "{ID}"}}', '!!ere {"id": "/[0-9a-f]{8}/"}'),
        (ID, "!!re ^[0-9a-f]{8}$"),
        ([f"see {ID}"], ["!!ere see /[0-9a-f]{8}/"]),
        ({"deep": f"see {ID}"}, {"deep": "!!ere see /[0-9a-f]{8}/"}),
    ],
)
def test_a_bound_value_inside_a_text_becomes_an_expression(text: Any, expected: Any) -> None:
    assert beside(text) == expected


@pytest.mark.parametrize("text", [f"x{ID}", f"{ID}0", "caf2", "nothing", ID.upper()])
def test_a_text_in_which_it_is_only_a_part_of_a_word_stays(text: str) -> None:
    assert beside(text) == text


@pytest.mark.parametrize(
    ("id", "text", "expected"),
    [
        ("note-17", "saved note-17", "!!ere saved /[A-Za-z0-9_-]+/"),
        ("alice", "hello alice", "!!ere hello /.+?/"),
        ("a b\nc", "<a b\nc>", r"!!ere </[\s\S]+?/>"),
        (48213, "note 48213 saved", r"!!ere note /\d+/ saved"),
        ("48213", "note 48213 saved", r"!!ere note /\d+/ saved"),
        (UUID, f"made {UUID}", f"!!ere made /{expression_for(UUID)}/"),
        ("note://x/1", "at note://x/1!", "!!ere at /.+?/!"),
    ],
)
def test_the_expression_has_the_shape_of_the_value(id: Any, text: str, expected: str) -> None:
    assert beside(text, id) == expected


@pytest.mark.parametrize(
    ("id", "text"),
    [
        ("n1", "n1 is there"),
        (7, "note 7"),
        (123, "123 bottles"),
        ("alice", "malice and alice_2"),
        (1415, "pi is 3.1415 and 1415.5, or 1,415"),
        ("----", "a ---- b"),
    ],
)
def test_a_short_value_or_a_part_of_something_else_is_not_torn_out(id: Any, text: str) -> None:
    assert beside(text, id) == text


def test_a_bound_value_is_found_in_every_message_also_in_earlier_ones() -> None:
    said = [
        ("in", call(1, "add")),
        ("out", notification("notifications/message", data=f"adding {ID}")),
        ("out", result(1, text=f"added {ID}", id=ID)),
        ("in", call(2, "get", id=ID)),
        ("out", refused(2, f"{ID} is gone")),
        ("out", notification("notifications/resources/updated", uri=f"note://{ID}")),
    ]
    found = answers(said)
    assert found[0]["params"] == {"data": "!!ere adding /[0-9a-f]{8}/"}
    assert found[1]["result"] == {"text": "!!ere added /[0-9a-f]{8}/", "id": "!!bind id"}
    assert found[2]["error"]["message"] == "!!ere /[0-9a-f]{8}/ is gone"
    assert found[3]["params"] == {"uri": r"!!ere note:\/\//[0-9a-f]{8}/"}


def test_an_unused_value_stays_literal() -> None:
    said = [("in", call(1, "add")), ("out", result(1, text=f"added {ID}", id=ID))]
    assert answers(said)[0]["result"] == {"text": f"added {ID}", "id": ID}


def test_values_the_client_sent_first_stay_literal_in_server_messages() -> None:
    said = [
        ("in", call(1, "add", id=ID)),
        ("out", result(1, text=f"added {ID}", id=ID)),
        ("in", call(2, "get", id=ID)),
        ("out", result(2, text=f"got {ID}")),
    ]
    assert [each["result"]["text"] for each in answers(said)] == [f"added {ID}", f"got {ID}"]


def test_a_text_that_the_client_said_stays_with_the_value_in_it() -> None:
    said = [
        *used(ID),
        ("in", call(3, "find", query=f"see {ID}")),
        ("out", result(3, query=f"see {ID}", told=f"you asked: see {ID}")),
    ]
    found = answers(said)[-1]["result"]
    assert found == {"query": f"see {ID}", "told": "!!ere you asked: see /[0-9a-f]{8}/"}


def test_a_duration_stays_no_number_of_the_client() -> None:
    said = [("in", call(1, "add", count=3)), ("out", result(1, text="added 3 in 3 ms"))]
    assert answers(said)[0]["result"] == {"text": r"!!ere added 3 in /\d+(?:\.\d+)?/ ms"}


@pytest.mark.parametrize("key", ["title", "description"])
def test_in_a_title_only_strings_that_are_not_words_count_as_the_value(key: str) -> None:
    assert answers(used(ID, **{key: f"note {ID}"}))[0]["result"][key] == "!!ere note /[0-9a-f]{8}/"
    assert answers(used("note", **{key: "a note"}))[0]["result"][key] == "a note"


def test_a_schema_stays() -> None:
    schema = {"properties": {"id": {"const": ID}}}
    assert answers(used(ID, inputSchema=schema))[0]["result"]["inputSchema"] == schema


def test_a_key_that_is_the_value_is_left_out_and_a_word_stays() -> None:
    assert answers(used(ID, notes={ID: 1, "n": 2}))[0]["result"]["notes"] == {"n": 2}
    assert answers(used("note", notes={"note": 1}))[0]["result"]["notes"] == {"note": 1}


def test_kept_values_stay_in_texts_too() -> None:
    found = answers(used(ID, text=f"added {ID}", notes={ID: 1}), keep_values=True)
    assert found[0]["result"] == {"text": f"added {ID}", "notes": {ID: 1}, "id": ID}


def test_the_id_of_a_request_of_the_server_varies_in_texts_as_well() -> None:
    said = [
        ("in", call(1)),
        ("out", request("ask-4711", "roots/list")),
        ("in", result("ask-4711", roots=[])),
        ("out", result(1, text="answered: ask-4711")),
    ]
    assert answers(said)[1]["result"] == {"text": "!!ere answered: /[A-Za-z0-9_-]+/"}


def test_a_secret_that_is_bound_stays_hidden() -> None:
    said = [
        ("in", call(1, "log_in")),
        ("out", result(1, token="s3cr3t-token", text="your token: s3cr3t-token")),
        ("in", call(2, "get", token="s3cr3t-token")),
        ("out", result(2)),
    ]
    made = contract(*said).text
    assert "s3cr3t" not in made
    assert answers(said)[0]["result"]["text"].startswith("!!ere your token: /")


# What varies by its key


def test_a_value_that_varies_by_its_key_varies_in_other_strings_too() -> None:
    assert answer_to_call(f"session {HEX} is open", session_id=HEX) == (
        "!!ere session /[0-9a-f]{20}/ is open"
    )
    assert answer_to_call("made 1763264999", createdAt=1763264999) == r"!!ere made /\d+/"
    assert answer_to_call(f"session {HEX} is open", name=HEX) == f"session {HEX} is open"


def test_a_value_that_varies_in_a_json_string_varies_in_others_too() -> None:
    text = f'{{"session_id": "{HEX}"}}'
    assert answer_to_call(f"session {HEX}", text=text) == "!!ere session /[0-9a-f]{20}/"


def test_a_number_that_might_be_any_other_is_not_looked_for() -> None:
    assert answer_to_call("4711 rows", pid=4711) == "4711 rows"
    assert answer_to_call("12 s of 60 s", uptime="12 s") == "12 s of 60 s"


# Where it is bound


def test_it_is_bound_where_a_key_says_what_it_is() -> None:
    found = answers(used(ID, label=ID))[0]["result"]
    assert found == {"label": "!!re ^[0-9a-f]{8}$", "id": "!!bind id"}


@pytest.mark.parametrize(
    ("given", "asked"), [("id", "note"), ("uri", "uri"), ("label", "note_id"), ("uri", "path")]
)
def test_a_random_value_is_bound_whatever_one_of_its_keys_is(given: str, asked: str) -> None:
    value = f"note://{ID}" if given == "uri" else ID
    said = [("in", call(1, "add")), ("out", result(1, **{given: value}))]
    made = contract(*said, ("in", call(2, "get", **{asked: value})), ("out", result(2))).text
    assert made.count("!!bind ") == made.count("!!ref ") == 1


@pytest.mark.parametrize(
    ("given", "asked", "value"),
    [("name", "path", ID), ("id", "path", "note-17"), ("uri", "uri", "note://all")],
)
def test_any_other_value_is_sent_as_it_is(given: str, asked: str, value: str) -> None:
    said = [("in", call(1, "add")), ("out", result(1, **{given: value}))]
    made = contract(*said, ("in", call(2, "get", **{asked: value})), ("out", result(2))).text
    assert "!!bind" not in made


def test_a_random_value_that_is_bound_is_used_under_any_key() -> None:
    said = [
        *used(ID),
        ("in", call(3, "find", query=ID)),
        ("out", result(3, found=ID)),
    ]
    made = cases_of(contract(*said).text)["tools/call find"]
    assert made["in"]["params"]["arguments"] == {"query": "!!ref id"}
    assert made["out"]["result"] == {"found": "!!ref id"}


# Warnings


def test_a_value_that_the_client_inserts_into_a_longer_string_is_reported() -> None:
    said = [*used(ID), ("in", call(3, "find", query=f"see {ID}")), ("out", result(3))]
    assert contract(*said).notes == (
        f"tools/call find: the client sends {ID}, which the server sent, inside a longer "
        "string; it is sent again as it is",
    )


def test_an_id_that_occurred_only_inside_a_string_is_reported() -> None:
    said = [
        ("in", call(1, "add")),
        ("out", result(1, text=f"added {ID}")),
        ("in", call(2, "get", id=ID)),
        ("out", result(2)),
    ]
    assert contract(*said).notes == (
        f"tools/call get: the client sends {ID}, which the server sent inside a longer "
        "string; it is sent again as it is",
    )


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("files: report2.txt", {"path": "report2.txt"}),
        ("the note", {"id": "note"}),
        ("n1 is there", {"id": "n1"}),
        ("nothing", {"id": ID}),
    ],
)
def test_values_that_need_not_vary_are_not_reported(text: str, asked: dict[str, str]) -> None:
    said = [("in", call(1)), ("out", result(1, text=text)), ("in", call(2, **asked))]
    assert contract(*said, ("out", result(2))).notes == ()


def test_an_id_that_the_client_inserted_into_a_longer_string_is_not_reported() -> None:
    said = [
        ("in", call(1, id="note-17")),
        ("out", result(1, id="note-17")),
        ("in", call(2, text="see note-17")),
        ("out", result(2)),
    ]
    assert contract(*said).notes == ()


# The parts


@each_case(
    ("text", "expression"),
    [
        ("12", r"\d+"),
        ("1234567", r"\d+"),
        ("12345678", "[0-9A-Za-z]+"),
        ("3.5", r"\d+(?:\.\d+)?"),
        ("-3.5", r"-?\d+(?:\.\d+)?"),
        ("caf2bc7d", "[0-9a-f]{8}"),
        ("CAF2BC7D", "[0-9A-F]{8}"),
        ("caf2", "[A-Za-z0-9_-]+"),
        ("deadbeef", ".+?"),
        ("red", ".+?"),
        ("a\nb", r"[\s\S]+?"),
        ("\u0661" * 9, ".+?"),
    ],
)
def test_an_expression_is_narrow_and_a_mock_can_generate_a_match(
    text: str, expression: str
) -> None:
    assert expression_for(text) == expression
    tag = Tagged(tag="re", text=f"^{expression}$")
    assert is_met(tag, text)
    assert is_met(tag, make_value(read_tag(tag.tag, tag.text)))


def test_the_longest_of_several_values_is_found() -> None:
    varying = VaryingStrings()
    for text in ("note-12345678", "12345678", "note-12345678-b"):
        varying.add_seen(text, text)
    found = [text for *_, text in varying.spans_in("a note-12345678-b 12345678 note-12345678")]
    assert found == ["note-12345678-b", "12345678", "note-12345678"]
    assert "12345678" in varying
    assert "1234567" not in varying


@pytest.mark.parametrize(
    ("text", "expected"),
    [(ID, True), (ID.upper(), True), ("12345678", False), ("deadbeef", False), ("caf2", False)],
)
def test_only_mixed_hexadecimal_digits_are_random(text: str, expected: bool) -> None:
    assert is_random(text) is expected
