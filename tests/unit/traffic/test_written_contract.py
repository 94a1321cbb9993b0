"""The text of a contract: how it looks, and that nothing in a message can leave its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from case_tables import each_case
from traffic_samples import FILE, answer_to_call, call, capture, cases_of, contract, log, result

from mcptest.core.errors import FormatError
from mcptest.formats.yaml.full import Tagged
from mcptest.formats.yaml.writer import json_lines
from mcptest.traffic import contract_text

ROOT = Path(__file__).parents[3]


def test_a_contract_is_written_in_the_style_of_json() -> None:
    said = [
        ("in", call(1)),
        (
            "out",
            result(
                1, content=[{"type": "text", "text": "the time is now 12:34:56"}], isError=False
            ),
        ),
        ("in", call(2)),
    ]
    assert contract_text(log(*said), "folder/tee.ndjson") == (
        "# Made by mcptest from tee.ndjson; edit it as you like.\n"
        "\n---\n"
        "# The client calls the tool get_time, and is answered.\n"
        "case: tools/call get_time\n"
        "in:\n"
        "  {\n"
        '    "jsonrpc": "2.0",\n'
        '    "id": 1,\n'
        '    "method": "tools/call",\n'
        '    "params": {"name": "get_time", "arguments": {}}\n'
        "  }\n"
        "out:\n"
        "  {\n"
        '    "jsonrpc": "2.0",\n'
        '    "id": 1,\n'
        '    "result": {\n'
        '      "content": [\n'
        '        {"type": "text", "text": '
        r"!!ere 'the time is now /\d{1,2}:\d{2}:\d{2}(?:[.,]\d+)?/'}"
        "\n"
        "      ],\n"
        '      "isError": false\n'
        "    }\n"
        "  }\n"
        "\n---\n"
        "# The client calls the tool get_time, and gets no answer.\n"
        "case: tools/call get_time (2)\n"
        "_skip: not answered when it was recorded\n"
        "in:\n"
        "  {\n"
        '    "jsonrpc": "2.0",\n'
        '    "id": 2,\n'
        '    "method": "tools/call",\n'
        '    "params": {"name": "get_time", "arguments": {}}\n'
        "  }\n"
    )


def test_the_contract_in_the_documentation_is_one() -> None:
    page = (ROOT / "docs" / "from-traffic.md").read_text(encoding="utf-8")
    example = page.partition("```yaml\n")[2].partition("```")[0]
    assert list(cases_of(example)) == ["tools/call create_note"]


def test_a_capture_becomes_a_contract_too() -> None:
    text = capture({"request": call(1), "response": result(1, n=1)})
    assert cases_of(contract_text(text, FILE)) == {
        "tools/call get_time": {"in": call(1), "out": result(1, n=1)}
    }


HOSTILE = [
    "---",
    "\n---\ncase: mine\n",
    "# no comment",
    "a # b",
    "'",
    '"',
    '", "admin": true, "x": "',
    "}\n}\nin_2: {}",
    "!!re .*",
    "!!python/object:os.system",
    "&a *a",
    "\\",
    "\\n",
    "\\/",
    "\x00\x07\x1b[31m\x7f\x85\x9f",
    "\u2028\u2029\ufeff\u202e",
    "\U0001f600\U000e0001",
    "null",
    "~",
    "1e3",
    "${HOME}",
    "match:type:string",
    "%YAML 1.1",
    "? a : b",
    "x" * 5000,
    "\t\ttabs",
    " ",
    "",
]


@each_case("text", HOSTILE)
def test_a_hostile_string_is_read_back_unchanged(text: str) -> None:
    assert answer_to_call(text) == text
    assert answer_to_call({text: 1}) == {text: 1}


@each_case("text", HOSTILE)
def test_a_hostile_name_is_one_line_of_visible_characters(text: str) -> None:
    made = contract(("in", call(1, text)), ("out", result(1)))
    assert all(line.isprintable() for line in made.text.split("\n"))
    (found,) = cases_of(made.text).values()
    assert found["in"] == call(1, text)


@each_case("text", HOSTILE)
def test_a_hostile_text_in_a_file_name_stays_a_comment(text: str) -> None:
    made = contract_text(log(("in", call(1)), ("out", result(1))), f"{text}/{text}")
    assert list(cases_of(made)) == ["tools/call get_time"]


@pytest.mark.parametrize(
    "value", [10**300, -(10**4000), 1e300, 5e-324, -0.0, 0.1, 12345678901234567890, [[[]]], {}]
)
def test_any_number_is_read_back_unchanged(value: object) -> None:
    assert json.dumps(answer_to_call(value)) == json.dumps(value)


def test_a_message_may_be_as_deep_as_can_be_read() -> None:
    value: Any = 1
    for _ in range(190):
        value = [value]
    assert answer_to_call(value) == value


def test_a_contract_is_valid_yaml_for_other_readers() -> None:
    made = contract(("in", call(1, "\n'\"\u2028")), ("out", result(1, text="\x85 \\ / # ---")))
    documents = [each for each in yaml.safe_load_all(made.text) if each]
    assert documents[0]["out"]["result"] == {"text": "\x85 \\ / # ---"}


@pytest.mark.parametrize(
    ("tag", "written"),
    [
        (Tagged(tag="any", text=""), "!!any"),
        (Tagged(tag="type", text="string"), "!!type string"),
        (Tagged(tag="bind", text="a_2"), "!!bind a_2"),
        (Tagged(tag="re", text="^a's$"), "!!re '^a''s$'"),
        (Tagged(tag="ere", text='a\n"/\\d/'), '!!ere "a\\n\\"/\\\\d/"'),
        (Tagged(tag="re", text="null"), "!!re null"),
    ],
)
def test_a_tag_is_written_so_that_it_is_read_as_such(tag: Tagged, written: str) -> None:
    message = {"jsonrpc": "2.0", "result": {"a": tag, "b": [tag], "c": tag}, "id": 1}
    asked = {"jsonrpc": "2.0", "method": "x", "id": 1}
    text = "\n".join(["case: a", *json_lines("in", asked), *json_lines("out", message), ""])
    assert f'"a": {written}' in text
    (found,) = cases_of(text).values()
    read = f"!!{tag.tag} {tag.text}".strip()
    assert found["out"]["result"] == {"a": read, "b": [read], "c": read}


# What no file can hold, or no contract ask for


def test_a_lone_surrogate_is_repaired_where_it_is_sent_and_any_string_where_it_is_expected() -> (
    None
):
    half = "a\ud800b"
    said = [
        ("in", call(1, x=half, **{half: 1})),
        ("out", result(1, text=half, both=f"{half} 12:34:56", **{half: 1})),
    ]
    made = contract(*said)
    (found,) = cases_of(made.text).values()
    assert found["in"]["params"]["arguments"] == {"x": "a\ufffdb", "a\ufffdb": 1}
    assert found["out"]["result"] == {"text": "!!type string", "both": "!!type string"}
    assert len(made.notes) == 2


def test_a_version_that_is_none_is_not_asked_for() -> None:
    said = [("in", call(1)), ("out", result(1, n=1) | {"jsonrpc": "1.0"})]
    assert cases_of(contract(*said).text)["tools/call get_time"]["out"] == {
        "id": 1,
        "result": {"n": 1},
    }


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        ({"result": {"n": 1}, "error": None}, {"result": {"n": 1}}),
        ({"result": None, "error": {"code": 1}}, {"error": {"code": 1}}),
        ({"result": 1, "error": {"code": 1}}, {"error": {"code": 1}}),
    ],
)
def test_only_one_of_result_and_error_is_expected(
    answer: dict[str, Any], kept: dict[str, Any]
) -> None:
    said = [("in", call(1)), ("out", {"jsonrpc": "2.0", "id": 1, **answer})]
    found = cases_of(contract(*said).text)["tools/call get_time"]["out"]
    assert found == {"jsonrpc": "2.0", "id": 1, **kept}


def test_a_recording_with_nothing_but_answers_to_nothing_is_refused() -> None:
    with pytest.raises(FormatError) as caught:
        contract_text(log(("out", result(1))), FILE)
    (found,) = caught.value.diagnostics
    assert found.message == "no message of this file can be in a contract"


@pytest.mark.slow
def test_an_unreadable_contract_is_refused() -> None:
    said = [("in", call(1)), ("out", result(1, all=list(range(1_000_001))))]
    with pytest.raises(FormatError) as caught:
        contract_text(log(*said), FILE)
    (found,) = caught.value.diagnostics
    assert (found.code, found.message) == ("F004", "there is too much traffic in this file")
    assert found.help == "a case file may hold 1,000,000 values; record less at a time"


def test_a_contract_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcptest.traffic.contract.MAX_TEXT_BYTES", 1000)
    said = [("in", call(1)), ("out", result(1, text="\x00" * 200))]
    with pytest.raises(FormatError) as caught:
        contract_text(log(*said), FILE)
    (found,) = caught.value.diagnostics
    assert found.code == "F004"
    assert found.message.endswith("bytes (limit 1,000)")
