"""Values that go from what the client says to what the mock says."""

from __future__ import annotations

from stage import a_case, cases, contract, request

GREETS = a_case("Greets", "{name: greet, arguments: {who: !!bind who}}", "!!ref who")


def test_a_name_bound_in_a_request_is_used_in_its_answer() -> None:
    assert contract(GREETS).call("greet", who="Ada") == "Ada"


def test_a_name_is_bound_again_each_time() -> None:
    stage = contract(GREETS)
    assert [stage.call("greet", who=who) for who in ("Ada", "Bob")] == ["Ada", "Bob"]


def test_a_name_is_known_to_later_cases_of_the_file() -> None:
    stage = contract(cases(GREETS, a_case("Remembers", "{name: last}", "!!ref who")))
    stage.call("greet", who="Ada")
    assert stage.call("last") == "Ada"


def test_names_of_one_file_are_not_those_of_another() -> None:
    other = a_case("Also", "{name: also, arguments: {who: !!bind who}}", "!!ref who")
    stage = contract(
        cases(GREETS, a_case("Last", "{name: last}", "!!ref who")),
        other,
    )
    stage.call("greet", who="Ada")
    stage.call("also", who="Bob")
    assert stage.call("last") == "Ada"


def test_an_answer_that_needs_a_name_nothing_has_bound_is_an_error_that_names_it() -> None:
    stage = contract(cases(GREETS, a_case("Remembers", "{name: last}", "!!ref who")))
    error = stage.error("tools/call", {"name": "last"})
    assert "nothing has bound the name who yet" in error["message"]
    assert error["data"]["nearest"]["case"] == "Remembers"
    assert [each["expected"] for each in error["data"]["differences"]] == ["!!ref who"]
    assert len(stage.report.wrong) == 1
    assert stage.exercised == []


def test_after_the_name_is_bound_the_same_case_answers() -> None:
    stage = contract(cases(GREETS, a_case("Remembers", "{name: last}", "!!ref who")))
    stage.send(request("tools/call", {"name": "last"}))
    stage.call("greet", who="Ada")
    assert stage.call("last") == "Ada"
    assert stage.exercised == ["Greets", "Remembers"]


USES = a_case("Uses", "{name: use, arguments: {key: !!ref who}}", "used")


def test_a_request_with_a_ref_matches_what_was_bound() -> None:
    stage = contract(cases(GREETS, USES))
    stage.call("greet", who="Ada")
    assert stage.call("use", key="Ada") == "used"
    assert "error" in stage.ask("tools/call", {"name": "use", "arguments": {"key": "Bob"}})


def test_a_request_with_a_ref_that_nothing_has_bound_does_not_match() -> None:
    error = contract(cases(GREETS, USES)).error(
        "tools/call", {"name": "use", "arguments": {"key": "Ada"}}
    )
    assert error["data"]["nearest"]["case"] == "Uses"
    assert error["data"]["differences"][0]["message"] == "nothing has bound the name who yet"


def test_the_value_generated_for_a_bind_in_an_answer_is_bound() -> None:
    opens = (
        "in: {jsonrpc: '2.0', id: 1, method: open}\n"
        "out: {jsonrpc: '2.0', id: 1, result: {session: !!bind session}}\n"
    )
    closes = (
        "in: {jsonrpc: '2.0', id: 1, method: close, params: {session: !!ref session}}\n"
        "out: {jsonrpc: '2.0', id: 1, result: {closed: !!ref session}}\n"
    )
    stage = contract(cases(opens, closes))
    session = stage.result("open")["session"]
    assert stage.result("close", {"session": session}) == {"closed": session}
    assert "error" in stage.ask("close", {"session": f"not {session}"})


def test_the_id_of_the_caller_can_be_bound() -> None:
    stage = contract(
        "in: {jsonrpc: '2.0', id: !!bind id, method: who}\n"
        "out: {jsonrpc: '2.0', id: !!ref id, result: {asked: !!ref id}}\n"
    )
    assert stage.ask("who", id="me")["result"] == {"asked": "me"}


# Progress tokens belong to the client


def progress(written: str, sent: str) -> str:
    return (
        "in: {jsonrpc: '2.0', id: 1, method: work, "
        f"params: {{_meta: {{progressToken: {written}}}}}}}\n"
        "out_progress: {jsonrpc: '2.0', method: notifications/progress, "
        f"params: {{progressToken: {sent}, progress: 1}}}}\n"
        "out: {jsonrpc: '2.0', id: 1, result: {}}\n"
    )


def test_progress_carries_the_token_of_the_client() -> None:
    for text in (progress("abc", "abc"), progress("!!bind t", "!!ref t")):
        first, answer = contract(text).send(request("work", {"_meta": {"progressToken": 77}}))
        assert first["params"] == {"progressToken": 77, "progress": 1}
        assert answer["result"] == {}


def test_a_client_without_a_progress_token_gets_no_progress() -> None:
    for text in (progress("abc", "abc"), progress("!!bind t", "!!ref t")):
        stage = contract(text)
        stage.send(request("work", {"_meta": {"progressToken": 77}}))
        assert stage.result("work") == {}


def test_progress_without_a_matching_request_has_the_token_of_the_latest_one() -> None:
    text = progress("abc", "abc").replace("_meta: {progressToken: abc}", "")
    first, _ = contract(text).send(request("work", {"_meta": {"progressToken": 77}}))
    assert first["params"]["progressToken"] == 77
    [answer] = contract(text).send(request("work"))
    assert answer["result"] == {}


