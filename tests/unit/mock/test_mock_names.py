"""Values that go from what the client says to what the mock says."""

from __future__ import annotations

from stage import a_case, cases, contract, request

GREETS = a_case("Greets", "{name: greet, arguments: {who: !!bind who}}", "!!ref who")


def test_a_name_bound_in_a_request_is_used_in_its_answer() -> None:
    assert contract(GREETS).call("greet", who="Ada") == "Ada"


def test_a_name_is_bound_anew_each_time() -> None:
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
    stage.hear(request("tools/call", {"name": "last"}))
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


def test_what_is_made_up_for_a_bind_in_an_answer_is_bound() -> None:
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
        first, answer = contract(text).hear(request("work", {"_meta": {"progressToken": 77}}))
        assert first["params"] == {"progressToken": 77, "progress": 1}
        assert answer["result"] == {}


def test_a_client_that_gives_no_token_hears_of_no_progress() -> None:
    for text in (progress("abc", "abc"), progress("!!bind t", "!!ref t")):
        stage = contract(text)
        stage.hear(request("work", {"_meta": {"progressToken": 77}}))
        assert stage.result("work") == {}


def test_progress_of_which_no_request_speaks_is_sent_as_it_is() -> None:
    text = progress("abc", "abc").replace("_meta: {progressToken: abc}", "")
    first, _ = contract(text).hear(request("work"))
    assert first["params"]["progressToken"] == "abc"
