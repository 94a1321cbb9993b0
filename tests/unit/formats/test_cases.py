"""What a case file compiles to, and every mistake in one with its place."""

from __future__ import annotations

import pytest
from case_tables import each_case

from mcptest.core.errors import FormatError
from mcptest.core.plan import Case, Suite
from mcptest.formats.cases import load_cases
from mcptest.matching.compare import source_of
from mcptest.matching.registry import builtin_registry
from mcptest.protocol.dialogue import Bind, Hook, Ref

CALL = 'in: {jsonrpc: "2.0", id: 1, method: x}'
ANSWER = 'out: {jsonrpc: "2.0", id: 1, result: {}}'


def load(text: str, *, for_mock: bool = False) -> Suite:
    suite, _ = load_cases(text, "c.cases.yaml", builtin_registry(), {}, for_mock=for_mock)
    return suite


def only_case(text: str) -> Case:
    [case] = load(text).cases
    return case


def mistakes(text: str, *, for_mock: bool = False) -> list[tuple[str, int, int]]:
    with pytest.raises(FormatError) as raised:
        load(text, for_mock=for_mock)
    return [
        (found.code, found.line, found.column)
        for found in raised.value.diagnostics
        if found.severity == "error"
    ]


def warnings(text: str) -> list[tuple[str, str]]:
    _, slips = load_cases(text, "c.cases.yaml", builtin_registry(), {})
    return [(mistake.code, mistake.message) for mistake in slips]


def test_turns_are_in_written_order_under_their_keys() -> None:
    case = only_case(f"case: a\n{CALL}\nout_note: {{method: n}}\n{ANSWER}\nin_b: {{method: m}}")
    assert case.dialogue is not None
    seen = [(turn.key, turn.is_ours, turn.kind, turn.line) for turn in case.dialogue.turns]
    assert seen == [
        ("in", True, "request", 2),
        ("out_note", False, "notification", 3),
        ("out", False, "response", 4),
        ("in_b", True, "notification", 5),
    ]
    assert [turn.answers for turn in case.dialogue.turns] == [None, None, 0, None]


def test_repeated_messages_are_kept_and_numbered() -> None:
    case = only_case(f"{CALL}\n{ANSWER}\n{CALL}\n{ANSWER}")
    assert case.dialogue is not None
    assert [turn.key for turn in case.dialogue.turns] == ["in", "out", "in#2", "out#2"]
    assert [turn.answers for turn in case.dialogue.turns] == [None, 0, None, 2]


def test_a_case_has_a_name_a_line_and_what_its_extensions_say() -> None:
    text = f"""\
# About the case.
case: lists
_description: how it lists
_tags: [a, b]
_skip: later
_timeout: 2s
_strict: true
_before: {{command: make, arguments: [x]}}
{CALL}
"""
    case = only_case(text)
    assert (case.name, case.line, case.tags, case.skip) == ("lists", 2, ("a", "b"), "later")
    assert case.timeout_s == 2.0
    assert case.dialogue is not None
    assert case.dialogue.is_strict
    assert case.dialogue.before == Hook(key="_before", command=("make", "x"))
    assert (case.dialogue.comment, case.dialogue.description) == ("About the case.", "how it lists")


def test_a_case_without_a_name_is_called_by_its_number() -> None:
    assert [case.name for case in load(f"{CALL}\n---\n# nothing\n---\n{CALL}").cases] == [
        "case 1",
        "case 2",
    ]


def test_keys_of_others_are_left_alone() -> None:
    text = f"{CALL}\n_vendor: {{anything: [1]}}\n_x: !!any\n"
    assert only_case(text).name == "case 1"
    assert warnings(text) == []


def test_an_extension_that_is_nearly_ours_is_warned_of() -> None:
    [(code, message)] = warnings(f"{CALL}\n_timout: 5")
    assert (code, message) == (
        "W001",
        '"_timout" is not known and is left alone; did you mean "_timeout"?',
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            f'{CALL}\nout: {{id: 1, result: "match:type:string"}}',
            "this text is compared as it is; it is a pattern only with _patterns: true",
        ),
        ("in: {id: 1, method: x}", 'this message has no "jsonrpc": "2.0", and is sent as it is'),
        (
            "in: {jsonrpc: 2.0, id: 1, method: x}",
            'this message has another "jsonrpc": "2.0", and is sent as it is',
        ),
        (
            'in: {jsonrpc: "2.0", id: 77, result: {}}',
            "no request of the server with id 77 comes before this",
        ),
    ],
)
def test_a_probable_typo_causes_a_warning(text: str, message: str) -> None:
    assert warnings(text) == [("W001", message)]