# Names within one message


def test_a_request_may_use_what_it_binds_itself() -> None:
    stage = contract(a_case("Twice", "{name: t, arguments: {a: !!bind x, b: !!ref x}}", "!!ref x"))
    error = stage.error("tools/call", {"name": "t", "arguments": {"a": 1, "b": 2}})
    (difference,) = error["data"]["differences"]
    assert (difference["path"], difference["expected"]) == ("params.arguments.b", 1)
    assert stage.call("t", a="same", b="same") == "same"
    assert stage.call("t", a="other", b="other") == "other"


def test_a_request_may_use_its_own_id() -> None:
    text = (
        "in: {jsonrpc: '2.0', id: !!bind me, method: echo, params: {of: !!ref me}}\n"
        "out: {jsonrpc: '2.0', id: !!ref me, result: {copy: !!ref me}}\n"
    )
    stage = contract(text)
    assert stage.ask("echo", {"of": 5}, 5)["result"] == {"copy": 5}
    assert "error" in stage.ask("echo", {"of": 5}, "5")


def test_a_name_that_a_request_binds_must_be_present_to_be_used() -> None:
    text = (
        "in: {jsonrpc: '2.0', id: 1, method: go, params: {_meta: {t: !!bind t}, copy: !!ref t}}\n"
        "out: {jsonrpc: '2.0', id: 1, result: {}}\n"
    )
    stage = contract(text)
    error = stage.error("go", {"copy": 1})
    assert "nothing has bound the name t yet" in error["message"]
    assert stage.result("go", {"copy": 1, "_meta": {"t": 1}}) == {}


PAGES = cases(
    "case: Starts\nin: {jsonrpc: '2.0', id: 1, method: start, params: {k: !!bind k}}\n"
    "out: {jsonrpc: '2.0', id: 1, result: {}}\n",
    "case: Goes on\nin: {jsonrpc: '2.0', id: 1, method: go}\n"
    "out: {jsonrpc: '2.0', id: 1, result: {prev: !!ref k, next: !!bind k, same: !!ref k}}\n",
    "case: Ends\nin: {jsonrpc: '2.0', id: 1, method: end, params: {k: !!ref k}}\n"
    "out: {jsonrpc: '2.0', id: 1, result: {}}\n",
)


def test_a_name_that_is_bound_again_has_its_old_value_above_and_its_new_one_below() -> None:
    stage = contract(PAGES)
    stage.result("start", {"k": "old"})
    result = stage.result("go")
    assert result["prev"] == "old"
    assert result["next"] == result["same"] != "old"
    stage.error("end", {"k": "old"})
    assert stage.result("end", {"k": result["next"]}) == {}


def test_a_request_that_reads_a_name_and_binds_it_again_is_compared_with_both() -> None:
    text = cases(
        PAGES,
        "in: {jsonrpc: '2.0', id: 1, method: swap, params: {a: !!ref k, b: !!bind k, c: !!ref k}}\n"
        "out: {jsonrpc: '2.0', id: 1, result: {now: !!ref k}}\n",
    )
    stage = contract(text)
    stage.result("start", {"k": "old"})
    stage.error("swap", {"a": "new", "b": "new", "c": "new"})
    assert stage.result("swap", {"a": "old", "b": "new", "c": "new"}) == {"now": "new"}


def test_an_answer_may_copy_the_id_it_is_given() -> None:
    text = (
        "in: {jsonrpc: '2.0', id: !!bind x, method: go}\n"
        "out: {jsonrpc: '2.0', id: !!bind x, result: {copy: !!ref x}}\n"
    )
    assert contract(text).ask("go", id="mine")["result"] == {"copy": "mine"}


def test_a_question_of_the_server_may_copy_its_own_id() -> None:
    text = (
        "in: {jsonrpc: '2.0', id: 1, method: go}\n"
        "out_q: {jsonrpc: '2.0', id: !!bind q, method: roots/list, params: {copy: !!ref q}}\n"
        "in_a: {jsonrpc: '2.0', id: !!ref q, result: {roots: []}}\n"
        "out: {jsonrpc: '2.0', id: 1, result: {q: !!ref q}}\n"
    )
    stage = contract(text)
    (question,) = stage.send(request("go"))
    assert question["params"]["copy"] == question["id"]
    (answer,) = stage.reply(question["id"], {"roots": []})
    assert answer["result"] == {"q": question["id"]}


def test_a_question_of_the_server_may_take_its_id_from_its_params() -> None:
    text = "out: {jsonrpc: '2.0', method: x/y, params: {of: !!bind q}, id: !!ref q}\n"
    (question,) = contract(text).notify("notifications/initialized")
    assert question["id"] == question["params"]["of"]


def test_one_message_of_a_batch_may_use_what_another_one_binds() -> None:
    text = (
        "in: [{jsonrpc: '2.0', id: 1, method: a, params: {v: !!bind v}},"
        " {jsonrpc: '2.0', id: 2, method: b, params: {v: !!ref v}}]\n"
        "out_a: {jsonrpc: '2.0', id: 1, result: {}}\n"
        "out_b: {jsonrpc: '2.0', id: 2, result: {}}\n"
    )
    stage = contract(text)
    stage.result("a", {"v": 1})
    stage.error("b", {"v": 2})
    assert stage.result("b", {"v": 1}) == {}
