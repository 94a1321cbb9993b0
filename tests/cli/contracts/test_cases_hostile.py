"""Case files and servers that try to fool or to stop the runner."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pytest
from console import mcptest
from console import run as run_words
from test_cases_run import HANDSHAKE, document, request, result, results, run, statuses

NOTE = {"jsonrpc": "2.0", "method": "notifications/message"}


@pytest.mark.long
def test_an_expression_that_never_finishes_is_a_mistake_in_the_message_to_send(
    tmp_path: Path,
) -> None:
    pattern = "!!re '^(([0-9a-f-]+)+)+Z!(?=x)$'"
    text = f'in: {{"jsonrpc": "2.0", "id": 1, "method": "x", "params": {{"a": {pattern}}}}}'
    (tmp_path / "a.cases.yaml").write_text(text, encoding="utf-8")
    ended = mcptest(tmp_path, "validate", "a.cases.yaml")
    assert (ended.code, "error[F013]" in ended.err) == (2, True)


@pytest.mark.parametrize("document", ["", "{}\n", "case: a\n", "# nothing\n"])
def test_very_many_documents_are_refused_at_once(document: str, tmp_path: Path) -> None:
    (tmp_path / "a.cases.yaml").write_text(f"---\n{document}" * 300_000, encoding="utf-8")
    began = time.monotonic()
    words = [sys.executable, "-m", "mcptest", "validate", "a.cases.yaml"]
    ended = run_words(["bash", "-c", 'ulimit -v 300000; exec "$0" "$@"', *words], tmp_path, {})
    assert time.monotonic() - began < 10
    assert (ended.code, ended.out) == (2, "")
    assert "error[F004]: the file has 300,000 documents (limit 60,000)\n" in ended.err


def test_the_first_of_very_many_mistakes_are_shown_and_the_rest_counted(tmp_path: Path) -> None:
    (tmp_path / "a.cases.yaml").write_text("---\ncase: a\n" * 2_000, encoding="utf-8")
    ended = mcptest(tmp_path, "validate", "a.cases.yaml")
    assert ended.code == 2
    assert ended.err.count("error[F011]: a case without messages checks nothing\n") == 100
    assert "there are 1,900 more like these in this file, which are not shown\n" in ended.err
    (tmp_path / "a.cases.yaml").write_text("---\ncase: a\n" * 100, encoding="utf-8")
    ended = mcptest(tmp_path, "validate", "a.cases.yaml")
    assert ended.err.count("error[F011]: a case without messages checks nothing\n") == 100
    assert "more like these" not in ended.err


@pytest.mark.parametrize("command", ["validate", "run", "mock", "docs"])
def test_a_directive_beside_the_members_of_a_message_is_a_mistake(
    command: str, tmp_path: Path
) -> None:
    keys = {"in": request("echo", 1), "out": result(1) | {"match:partial": {"id": 1}}}
    text = document("mixed", _patterns=True, **keys)
    (tmp_path / "a.cases.yaml").write_text(text, encoding="utf-8")
    ended = mcptest(tmp_path, command, "a.cases.yaml")
    assert ended.code == 2
    said = 'error[F014]: "match:partial" cannot be beside the members of a message\n'
    assert said in ended.err


def test_a_directive_inside_of_a_result_is_none(tmp_path: Path) -> None:
    wanted = result(1, **{"match:partial": {"echo": {"a": 1}}, "match:any": [{"echo": {"a": 1}}]})
    keys = {"in": request("echo", 1, a=1), "out": wanted}
    assert statuses(run(tmp_path, document("within", _patterns=True, **keys))) == ["passed"]


@pytest.mark.parametrize("method", [5, None, ["a"], {}])
def test_a_method_that_is_not_a_string_is_sent_and_reported(method: object, tmp_path: Path) -> None:
    sent = {"jsonrpc": "2.0", "id": 1, "method": method}
    ended = run(tmp_path, document("odd", **{"in": sent, "out": result(x=1), "_timeout": 200}))
    # A server may answer with an error, not at all, or exit; each is reported.
    assert (ended.code, statuses(ended)[0] in ("failed", "error")) == (1, True)


def test_two_open_requests_that_turn_out_to_share_an_id_are_not_sent(tmp_path: Path) -> None:
    keys = {"in_a": request("never", "!!any"), "in_b": request("never", "!!any")}
    [test] = results(run(tmp_path, document("same", **keys)))
    assert (test["status"], test["error"]["kind"]) == ("error", "unusable_capture")


def test_an_id_that_is_an_object_with_a_tag_causes_no_error(tmp_path: Path) -> None:
    keys = {"in": request("echo", {"a": "!!any"}), "out": result({"a": "!!any"}, echo=None)}
    assert statuses(run(tmp_path, document("odd id", **keys))) == ["passed"]


def test_an_answer_that_arrived_before_its_request_is_not_an_answer(tmp_path: Path) -> None:
    early = document(
        "early",
        in_a=request("predicts", 1),
        out_a=result(1),
        in_b=request("never", 2),
        out_b=result(2),
        _timeout=300,
    )
    [test] = results(run(tmp_path, early))
    assert test["status"] == "failed"
    assert [found["path"] for found in test["mismatches"]] == ["surplus"]


def test_a_ref_above_a_bind_of_the_same_name_means_the_value_from_before(tmp_path: Path) -> None:
    first = document(
        "first", **{"in": request("echo", k="A"), "out": result(echo={"k": "!!bind k"})}
    )
    right = request("echo", prev="A", next="B")
    wrong = request("echo", prev="B", next="B")
    both = result(echo={"prev": "!!ref k", "next": "!!bind k"})
    below = result(echo={"prev": "!!bind k", "next": "!!ref k"})
    ended = run(tmp_path, first, document("right", **{"in": right, "out": both}))
    assert statuses(ended) == ["passed", "passed"]
    ended = run(tmp_path, first, document("wrong", **{"in": wrong, "out": both}))
    assert statuses(ended) == ["passed", "failed"]
    ended = run(tmp_path, first, document("below", **{"in": wrong, "out": below}))
    assert statuses(ended) == ["passed", "passed"]


def test_a_hook_ends_nothing_that_belongs_to_the_server(tmp_path: Path) -> None:
    starts = document("starts", **{"in": request("helper"), "out": result()})
    hook = {"command": sys.executable, "arguments": ["-c", "pass"]}
    hooked = document("hooked", _before=hook, **{"in": request("echo"), "out": result(echo=None)})
    alive = document("alive", **{"in": request("has_helper"), "out": result(alive=True)})
    assert statuses(run(tmp_path, starts, hooked, alive)) == ["passed"] * 3


def test_a_question_with_a_described_method_is_left_to_the_case(tmp_path: Path) -> None:
    case = document(
        "described",
        in_call=request("asks"),
        out_ask={"id": "!!bind q", "method": "!!re ^sampling/"},
        in_reply={"jsonrpc": "2.0", "id": "!!ref q", "result": {"role": "user"}},
        out=result(said={"role": "user"}),
    )
    assert statuses(run(tmp_path, case)) == ["passed"]


def test_a_server_request_that_arrives_early_is_not_held_back(tmp_path: Path) -> None:
    """The server answers only after its question: holding it would be a deadlock of ours."""
    case = document(
        "roots first",
        in_a=request("needs_roots", 1),
        out_a=result(1),
        in_b=request("needs_roots", 2),
        out_ask={"id": "!!bind q", "method": "roots/list"},
        in_reply={"jsonrpc": "2.0", "id": "!!ref q", "result": {"roots": []}},
        out_b=result(2),
    )
    assert statuses(run(tmp_path, case)) == ["passed"]


def test_a_server_request_that_may_belong_to_the_next_case_is_not_held_forever(
    tmp_path: Path,
) -> None:
    first = document("first", **{"in": request("needs_roots", 1), "out": result(1)})
    second = document(
        "second",
        out_ask={"id": "!!any", "method": "roots/list"},
        _timeout=200,
    )
    assert statuses(run(tmp_path, first, second)) == ["passed", "passed"]


def test_an_answer_may_bind_its_id(tmp_path: Path) -> None:
    keys = {"in": request("echo", 5), "out": result("!!bind id", echo=None)}
    uses = {"in": request("echo", 6, a="!!ref id"), "out": result(6, echo={"a": 5})}
    ended = run(tmp_path, document("binds", **keys), document("uses", **uses))
    assert statuses(ended) == ["passed", "passed"]


def test_a_file_that_initialises_is_given_its_own_handshake_again(tmp_path: Path) -> None:
    params = {"protocolVersion": "2025-03-26", "capabilities": {}}
    hello = HANDSHAKE | {"in_hello": request("initialize", 0, **params)}
    batch = document(
        "batch",
        **{"in": [request("echo", 1), request("echo", 2)]},
        out_a=result(1, echo=None),
        out_b=result(2, echo=None),
    )
    silent = document("silent", _timeout=200, **{"in": request("never"), "out": result()})
    ended = run(tmp_path, document("hello", **hello), silent, batch)
    assert statuses(ended) == ["passed", "error", "passed"]


def test_messages_before_a_request_do_not_count_as_following_it(tmp_path: Path) -> None:
    case = document(
        "order",
        in_a=request("chatty", 1),
        out_a=result(1, done=True),
        in_b=request("pid", 2),
        out_b=result(2),
        in_c=request("pid", 3),
        out_note=NOTE,
        _timeout=300,
    )
    [test] = results(run(tmp_path, case))
    assert test["status"] == "failed"
    assert test["mismatches"][0]["path"] == "out_note"


def test_thousands_of_open_requests_load_at_once(tmp_path: Path) -> None:
    lines = [f"in_{n}: {json.dumps(request('echo', n))}" for n in range(5000)]
    lines += [f"out_{n}: {json.dumps(result(n, echo=None))}" for n in reversed(range(5000))]
    (tmp_path / "many.cases.yaml").write_text("\n".join(lines), encoding="utf-8")
    assert mcptest(tmp_path, "validate", "many.cases.yaml").code == 0


def test_many_unbound_names_are_reported_without_listing_all_that_are_bound(tmp_path: Path) -> None:
    lines = [
        f'in_{n}: {{"jsonrpc": "2.0", "method": "m", "params": [!!bind a{n}, !!ref b{n}]}}'
        for n in range(2000)
    ]
    (tmp_path / "many.cases.yaml").write_text("\n".join(lines), encoding="utf-8")
    ended = mcptest(tmp_path, "validate", "many.cases.yaml")
    assert ended.code == 2
    assert ended.err.count("error[F020]") == 100
    assert len(ended.err) < 100_000


def test_a_variable_of_a_server_that_is_not_started_need_not_be_set(tmp_path: Path) -> None:
    server = {"command": "nowhere", "env": {"TOKEN": "${NOT_SET_ANYWHERE}"}}
    named = f"_server: {json.dumps(server)}"
    case = document("echo", **{"in": request("echo"), "out": result(echo=None)})
    assert statuses(run(tmp_path, named, case)) == ["passed"]
    ended = mcptest(tmp_path, "run")
    assert (ended.code, "F016" in ended.err) == (2, True)


def test_a_case_that_could_not_check_anything_says_so(tmp_path: Path) -> None:
    wanted = result(echo={"a": {"match:arrayElements": {"b": 1}}})
    case = document("empty", _patterns=True, **{"in": request("echo", a=[]), "out": wanted})
    [test] = results(run(tmp_path, case))
    assert (test["status"], len(test["notes"])) == ("passed", 1)


def test_a_second_handshake_causes_no_note(tmp_path: Path) -> None:
    hello = document("hello", **HANDSHAKE)
    assert [test.get("notes", []) for test in results(run(tmp_path, hello, hello))] == [[], []]