def test_a_plausible_key_causes_no_warning() -> None:
    pattern = f'_patterns: true\n{CALL}\nout: {{id: 1, result: "match:type:string"}}'
    question = 'out: {id: 77, method: ask}\nin: {jsonrpc: "2.0", id: 77, result: {}}'
    assert warnings(pattern) == warnings(question) == []


def message_of(text: str) -> tuple[str, str]:
    with pytest.raises(FormatError) as raised:
        load(text)
    found = raised.value.diagnostics[0]
    return found.message, found.help


def test_a_key_with_a_typo_in_its_prefix_is_recognized_by_its_suffix() -> None:
    message, _ = message_of(f"{CALL}\not_log: {{method: n}}")
    assert message == 'a case has no key "ot_log"; did you mean "out_log"?'


def test_two_names_in_one_document_may_be_two_cases() -> None:
    _, help = message_of(f"case: a\n{CALL}\ncase: b\n{CALL}")
    assert help == "keep one of them; if another document begins here, write --- before it"


def test_examples_in_help_can_be_pasted() -> None:
    for wrong in ("!!re '('", "!!type text", "!!ref 1", "!!ere '/'"):
        _, help = message_of(f"{CALL}\nout: {{id: 1, result: {wrong}}}")
        example = help.removeprefix("for example ")
        bound = "in_0: {method: m, params: !!bind session}\n"
        assert load(f"{bound}{CALL}\nout: {{id: 1, result: {example}}}").cases


def test_binds_and_refs_are_known_with_their_places() -> None:
    text = (
        f"{CALL}\nout: {{id: 1, result: {{a: [!!bind x]}}}}\nin_2: {{method: m, params: !!ref x}}"
    )
    case = only_case(text)
    assert case.dialogue is not None
    _, bound, last = case.dialogue.turns
    assert bound.binds == (Bind(name="x", steps=("result", "a", 0)),)
    assert (last.needs, last.value) == (("x",), {"method": "m", "params": Ref(name="x")})
    assert source_of(bound.value) == {"id": 1, "result": {"a": ["!!bind x"]}}


def test_a_name_bound_in_an_earlier_case_can_be_used() -> None:
    first = f"{CALL}\nout: {{id: 1, result: !!bind x}}"
    assert len(load(f"{first}\n---\nin: {{method: m, params: !!ref x}}").cases) == 2


def test_a_file_that_initialises_needs_no_handshake_before_it() -> None:
    hello = "in: {id: 0, method: initialize}\nout: {id: 0, result: {}}"
    suite = load(f"{CALL}\n---\n{hello}\n---\n{CALL}\n---\n{hello}")
    found = [
        (case.dialogue.needs_session, case.dialogue.opens_session)
        for case in suite.cases
        if case.dialogue
    ]
    assert found == [(False, False), (False, True), (True, False), (False, True)]


def test_a_file_that_never_initialises_needs_the_handshake() -> None:
    dialogue = only_case(CALL).dialogue
    assert dialogue is not None
    assert (dialogue.needs_session, dialogue.opens_session) == (True, False)


def test_the_first_document_may_hold_nothing_but_the_server() -> None:
    suite = load(f"_server: {{command: ./serve, args: [a]}}\n---\n{CALL}")
    assert suite.server is not None
    assert (suite.server.name, suite.server.command) == ("serve", ("./serve", "a"))
    assert [case.name for case in suite.cases] == ["case 1"]


