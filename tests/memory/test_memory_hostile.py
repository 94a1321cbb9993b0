"""Servers in memory that raise, hang, block, lie and go: each is named, bounded and ended."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
import time
import warnings
from typing import TYPE_CHECKING, Any

import pytest
from memory_stage import (
    BadServer,
    answered,
    json_answer,
    left_clean,
    respond,
    shake_hands,
    small_app,
    wait_forever,
)

import mcptest
from mcptest.sdk.errors import CoprocessWarning

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

SHORT_S = 0.3
# Where there is an answer, it arrives sooner than this, however busy the machine is.
LONG_S = 20.0


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    with left_clean():
        yield


class Came:
    """The outcome of one call: the answer or the error, and the warnings."""

    def __init__(self, target: Any, timeout: float = SHORT_S) -> None:
        self.error: mcptest.RefusedError | None = None
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                with mcptest.connect_memory(target, timeout=timeout) as server:
                    self.verdict = server.call_tool("x")
            except mcptest.RefusedError as error:
                self.error = error
        self.warned = [str(each.message) for each in caught if each.category is CoprocessWarning]

    @property
    def is_gone(self) -> bool:
        return isinstance(self.error, mcptest.UpstreamGoneError)

    @property
    def kind(self) -> str:
        return str(self._data["kind"])

    @property
    def stderr(self) -> str:
        return str(self._data["stderr"])

    @property
    def _data(self) -> dict[str, Any]:
        assert self.error
        assert isinstance(self.error.data, dict)
        return self.error.data


# Servers on streams


def after_handshake(act: Callable[[Any, Any, Any], Awaitable[None]]) -> BadServer:
    """A server that shakes hands, takes one request, and then acts."""

    async def whole(read: Any, write: Any) -> None:
        await shake_hands(read, write)
        await act(read, write, (await read.receive()).message)

    return BadServer(whole)


async def read_on(read: Any) -> None:
    async for _ in read:
        pass


def test_an_exception_at_the_start_of_a_server_is_named_with_its_place() -> None:
    async def act(read: Any, write: Any) -> None:
        raise ValueError("at once")

    outcome = Came(BadServer(act))
    assert outcome.is_gone
    assert outcome.kind == "server_raised"
    assert "the server raised ValueError: at once (test_memory_hostile.py:" in str(outcome.error)
    assert outcome.stderr.startswith("Traceback")
    assert outcome.stderr.endswith("ValueError: at once")
    assert "mcptest/wire" not in outcome.stderr
    assert outcome.warned == []


def test_an_exception_of_a_server_during_a_call_is_named() -> None:
    async def act(read: Any, write: Any, asked: Any) -> None:
        raise KeyError("later")

    outcome = Came(after_handshake(act))
    assert (outcome.is_gone, outcome.kind) == (True, "server_raised")
    assert "KeyError: 'later'" in str(outcome.error)


def test_a_group_of_one_exception_is_named_by_that_one() -> None:
    async def act(read: Any, write: Any, asked: Any) -> None:
        raise ExceptionGroup("a task group", [ExceptionGroup("another", [OSError("the cause")])])

    assert "the server raised OSError: the cause" in str(Came(after_handshake(act)).error)


def test_a_server_that_exits_does_not_take_us_with_it() -> None:
    async def act(read: Any, write: Any, asked: Any) -> None:
        sys.exit(3)

    outcome = Came(after_handshake(act))
    assert (outcome.is_gone, outcome.kind) == (True, "server_raised")
    assert "SystemExit: 3" in str(outcome.error)


def test_a_server_that_stops_the_loop_is_gone() -> None:
    async def act(read: Any, write: Any, asked: Any) -> None:
        asyncio.get_running_loop().stop()
        await read_on(read)

    outcome = Came(after_handshake(act), timeout=LONG_S)
    assert (outcome.is_gone, outcome.kind) == (True, "server_raised")
    assert "Event loop stopped" in str(outcome.error)


def test_an_exception_at_its_end_is_a_warning() -> None:
    async def act(read: Any, write: Any, asked: Any) -> None:
        await answered(write, asked.id, {"content": []})
        await read_on(read)
        raise OSError("on the way out")

    outcome = Came(after_handshake(act), LONG_S)
    assert outcome.verdict.success
    assert len(outcome.warned) == 1
    assert "server_raised: the server raised OSError: on the way out" in outcome.warned[0]


def test_an_exception_of_a_task_beside_it_is_a_warning() -> None:
    async def fail() -> None:
        raise ValueError("beside")

    async def act(read: Any, write: Any, asked: Any) -> None:
        task = asyncio.create_task(fail())
        await asyncio.wait({task})
        del task
        gc.collect()
        await answered(write, asked.id, {"content": []})
        await read_on(read)

    outcome = Came(after_handshake(act), LONG_S)
    assert outcome.verdict.success
    assert [words.partition(" (")[0] for words in outcome.warned] == [
        "server_raised: a task of the server raised, and nothing handled it: ValueError: beside"
    ]


def test_a_server_that_never_answers_is_bounded() -> None:
    outcome = Came(BadServer(lambda read, write: read_on(read)))
    assert (outcome.is_gone, outcome.kind) == (True, "handshake_timeout")
    assert outcome.warned == []


@pytest.mark.long
def test_a_server_that_hangs_is_bounded_and_cancelled() -> None:
    outcome = Came(after_handshake(lambda read, write, asked: wait_forever()))
    assert (outcome.is_gone, outcome.kind) == (False, "timeout")
    assert "needed_term: the server did not end when it was asked to" in outcome.warned[0]


@pytest.mark.long
def test_a_server_that_will_not_be_cancelled_is_let_go() -> None:
    async def act(read: Any, write: Any, asked: Any) -> None:
        while True:
            try:
                await wait_forever()
            except asyncio.CancelledError:
                continue

    outcome = Came(after_handshake(act))
    assert outcome.kind == "timeout"
    assert "needed_term" in outcome.warned[0]


@pytest.mark.long
def test_a_server_that_blocks_the_loop_times_out_with_the_reason_and_is_interrupted() -> None:
    async def act(read: Any, write: Any, asked: Any) -> None:
        while True:
            time.sleep(0.001)

    outcome = Came(after_handshake(act))
    assert outcome.kind == "timeout"
    assert "its code does not come back to the event loop: it is at test_mem" in str(outcome.error)
    assert "needed_kill: the server did not come back to the event loop" in outcome.warned[0]


@pytest.mark.long
def test_a_thread_that_cannot_be_ended_is_reported_as_left_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mcptest.transport.process.stopping.Grace.kill_s", 0.3)
    free = threading.Event()

    async def act(read: Any, write: Any, asked: Any) -> None:
        # One call into the system: nothing of Python runs until it is over.
        free.wait()

    outcome = Came(after_handshake(act))
    left = [each for each in threading.enumerate() if each.name == "mcptest-memory"]
    free.set()
    for thread in left:
        thread.join(20)
    assert len(left) == 1
    assert "left_behind: a thread of the server could not be ended" in outcome.warned[0]


def test_an_answer_with_another_id_is_the_hint_of_the_timeout() -> None:
    async def act(read: Any, write: Any, asked: Any) -> None:
        await answered(write, 999, {})
        await read_on(read)

    outcome = Came(after_handshake(act))
    assert outcome.kind == "timeout"
    assert "an answer with id 999 came" in str(outcome.error)
    assert outcome.warned == [
        "unknown_id: the server sent an answer whose id belongs to no open request"
    ]


def test_a_server_that_ends_early_is_gone() -> None:
    async def act(read: Any, write: Any, asked: Any) -> None:
        return

    outcome = Came(after_handshake(act))
    assert (outcome.is_gone, outcome.kind) == (True, "exited_during_call")
    assert "ended its stream while tools/call was waiting" in str(outcome.error)


def test_a_server_that_closes_its_stream_and_continues_counts_as_ended() -> None:
    async def act(read: Any, write: Any, asked: Any) -> None:
        await write.aclose()
        await read_on(read)

    outcome = Came(after_handshake(act))
    assert (outcome.is_gone, outcome.kind) == (True, "exited_during_call")


@pytest.mark.long
def test_a_server_that_stops_reading_is_reported_as_such() -> None:
    async def act(read: Any, write: Any, asked: Any) -> None:
        await read.aclose()
        await wait_forever()

    message = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CoprocessWarning)
        with mcptest.connect_memory(after_handshake(act), timeout=SHORT_S) as server:
            for _ in range(2):
                with pytest.raises(mcptest.UpstreamError) as caught:
                    server.call_tool("x")
                message.append(str(caught.value))
    assert "closed the stream" not in message[0]
    assert "it has closed the stream that messages go to" in message[1]


def test_an_object_that_is_not_a_message_is_noise() -> None:
    async def act(read: Any, write: Any, asked: Any) -> None:
        await write.send({"a": 1})
        await answered(write, asked.id, {"content": []})
        await read_on(read)

    outcome = Came(after_handshake(act), LONG_S)
    assert outcome.verdict.success
    assert "malformed_line" in outcome.warned[0]


@pytest.mark.long
def test_a_flood_is_held_back_and_ended() -> None:
    sent = 0

    async def act(read: Any, write: Any, asked: Any) -> None:
        nonlocal sent
        await answered(write, asked.id, {"content": []})
        while True:
            await answered(write, 77, {"a": "x" * 100_000})
            sent += 1

    outcome = Came(after_handshake(act), LONG_S)
    assert outcome.verdict.success
    assert sent > 0


# Apps


def app_error(answer: Callable[[dict[str, Any]], Awaitable[Any]]) -> Came:
    outcome = Came(small_app(answer))
    assert outcome.error, "there should be an error"
    return outcome


def test_an_exception_of_an_app_is_named_and_the_session_continues() -> None:
    async def answer(message: dict[str, Any]) -> None:
        raise KeyError("inside")

    outcome = app_error(answer)
    assert (outcome.is_gone, outcome.kind) == (False, "server_raised")
    assert "the app raised KeyError: 'inside' (test_memory_hostile.py:" in str(outcome.error)
    assert "at its start (lifespan) it raised AssertionError" in str(outcome.error)
    assert outcome.stderr.endswith("KeyError: 'inside'")


def test_an_exception_behind_a_status_of_500_is_named_instead_of_the_status() -> None:
    async def answer(message: dict[str, Any]) -> None:
        await respond(message["send"], 500, b"Internal Server Error")
        raise ValueError("the reason")

    assert "ValueError: the reason" in str(app_error(answer).error)


def test_an_exception_in_the_middle_of_a_stream_is_named() -> None:
    async def answer(message: dict[str, Any]) -> None:
        headers = [(b"content-type", b"text/event-stream")]
        start = {"type": "http.response.start", "status": 200, "headers": headers}
        await message["send"](start)
        await message["send"](
            {"type": "http.response.body", "body": b": hi\n\n", "more_body": True}
        )
        raise ValueError("mid stream")

    assert "ValueError: mid stream" in str(app_error(answer).error)


def test_an_exception_after_the_answer_is_a_warning() -> None:
    async def answer(message: dict[str, Any]) -> None:
        await respond(message["send"], 200, json_answer(message["id"], {"content": []}))
        raise ValueError("too late")

    outcome = Came(small_app(answer), LONG_S)
    assert outcome.verdict.success
    assert "server_raised" in outcome.warned[0]
    assert "ValueError: too late" in outcome.warned[0]


def test_an_exception_on_the_get_stream_is_a_warning() -> None:
    asked = asyncio.Event()

    async def answer(message: dict[str, Any]) -> dict[str, Any]:
        await asked.wait()
        return {"content": []}

    inner = small_app(answer)

    async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope.get("method") == "GET":
            asked.set()
            raise ValueError("no stream here")
        await inner(scope, receive, send)

    outcome = Came(app, timeout=20)
    assert outcome.verdict.success
    assert len(outcome.warned) == 1
    assert outcome.warned[0].startswith("server_raised: ")
    assert "ValueError: no stream here" in outcome.warned[0]


@pytest.mark.parametrize(
    ("sent", "text"),
    [
        ([], "the app returned without an answer"),
        ([{"type": "http.response.body"}], "sent http.response.body, where http.response.start"),
        ([{"type": "websocket.accept"}], "sent 'websocket.accept', where http.response.start"),
        ([{"type": "http.response.start", "status": "200"}], "sent the status '200'"),
        ([{"type": "http.response.start", "status": 20}], "sent the status 20"),
        (
            [{"type": "http.response.start", "status": 200, "headers": [("a", "b")]}],
            "headers that are not bytes",
        ),
        (
            [{"type": "http.response.start", "status": 200}, {"type": "http.response.start"}],
            "sent http.response.start, where http.response.body was due",
        ),
        (
            [
                {"type": "http.response.start", "status": 200},
                {"type": "http.response.body", "body": "text"},
            ],
            "sent a body that is not bytes",
        ),
        (
            [
                {"type": "http.response.start", "status": 200},
                {"type": "http.response.body", "body": b"{", "more_body": True},
            ],
            "the app returned before its answer was complete",
        ),
    ],
)
def test_an_app_that_breaks_asgi_is_reported(sent: list[dict[str, Any]], text: str) -> None:
    async def answer(message: dict[str, Any]) -> None:
        for each in sent:
            await message["send"](each)

    outcome = app_error(answer)
    assert outcome.kind == "http_body"
    assert text in str(outcome.error)


def test_an_app_that_hangs_is_bounded() -> None:
    outcome = app_error(lambda message: wait_forever())
    assert outcome.kind == "timeout"


def test_an_app_that_blocks_the_loop_times_out_with_the_reason() -> None:
    async def answer(message: dict[str, Any]) -> None:
        while True:
            time.sleep(0.001)

    outcome = app_error(answer)
    assert outcome.kind == "timeout"
    assert "its code does not come back to the event loop" in str(outcome.error)
    assert "needed_kill" in outcome.warned[0]


def test_an_app_that_answers_another_request_is_reported() -> None:
    async def answer(message: dict[str, Any]) -> None:
        await respond(message["send"], 200, json_answer(999, {}))

    outcome = app_error(answer)
    assert outcome.kind == "http_body"
    assert "a message that is not a response to it" in str(outcome.error)


def test_an_app_that_exits_does_not_take_us_with_it() -> None:
    async def answer(message: dict[str, Any]) -> None:
        sys.exit(4)

    outcome = app_error(answer)
    assert (outcome.is_gone, outcome.kind) == (True, "server_raised")
    assert "SystemExit: 4" in str(outcome.error)


# Their lifespans


def lived(*, fails: str = "", shutdown: Exception | None = None, hangs: bool = False) -> Any:
    """An app with a lifespan in which something goes wrong."""

    async def answer(message: dict[str, Any]) -> dict[str, Any]:
        return {"content": []}

    inner = small_app(answer)

    async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "lifespan":
            await inner(scope, receive, send)
            return
        await receive()
        if hangs:
            await wait_forever()
        if fails:
            await send({"type": "lifespan.startup.failed", "message": fails})
            return
        await send({"type": "lifespan.startup.complete"})
        await receive()
        if shutdown:
            raise shutdown
        await send({"type": "lifespan.shutdown.complete"})

    return app


def test_an_app_that_starts_and_ends_well_is_silent() -> None:
    outcome = Came(lived(), LONG_S)
    assert outcome.verdict.success
    assert outcome.warned == []


def test_an_app_that_cannot_start_says_why() -> None:
    outcome = Came(lived(fails="the database is down"))
    assert (outcome.is_gone, outcome.kind) == (True, "server_raised")
    assert str(outcome.error) == "the app could not be started: the database is down"


@pytest.mark.long
def test_an_app_that_does_not_start_is_bounded() -> None:
    outcome = Came(lived(hangs=True))
    assert (outcome.is_gone, outcome.kind) == (True, "handshake_timeout")
    assert "the app has not started after 0.3 s" in str(outcome.error)


@pytest.mark.parametrize("is_made", [False, True])
def test_an_exception_of_an_app_when_it_ends_is_a_warning(is_made: bool) -> None:
    app = lived(shutdown=ValueError("in shutdown"))
    outcome = Came((lambda: app) if is_made else app, LONG_S)
    assert outcome.verdict.success
    assert len(outcome.warned) == 1
    assert "server_raised: the server raised ValueError: in shutdown" in outcome.warned[0]
