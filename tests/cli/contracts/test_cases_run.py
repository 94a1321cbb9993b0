"""Case files against a real server: order, pairing, notifications, requests, timeouts."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from console import Ended, mcptest

SERVER = Path(__file__).parents[2] / "servers" / "dialogue_server.py"
COMMAND = f"{sys.executable} {SERVER}"


def request(method: str, id: object = 1, **params: object) -> dict[str, Any]:
    message: dict[str, Any] = {"jsonrpc": "2.0", "id": id, "method": method}
    return message | ({"params": params} if params else {})


def result(id: object = 1, **members: object) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "result": members}


def document(name: str, **keys: object) -> str:
    """One case; JSON is YAML. A text that begins with `!!` is written as a tag."""
    lines = [f"case: {json.dumps(name)}"]
    lines += [f"{key}: {_with_tags(json.dumps(value))}" for key, value in keys.items()]
    return "\n".join(lines)


def _with_tags(text: str) -> str:
    """Turns `"!!re ^a"` into `!!re "^a"`."""
    return re.sub(r'"!!(\w+)(?: ([^"]*))?"', lambda tag: f'!!{tag[1]} "{tag[2] or ""}"', text)


def run(folder: Path, *documents: str, words: tuple[str, ...] = ()) -> Ended:
    (folder / "contract.cases.yaml").write_text("\n---\n".join(documents), encoding="utf-8")
    return mcptest(folder, "run", "--server-command", COMMAND, "--json", *words)


def results(ended: Ended) -> list[dict[str, Any]]:
    report = ended.report()
    return [test for suite in report["suites"] for test in suite["tests"]]


def statuses(ended: Ended) -> list[str]:
    return [test["status"] for test in results(ended)]


HANDSHAKE = {
    "in_hello": request("initialize", 0, protocolVersion="2025-11-25", capabilities={}),
    "out": result(0, serverInfo={"name": "dialogue"}),
    "in_ready": {"jsonrpc": "2.0", "method": "notifications/initialized"},
}


def test_a_case_with_one_message_each_way_passes(tmp_path: Path) -> None:
    case = document("echo", **{"in": request("echo", a=1), "out": result(echo={"a": 1})})
    ended = run(tmp_path, case)
    assert (ended.code, statuses(ended)) == (0, ["passed"])
    assert ended.report()["suites"][0]["file"] == "contract.cases.yaml"


def test_a_value_that_differs_fails_at_that_value(tmp_path: Path) -> None:
    case = document("echo", **{"in": request("echo", a=[1, 2]), "out": result(echo={"a": [1, 3]})})
    ended = run(tmp_path, case)
    [test] = results(ended)
    assert ended.code == 1
    assert [
        (found["path"], found["expected"], found["actual"]) for found in test["mismatches"]
    ] == [("out.result.echo.a[1]", 3, 2)]


def test_all_differences_of_all_messages_are_reported_at_once(tmp_path: Path) -> None:
    case = document(
        "two",
        in_a=request("echo", 1, a=1),
        in_b=request("echo", 2, b=1),
        out_a=result(1, echo={"a": 2}),
        out_b=result(2, echo={"b": 2}),
    )
    [test] = results(run(tmp_path, case))
    paths = [found["path"] for found in test["mismatches"]]
    assert paths == ["out_a.result.echo.a", "out_b.result.echo.b"]


def test_two_answers_in_either_order_pass_a_thousand_times_of_a_thousand(tmp_path: Path) -> None:
    case = document(
        "either",
        in_a=request("either", "a", n=1),
        in_b=request("either", "b", n=2),
        out_a=result("a", echo={"n": 1}),
        out_b=result("b", echo={"n": 2}),
    )
    ended = run(tmp_path, *[case] * 1000)
    assert ended.code == 0
    assert ended.report()["summary"]["passed"] == 1000


def test_a_repeated_key_is_another_message(tmp_path: Path) -> None:
    text = document("either", **{"in": request("either", 1, n=1)})
    text += f"\nin: {json.dumps(request('either', 2, n=2))}"
    text += f"\nout: {json.dumps(result(2, echo={'n': 2}))}"
    text += f"\nout: {json.dumps(result(1, echo={'n': 3}))}"
    [test] = results(run(tmp_path, text))
    assert [found["path"] for found in test["mismatches"]] == ["out#2.result.echo.n"]


def test_more_keys_than_written_are_fine_unless_the_match_is_exact(tmp_path: Path) -> None:
    keys: dict[str, Any] = {"in": request("echo", a=1, b=2), "out": result(echo={"a": 1})}
    ended = run(
        tmp_path,
        document("partial", **keys),
        document("exact", _match="exact", **keys),
        document("array", **{"in": request("echo", a=[1, 2]), "out": result(echo={"a": [1]})}),
    )
    assert statuses(ended) == ["passed", "failed", "failed"]
    assert results(ended)[1]["mismatches"][0]["path"] == "out.result.echo.b"
    assert results(ended)[2]["mismatches"][0]["path"] == "out.result.echo.a[1]"


# Messages in between


def test_notifications_in_between_are_skipped_unless_the_case_is_strict(tmp_path: Path) -> None:
    keys: dict[str, Any] = {"in": request("chatty"), "out": result(done=True)}
    ended = run(tmp_path, document("lenient", **keys), document("strict", _strict=True, **keys))
    assert statuses(ended) == ["passed", "failed"]
    surplus = results(ended)[1]["mismatches"]
    assert {found["path"] for found in surplus} == {"surplus"}
    assert "notifications/message came" in surplus[0]["message"]


def test_a_notification_is_awaited_by_its_method(tmp_path: Path) -> None:
    progress = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progress": 1}}
    last = {"method": "notifications/message", "params": {"data": "after"}}
    case = document(
        "chatty", **{"in": request("chatty"), "out_p": progress, "out": result(done=True)}
    )
    after = document("and later", **{"in": request("chatty"), "out_p": progress, "out_last": last})
    ended = run(tmp_path, case, after)
    assert statuses(ended) == ["passed", "passed"]


def test_a_notification_that_never_arrives_fails_and_shows_what_did_arrive(tmp_path: Path) -> None:
    missing = {"jsonrpc": "2.0", "method": "notifications/never"}
    pid = document("pid", **{"in": request("pid"), "out": result(pid="!!bind pid")})
    case = document("waits", **{"in": request("chatty"), "out": missing, "_timeout": 200})
    fresh = document("fresh", **{"in": request("pid"), "out": result(pid="!!ref pid")})
    ended = run(tmp_path, pid, case, fresh)
    assert statuses(ended) == ["passed", "failed", "failed"]
    [found] = results(ended)[1]["mismatches"]
    assert (found["path"], found["message"]) == ("out", "no notifications/never came within 200 ms")
    assert found["hint"].startswith(
        "what did arrive: answers to id 1 and notifications/message (2)"
    )
    assert "a fresh server was started" in results(ended)[2]["notes"][0]


def test_an_answer_that_never_arrives_is_an_error_that_shows_what_did_arrive(
    tmp_path: Path,
) -> None:
    case = document("silent", **{"in": request("silent"), "out": result(), "_timeout": "200ms"})
    echo = document("next", **{"in": request("echo", 1), "out": result(echo=None)})
    ended = run(tmp_path, case, echo)
    assert statuses(ended) == ["error", "passed"]
    fault = results(ended)[0]["error"]
    assert fault["kind"] == "timeout"
    assert fault["message"] == "no answer to silent (id 1) within 200 ms"
    assert "what did arrive: notifications/message" in fault["hint"]


def test_a_case_answers_what_the_server_asks(tmp_path: Path) -> None:
    case = document(
        "asks",
        in_call=request("asks"),
        out_ask={"id": "!!bind question", "method": "sampling/createMessage"},
        in_reply={"jsonrpc": "2.0", "id": "!!ref question", "result": {"role": "user"}},
        out=result(said={"role": "user"}, reply_to="s-17"),
    )
    ended = run(tmp_path, case)
    assert (ended.code, statuses(ended)) == (0, ["passed"])


def test_a_question_that_the_case_leaves_alone_is_answered_for_it(tmp_path: Path) -> None:
    spoken = {"id": "!!any", "method": "sampling/createMessage"}
    unspoken = document("a", **{"in": request("asks"), "out": result(said={"code": -32601})})
    awaited = document(
        "b", **{"in": request("asks"), "out_ask": spoken, "out": result(said={"code": -32601})}
    )
    assert statuses(run(tmp_path, unspoken, awaited)) == ["passed", "passed"]


def test_a_case_may_begin_with_what_the_server_says_after_the_case_before(tmp_path: Path) -> None:
    ask = {"jsonrpc": "2.0", "method": "notifications/ask_me"}
    first = document("provokes", **{"in": ask})
    second = document(
        "roots",
        out={"id": "!!bind id", "method": "roots/list"},
        **{"in": {"jsonrpc": "2.0", "id": "!!ref id", "result": {"roots": []}}},
    )
    assert statuses(run(tmp_path, first, second)) == ["passed", "passed"]


def test_an_answer_to_an_id_that_was_never_sent_is_a_failure(tmp_path: Path) -> None:
    ended = run(tmp_path, document("stray", **{"in": request("stray"), "out": result()}))
    [found] = results(ended)[0]["mismatches"]
    assert found["path"] == "surplus"
    assert found["message"] == "the server answered id 999, and no request with that id was sent"


def test_an_answer_under_another_id_is_reported_soon(tmp_path: Path) -> None:
    """With the usual limit of 30 s this test would take too long."""
    ended = run(tmp_path, document("wrong", **{"in": request("as_text", 3), "out": result(3)}))
    [found] = results(ended)[0]["mismatches"]
    assert found["message"] == 'the server answered id "3", and no request with that id was sent'
    assert found["hint"] == "id 3 was; as ids, a number and a string differ"


def test_a_strict_case_allows_neither_a_second_answer_nor_noise(tmp_path: Path) -> None:
    keys: dict[str, Any] = {"in": request("twice"), "out": result()}
    ended = run(tmp_path, document("lenient", **keys), document("strict", _strict=True, **keys))
    assert statuses(ended) == ["passed", "failed"]
    message = [found["message"] for found in results(ended)[1]["mismatches"]]
    assert message[0].startswith("id 1 was answered a second time")
    assert "is not JSON" in message[1]


def test_an_error_instead_of_a_result_is_shown(tmp_path: Path) -> None:
    wants_result = document("a", **{"in": request("nowhere"), "out": result(x=1)})
    error = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32601}}
    wants_error = document("b", **{"in": request("echo"), "out": error})
    [one, other] = results(run(tmp_path, wants_result, wants_error))
    [first], [second] = one["mismatches"], other["mismatches"]
    assert (first["path"], second["path"]) == ("out.result", "out.error")
    assert first["message"] == "the server answered with an error instead of a result"
    assert "no method nowhere" in first["hint"]
    assert second["message"] == "the server answered with a result instead of an error"


def test_a_failure_is_shown_at_the_message_that_was_not_met(tmp_path: Path) -> None:
    case = document(
        "two",
        in_a=request("echo", 1),
        out_a=result(1, echo=None),
        in_b=request("echo", 2),
        out_b=result(2, echo=5),
    )
    [test] = results(run(tmp_path, case))
    assert test["line"] == 5


def test_an_answer_that_no_out_describes_is_awaited(tmp_path: Path) -> None:
    case = document("slow", **{"in": request("slow")})
    after = document("echo", **{"in": request("echo"), "out": result(echo=None), "_strict": True})
    assert statuses(run(tmp_path, case, after)) == ["passed", "passed"]


def test_a_case_without_answers_passes_only_when_the_server_is_alive(tmp_path: Path) -> None:
    note = {"jsonrpc": "2.0", "method": "notifications/whatever"}
    dead = {"jsonrpc": "2.0", "id": 5, "method": "exits"}
    ended = run(tmp_path, document("alive", **{"in": note}), document("dead", **{"in": dead}))
    assert statuses(ended) == ["passed", "error"]
    assert results(ended)[1]["error"]["kind"] == "exited_during_call"


# The handshake


def test_without_initialize_in_the_file_the_handshake_is_done_once(tmp_path: Path) -> None:
    status = document("status", **{"in": request("status"), "out": result(initialised=1)})
    assert statuses(run(tmp_path, status, status)) == ["passed", "passed"]


def test_a_file_that_initialises_does_so_itself(tmp_path: Path) -> None:
    before = document("before", **{"in": request("status"), "out": result(initialised=0)})
    after = document("after", **{"in": request("status"), "out": result(initialised=1)})
    ended = run(tmp_path, before, document("hello", **HANDSHAKE), after)
    assert statuses(ended) == ["passed"] * 3


def test_a_second_initialize_gets_a_fresh_process(tmp_path: Path) -> None:
    hello = document("hello", **HANDSHAKE)
    pid = document("pid", **{"in": request("pid"), "out": result(pid="!!bind pid")})
    same = document("same", **{"in": request("pid"), "out": result(pid="!!ref pid")})
    ended = run(tmp_path, hello, pid, same, hello, same)
    assert statuses(ended) == ["passed", "passed", "passed", "passed", "failed"]


def test_a_selected_case_without_its_handshake_is_given_one(tmp_path: Path) -> None:
    status = document("status", **{"in": request("status"), "out": result(initialised=1)})
    ended = run(tmp_path, document("hello", **HANDSHAKE), status, words=("-k", "status"))
    assert statuses(ended) == ["passed"]


# Values


def test_a_case_can_use_names_bound_by_an_earlier_case(tmp_path: Path) -> None:
    gives = document("gives", **{"in": request("gives"), "out": result(ticket="!!bind t")})
    uses = document(
        "uses",
        **{"in": request("echo", ticket="!!ref t"), "out": result(echo={"ticket": "!!ref t"})},
    )
    assert statuses(run(tmp_path, gives, uses)) == ["passed", "passed"]


def test_a_value_that_was_never_bound_is_an_error_of_that_case(tmp_path: Path) -> None:
    gives = document("gives", **{"in": request("gives"), "out": result(ticket="!!bind t")})
    uses = document("uses", **{"in": request("echo", t="!!ref t"), "out": result(echo="!!any")})
    [test] = results(run(tmp_path, gives, uses, words=("-k", "uses")))
    assert (test["status"], test["error"]["kind"]) == ("error", "missing_capture")


def test_a_case_that_sends_nothing_leaves_the_server_as_it_is(tmp_path: Path) -> None:
    pid = document("pid", **{"in": request("pid"), "out": result(pid="!!bind pid")})
    never = document("never", _skip=True, **{"in": request("gives"), "out": result(t="!!bind t")})
    uses = document("uses", **{"in": request("echo", t="!!ref t"), "out": result(echo="!!any")})
    same = document("same", **{"in": request("pid"), "out": result(pid="!!ref pid")})
    ended = run(tmp_path, pid, never, uses, same)
    assert statuses(ended) == ["passed", "skipped", "error", "passed"]


def test_a_generated_value_can_be_referred_to(tmp_path: Path) -> None:
    case = document(
        "made up",
        **{"in": request("echo", who="!!bind who"), "out": result(echo={"who": "!!ref who"})},
    )
    assert statuses(run(tmp_path, case)) == ["passed"]


@pytest.mark.parametrize(
    ("tag", "status"),
    [
        ("!!re ^t-[0-9]+$", "passed"),
        ("!!re ^x", "failed"),
        ("!!ere t-/[0-9]+/", "passed"),
        ("!!ere t-/[a-z]+/", "failed"),
        ("!!type string", "passed"),
        ("!!type number", "failed"),
        ("!!any", "passed"),
    ],
)
def test_tags_describe_values(tag: str, status: str, tmp_path: Path) -> None:
    case = document("gives", **{"in": request("gives"), "out": result(ticket=tag)})
    assert statuses(run(tmp_path, case)) == [status]


def test_match_texts_are_patterns_only_when_the_case_says_so(tmp_path: Path) -> None:
    keys = {"in": request("echo", a="hello"), "out": result(echo={"a": "match:startsWith:he"})}
    ended = run(tmp_path, document("off", **keys), document("on", _patterns=True, **keys))
    assert statuses(ended) == ["failed", "passed"]


# Batches


def test_a_batch_is_sent_where_the_revision_has_them(tmp_path: Path) -> None:
    hello = HANDSHAKE | {
        "in_hello": request("initialize", 0, protocolVersion="2025-03-26", capabilities={})
    }
    batch = document(
        "batch",
        **{"in": [request("echo", 1), request("echo", 2, b=1)]},
        out_b=result(2, echo={"b": 1}),
        out_a=result(1, echo=None),
    )
    assert statuses(run(tmp_path, document("hello", **hello), batch)) == ["passed", "passed"]
    [_, refused] = results(run(tmp_path, document("hello", **HANDSHAKE), batch))
    assert (refused["status"], refused["error"]["kind"]) == ("error", "no_batches")


# Around the cases


def test_hooks_run_before_and_after_a_case(tmp_path: Path) -> None:
    append = "import sys; open('log', 'a', encoding='utf-8').write(sys.argv[1])"
    hook = {"command": sys.executable, "arguments": ["-c", append]}
    case = document(
        "hooks",
        _before={**hook, "arguments": [*hook["arguments"], "before "]},
        _after={**hook, "arguments": [*hook["arguments"], "after "]},
        **{"in": request("echo"), "out": result(echo="wrong")},
    )
    assert statuses(run(tmp_path, case)) == ["failed"]
    assert (tmp_path / "log").read_text(encoding="utf-8") == "before after "


@pytest.mark.parametrize("key", ["_before", "_after"])
def test_a_hook_that_fails_is_an_error(key: str, tmp_path: Path) -> None:
    code = "import sys; sys.exit('no database')"
    hook = {key: {"command": sys.executable, "arguments": ["-c", code]}}
    case = document("hooks", **hook, **{"in": request("echo"), "out": result(echo=None)})
    echo = document("echo", **{"in": request("echo"), "out": result(echo=None)})
    ended = run(tmp_path, case, echo)
    assert statuses(ended) == ["error", "passed"]
    fault = results(ended)[0]["error"]
    assert fault["kind"] == "hook_failed"
    assert "no database" in json.dumps(fault)


def test_a_hook_that_does_not_end_is_an_error_and_is_ended(tmp_path: Path) -> None:
    hook = {"command": sys.executable, "arguments": ["-c", "import time; time.sleep(600)"]}
    case = document("hooks", _before=hook, _timeout=300, **{"in": request("echo")})
    [test] = results(run(tmp_path, case))
    assert test["error"]["kind"] == "hook_failed"
    assert "did not end within 300 ms" in test["error"]["message"]


def test_a_hook_that_cannot_be_started_is_an_error(tmp_path: Path) -> None:
    case = document("hooks", _before={"command": "no-such-program"}, **{"in": request("echo")})
    [test] = results(run(tmp_path, case))
    assert test["error"]["kind"] == "hook_failed"
    assert "no-such-program" in test["error"]["message"]


def test_skip_only_and_tags_choose_cases(tmp_path: Path) -> None:
    keys = {"in": request("echo"), "out": result(echo=None)}
    skipped = document("skipped", _skip="not yet", **keys)
    tagged = document("tagged", _tags=["quick"], **keys)
    plain = document("plain", **keys)
    assert statuses(run(tmp_path, skipped, tagged, plain)) == ["skipped", "passed", "passed"]
    ended = run(tmp_path, tagged, plain, words=("--tag", "quick"))
    assert [test["name"] for test in results(ended)] == ["tagged"]
    ended = run(tmp_path, tagged, document("only", _only=True, **keys))
    assert statuses(ended) == ["skipped", "passed"]


def test_the_first_document_may_name_the_server(tmp_path: Path) -> None:
    server = {"command": sys.executable, "args": [str(SERVER)]}
    text = f"_server: {json.dumps(server)}\n---\n"
    text += document("echo", **{"in": request("echo"), "out": result(echo=None)})
    (tmp_path / "a_test.yaml").write_text(text, encoding="utf-8")
    ended = mcptest(tmp_path, "run", "--json")
    assert (ended.code, statuses(ended)) == (0, ["passed"])


def test_case_files_and_conductor_files_run_side_by_side(tmp_path: Path) -> None:
    conductor = {
        "description": "c",
        "tests": [
            {
                "it": "echoes",
                "request": request("echo"),
                "expect": {"response": result(echo=None)},
            }
        ],
    }
    (tmp_path / "b.test.mcp.yml").write_text(json.dumps(conductor), encoding="utf-8")
    ended = run(tmp_path, document("echo", **{"in": request("echo"), "out": result(echo=None)}))
    assert (ended.code, statuses(ended)) == (0, ["passed", "passed"])


def test_a_file_with_another_name_is_known_by_its_text_or_by_format(tmp_path: Path) -> None:
    text = document("echo", **{"in": request("echo"), "out": result(echo=None)})
    (tmp_path / "contract.yaml").write_text(text, encoding="utf-8")
    words = ("run", "contract.yaml", "--json", "--server-command", COMMAND)
    assert mcptest(tmp_path, *words).code == 0
    assert mcptest(tmp_path, *words, "--format", "cases").code == 0
    refused = mcptest(tmp_path, *words, "--format", "conductor")
    assert (refused.code, "F006" in refused.err or "F006" in refused.out) == (2, True)
    assert mcptest(tmp_path, *words, "--format", "suite").code == 2


def test_the_capture_holds_what_the_cases_said(tmp_path: Path) -> None:
    case = document(
        "two", in_a=request("echo", 1), in_b=request("echo", 2), out=result(2, echo=None)
    )
    ended = run(tmp_path, case, words=("--capture", "capture.json"))
    assert ended.code == 0
    captured = json.loads((tmp_path / "capture.json").read_text(encoding="utf-8"))
    [session] = captured if isinstance(captured, list) else [captured]
    kept = [exchange["request"]["method"] for exchange in session["exchanges"]]
    assert kept == ["initialize", "notifications/initialized", "echo", "echo"]
    assert [exchange["response"]["id"] for exchange in session["exchanges"][2:]] == [1, 2]