@each_case(
    ("text", "found"),
    [
        (f"case: a\ncase: b\n{CALL}", ("F003", 2, 1)),
        (f"_skip: true\n_skip: true\n{CALL}", ("F003", 2, 1)),
        (f"info: hello\n{CALL}", ("F008", 1, 1)),
        ("in: {id: 1}", ("F008", 1, 1)),
        ("in: []", ("F008", 1, 5)),
        ("in: [{method: a}, 3]", ("F008", 1, 1)),
        (f"{CALL}\nout: [{{id: 1, result: {{}}}}]", ("F008", 2, 1)),
        (f"{CALL}\noutput: text", ("F008", 2, 1)),
        (f'{CALL}\nout: {{id: 1, result: !!re "("}}', ("F015", 2, 22)),
        (f"{CALL}\nout: {{id: 1, result: !!re ''}}", ("F015", 2, 22)),
        (f"{CALL}\nout: {{id: 1, result: !!ere 'a/b'}}", ("F015", 2, 22)),
        (f"{CALL}\nout: {{id: 1, result: !!ere 'a/(/b'}}", ("F015", 2, 22)),
        (f"{CALL}\nout: {{id: 1, result: !!type text}}", ("F013", 2, 22)),
        (f"{CALL}\nout: {{id: 1, result: !!any thing}}", ("F013", 2, 22)),
        (f"{CALL}\nout: {{id: 1, result: !!bind 1x}}", ("F013", 2, 22)),
        ("in: {method: m, params: {a: !!ref x}}", ("F020", 1, 29)),
        (f"{CALL}\nout: {{id: 2, result: {{}}}}", ("F017", 2, 11)),
        (f'{CALL}\nout: {{id: "1", result: {{}}}}', ("F017", 2, 11)),
        (f"{ANSWER}\n{CALL}", ("F017", 1, 27)),
        (f"{CALL}\n{CALL}", ("F017", 2, 26)),
        (f"{CALL}\nout: {{jsonrpc: 2.0, id: 1, result: 1}}", ("F017", 2, 16)),
        (f"{CALL}\nout: {{id: 1, result: 1, error: {{}}}}", ("F017", 2, 32)),
        (f"{CALL}\nresult: 1", ("F006", 2, 1)),
        ("case: a", ("F011", 1, 1)),
        ("# only a comment", ("F011", 1, 1)),
        ("[1, 2]", ("F005", 1, 1)),
        (f"case: 5\n{CALL}", ("F008", 1, 7)),
        (f"{CALL}\n_strict: maybe", ("F008", 2, 10)),
        (f"{CALL}\n_match: loose", ("F008", 2, 9)),
        (f"{CALL}\n_timeout: soon", ("F009", 2, 11)),
        (f"{CALL}\n_before: make", ("F008", 2, 10)),
        (f"{CALL}\n_before: {{arguments: [a]}}", ("F007", 2, 1)),
        (f"{CALL}\n_before: {{command: a, args: [b]}}", ("F006", 2, 23)),
        (f"{CALL}\n---\n{CALL}\n_server: {{command: a}}", ("F014", 4, 1)),
        (f"{CALL}\n_server: {{args: [a]}}", ("F007", 2, 1)),
        (f"{CALL}\n_server: {{command: a, headers: {{}}}}", ("F003", 2, 23)),
        ("_patterns: true\nin: {method: 'match:type:string'}", ("F014", 2, 14)),
        (f"_patterns: true\n{CALL}\nout: {{id: 1, result: 'match:startWith:a'}}", ("F012", 3, 29)),
    ],
)
def test_a_mistake_is_reported_with_its_place(text: str, found: tuple[str, int, int]) -> None:
    assert mistakes(text) == [found]


def test_all_mistakes_of_all_documents_are_reported_in_one_go() -> None:
    text = f"{CALL}\nfoo: 1\n---\nin: 3\n---\n{CALL}\nout: {{id: 9, result: !!type t}}"
    assert [code for code, _, _ in mistakes(text)] == ["F006", "F008", "F017", "F013"]


def test_a_message_to_send_must_be_possible_to_generate() -> None:
    hopeless = r'!!re "^(?=a)(?=b)"'
    assert mistakes(f"in: {{method: m, params: {hopeless}}}") == [("F013", 1, 25)]
    text = f"{CALL}\nout: {{id: 1, result: {hopeless}}}"
    assert load(text).cases
    assert mistakes(text, for_mock=True) == [("F013", 2, 22)]


def test_an_answer_with_an_open_id_belongs_to_the_oldest_request() -> None:
    case = only_case("in_a: {id: 1, method: a}\nin_b: {id: 2, method: b}\nout: {error: {code: 1}}")
    assert case.dialogue is not None
    assert case.dialogue.turns[2].answers == 0


def test_the_answer_of_the_client_knows_the_question_by_its_bound_id() -> None:
    case = only_case("out: {id: !!bind q, method: ask}\nin: {id: !!ref q, result: {}}")
    assert case.dialogue is not None
    assert case.dialogue.turns[1].answers == 0
