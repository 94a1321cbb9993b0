"""What a host and a well-behaved plugin say to each other."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from plugin_stage import LONG_S, children, command_for, hosting, left_clean

from mcptest.plugins import PluginError, PluginHost, PluginResponse


def test_a_host_that_is_never_called_starts_nothing() -> None:
    with left_clean(), PluginHost(["/no/such/program"]) as host:
        assert host.stderr == ""
        assert host.spec.command == ("/no/such/program",)
        assert children() == []


def test_the_first_call_starts_the_plugin_and_the_others_keep_it() -> None:
    with hosting() as host:
        first = host.call("pid").result
        assert [host.call("pid").result for _ in range(5)] == [first] * 5
        assert first in children()


def test_every_call_has_an_id_of_its_own_which_the_answer_carries() -> None:
    with hosting() as host:
        ids = [host.call("null").id for _ in range(4)]
        seen = host.call("ids").result
        assert isinstance(seen, list)
        assert seen[:4] == ids
        assert len(set(seen)) == 5


@pytest.mark.parametrize("params", [None, False, 0, "", [], {}, {"a": None}])
def test_params_are_sent_as_they_are_given(params: object) -> None:
    with hosting() as host:
        line = host.call("line", params).result
        assert isinstance(line, str)
        assert json.loads(line) == {"method": "line", "params": params, "id": 1}
        assert host.call("echo", params).result == params


def test_params_that_are_not_given_are_not_on_the_wire() -> None:
    with hosting() as host:
        assert host.call("line").result == '{"method":"line","id":1}\n'


@pytest.mark.parametrize("params", [{1, 2}, float("nan"), float("inf"), object()])
def test_params_that_are_not_json_are_the_callers_mistake_and_start_nothing(
    params: object,
) -> None:
    with hosting() as host:
        with pytest.raises((TypeError, ValueError)):
            host.call("echo", params)
        assert children() == []
        assert host.call("line").result == '{"method":"line","id":1}\n'


def test_a_result_may_be_null() -> None:
    with hosting() as host:
        assert host.call("null") == PluginResponse(id=1, result=None, error=None)


def test_an_error_answer_is_returned_and_the_plugin_is_kept() -> None:
    with hosting() as host:
        refused = host.call("refusal", "Atlantis").error
        assert refused == PluginError(code=7, message="no such town", data={"town": "Atlantis"})
        missing = host.call("nosuch")
        assert missing.error == PluginError(code=-32601, message="there is no method nosuch")
        assert missing.result is None
        assert host.call("echo", 1).result == 1


@pytest.mark.parametrize(
    "method", ["more_members", "id_as_fraction", "crlf", "blank_lines", "unescaped"]
)
def test_frames_as_other_languages_write_them_are_understood(method: str) -> None:
    """Members that are not known, "jsonrpc", 1.0 for 1, CR LF, text that is not escaped."""
    with hosting() as host:
        response = host.call(method)
        assert response.result == ("Ærø 🙂" if method == "unescaped" else "fine")
        assert (response.id, type(response.id), response.error) == (1, int, None)
        assert host.call("echo", 2).result == 2


@pytest.mark.parametrize("text", ["Ærø 🙂 \u2028\x00\x1b", "\ud800 alone", '"\\\n\r'])
def test_any_string_is_returned_unchanged(text: str) -> None:
    with hosting() as host:
        assert host.call("echo", {text: [text]}).result == {text: [text]}


@pytest.mark.parametrize("number", [10**400, -(2**63), 2**53 + 1, 0.1, 1e300, 5e-324])
def test_numbers_are_returned_unchanged(number: float) -> None:
    with hosting() as host:
        assert host.call("echo", number).result == number


def test_an_answer_of_two_megabytes_and_a_request_of_two_arrive_whole() -> None:
    size = 2 * 1024 * 1024
    with hosting() as host:
        answer = host.call("big", size).result
        assert answer == "é" * (size // 2)
        assert host.call("echo", "x" * size).result == "x" * size


def test_eight_threads_queue_and_each_gets_its_own_answer() -> None:
    values = list(range(160))
    with hosting() as host:
        with ThreadPoolExecutor(8) as threads:
            answers = list(threads.map(lambda value: host.call("echo", value), values))
        assert [answer.result for answer in answers] == values
        assert len({answer.id for answer in answers}) == len(values)


def test_a_flood_on_stderr_does_not_hold_the_answer_up() -> None:
    megabytes = 40
    with hosting() as host:
        assert host.call("flooded", megabytes).result == "fine"
        assert host.stderr.endswith("y\n")
        assert len(host.stderr) <= 4096
        assert host.call("echo", 1).result == 1


def test_a_command_may_be_one_text_and_no_shell_sees_it(tmp_path: object) -> None:
    words = command_for()
    with left_clean(), PluginHost(f"{' '.join(words)} '$HOME; exit'", LONG_S) as host:
        assert host.spec.command == (*words, "$HOME; exit")


def test_a_plugin_runs_in_the_folder_it_is_given(tmp_path: object) -> None:
    with hosting(cwd=str(tmp_path)) as host:
        assert host.call("folder").result == str(tmp_path)


@pytest.mark.parametrize("limit", [0, -1, float("nan"), float("inf"), 86_401])
def test_a_limit_must_be_a_time_that_can_be_waited(limit: float) -> None:
    with pytest.raises(ValueError, match="more than 0 seconds and at most a day"):
        PluginHost(["geo"], limit)


@pytest.mark.parametrize("command", [[], "", "  ", ()])
def test_a_command_must_name_a_program(command: list[str] | str) -> None:
    with pytest.raises(ValueError, match="the command of a plugin is empty"):
        PluginHost(command)
