"""Read a capture file and judge it as it passes; a malformed one is refused with the place."""

from __future__ import annotations

from mcptest.core.conformance import CaptureScore
from mcptest.core.diagnostics import Diagnostic
from mcptest.core.errors import FormatError
from mcptest.core.json_stream import BrokenStreamError, JsonStream
from mcptest.invariants.composition import hazards_of
from mcptest.invariants.judging import SessionJudge
from mcptest.matching.values import type_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from mcptest.core.conformance import SessionScore
    from mcptest.invariants.composition import Member

__all__ = ["score_file"]

_HELP = (
    'a capture is {"server_label": "…", "server_capabilities": {…}, "exchanges": '
    '[{"request": {…}, "response": {…}}]}, or an array of such sessions'
)
# Members that must be of one type when they are there.
_TEXTS = ("server_label", "transport", "protocol_version", "started_at", "exit_status")


def score_file(read: Callable[[], str], file: str) -> CaptureScore:
    """The score of the capture that `read` gives piece by piece; FormatError when it is none."""
    reader = _Reader(JsonStream(read), file)
    try:
        return reader.capture()
    except BrokenStreamError as error:
        raise FormatError(
            [
                Diagnostic(
                    code="F002",
                    file=file,
                    message=f"not valid JSON: {error.reason}",
                    line=error.line,
                    column=error.column,
                )
            ]
        ) from None


class _Reader:
    """Walks through one capture."""

    def __init__(self, stream: JsonStream, file: str) -> None:
        self._stream = stream
        self._file = file
        self._scores: list[SessionScore] = []
        self._members: list[Member] = []

    def capture(self) -> CaptureScore:
        if self._stream.takes("["):
            if not self._stream.takes("]"):
                self._session("[0]")
                while self._stream.takes(","):
                    self._session(f"[{len(self._scores)}]")
                self._stream.take("]")
        else:
            self._session("")
        if self._stream.peek():
            raise self._stream.error("something follows the end of the capture")
        if not self._scores:
            raise self._refused("F011", "there is no session in this capture: it shows nothing")
        return CaptureScore(sessions=tuple(self._scores), hazards=tuple(hazards_of(self._members)))

    def _session(self, where: str) -> None:
        if not self._stream.peek() and not where:
            raise self._refused("F005", "the file is empty")
        if self._stream.peek() != "{":
            raise self._refused("F008", f"{where or 'a capture'} must be an object")
        judge, seen = SessionJudge(), set()
        self._stream.take("{")
        while self._stream.peek() != "}":
            name = self._stream.value()
            if not isinstance(name, str):
                raise self._stream.error("expected a key in double quotes")
            self._stream.take(":")
            if name == "exchanges":
                self._exchanges(judge, f"{where}.exchanges".lstrip("."))
            else:
                self._member(judge, name, f"{where}.{name}".lstrip("."))
            if name in seen and name == "exchanges":
                raise self._refused("F003", f'{where or "the session"} has "exchanges" twice')
            seen.add(name)
            if not self._takes_comma("}"):
                break
        for name in ("server_label", "exchanges"):
            if name not in seen:
                raise self._refused("F007", f'{where or "the session"} has no "{name}"')
        self._stream.take("}")
        self._scores.append(judge.finish())
        self._members.append(judge.member)

    def _takes_comma(self, closing: str) -> bool:
        if not self._stream.takes(","):
            return False
        if self._stream.peek() == closing:
            raise self._stream.error("a comma with nothing after it")
        return True

    def _member(self, judge: SessionJudge, name: str, where: str) -> None:
        self._stream.peek()
        place = self._stream.error("")
        value = self._stream.value()
        if name in _TEXTS and not isinstance(value, str):
            raise self._refused("F008", f"{where} must be text and is {type_name(value)}", place)
        if name == "server_capabilities" and not isinstance(value, (dict, type(None))):
            message = f"{where} must be an object or null and is {type_name(value)}"
            raise self._refused("F008", message, place)
        judge.note(name, value)

    def _exchanges(self, judge: SessionJudge, where: str) -> None:
        if self._stream.peek() != "[":
            raise self._refused("F008", f"{where} must be an array")
        self._stream.take("[")
        index = 0
        while self._stream.peek() != "]":
            judge.exchange(self._exchange(f"{where}[{index}]"))
            index += 1
            if not self._takes_comma("]"):
                break
        self._stream.take("]")

    def _exchange(self, where: str) -> dict[str, Any]:
        self._stream.peek()
        place = self._stream.error("")
        exchange = self._stream.value()
        if not isinstance(exchange, dict):
            message = f"{where} must be an object and is {type_name(exchange)}"
            raise self._refused("F008", message, place)
        if "request" not in exchange:
            raise self._refused("F007", f'{where} has no "request"', place)
        for member in ("request", "response"):
            value = exchange.get(member, {})
            if not isinstance(value, (dict, list)) and (member == "request" or value is not None):
                message = f"{where}.{member} must be an object and is {type_name(value)}"
                raise self._refused("F008", message, place)
        return exchange

    def _refused(
        self, code: str, message: str, place: BrokenStreamError | None = None
    ) -> FormatError:
        place = place or self._stream.error("")
        return FormatError(
            [
                Diagnostic(
                    code=code,
                    file=self._file,
                    message=message,
                    line=place.line,
                    column=place.column,
                    help=_HELP,
                )
            ]
        )
