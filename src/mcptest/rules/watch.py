"""Judge a live session in the time that is spent waiting for the server anyway.

Traffic is only collected when it passes. It is judged while the next answer is awaited. Judging
that could take longer than the answer is put off until no answer is awaited: it would be counted
as time of the server. After a few plain answers to plain calls, further ones are only counted: no
rule can find anything new in them. The rules themselves are imported then too, because loading
them takes 10 ms.
"""

from __future__ import annotations

from mcptest.core.strict_json import dump_json, parse_json
from mcptest.protocol.framing import Frame, Noise, Overlong
from mcptest.protocol.jsonrpc import is_plain_answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcptest.core.results import SessionScore
    from mcptest.protocol.framing import TransportFault
    from mcptest.protocol.jsonrpc import IdKey
    from mcptest.rules.judge import LiveJudge, Member

    Item = Frame | Noise | Overlong | TransportFault
    Message = dict[str, object]

__all__ = ["RuleWatch"]

# Items that may wait to be judged; beyond that they are judged at once.
_MAX_WAITING = 500

# Plain answers that are judged before further ones are only counted.
_ENOUGH = 3

_CALL = b'"method":"tools/call"'
_METHOD, _ID = b'"method":', b'"id":'
_EXTRA = b'"_meta"'


class RuleWatch:
    """Observes one session. Findings name requests by their `written_ids`."""

    def __init__(
        self, label: str, transport: str, written_ids: Mapping[IdKey, object] | None = None
    ) -> None:
        self._label = label
        self._transport = transport
        self._written_ids = written_ids
        # Traffic that was not sorted yet, and the part of it that is to be judged.
        self._passed: list[bytes | Sequence[Item]] = []
        self._waiting: list[bytes | Item] = []
        self._judge: LiveJudge | None = None
        # A call that waits for its answer, how many plain ones have been judged, and the ids of
        # those that have been skipped.
        self._call = b""
        self._seen = 0
        self._skipped: list[object] = []
        self._known = -1
        # How many errors the tests expected, by the method of the call.
        self._expected_errors: dict[str, int] = {}
        # True if judging was put off until no answer is awaited.
        self.is_behind = False

    def sent(self, line: bytes) -> None:
        self._passed.append(line)
        if len(self._passed) > _MAX_WAITING:
            self._sort()

    def received(self, items: Sequence[Item]) -> None:
        self._passed.append(items)
        if len(items) > 1 or len(self._passed) > _MAX_WAITING:
            self._sort()

    def _sort(self) -> None:
        """Separate what is to be judged from what need only be counted."""
        passed, self._passed = self._passed, []
        for each in passed:
            if isinstance(each, bytes):
                if self._call:
                    self._give_up_call()
                # A call of a tool, with only one method and one id.
                is_plain = (
                    _CALL in each
                    and _EXTRA not in each
                    and each.count(_METHOD) == 1
                    and each.count(_ID) == 1
                )
                if is_plain and self._seen >= _ENOUGH:
                    self._call = each
                else:
                    self._wait_with([each], is_plain=is_plain)
            else:
                self._sort_received(each)

    def _sort_received(self, items: Sequence[Item]) -> None:
        answer = _plain_answer(items)
        if self._call and answer and _has_id_of(answer, self._call):
            self._call = b""
            self._skipped.append(answer["id"])
            if len(self._skipped) > _MAX_WAITING:
                self._skip(self._judge or self._made())
        elif items:
            if self._call:
                self._give_up_call()
            self._wait_with(items, is_plain=answer is not None)

    def _give_up_call(self) -> None:
        call, self._call = self._call, b""
        self._wait_with([call], is_plain=True)

    def _wait_with(self, items: Sequence[bytes | Item], *, is_plain: bool) -> None:
        self._waiting += items
        if not is_plain:
            # It may change what is known: nothing is skipped until it has been judged.
            self._seen = 0
        if len(self._waiting) > _MAX_WAITING:
            self._judge_waiting()

    def work(self) -> None:
        """Judge while an answer is awaited; what may take long is put off."""
        if self.is_behind:
            return
        self._sort()
        if self._waiting:
            self._judge_waiting(is_awaited=True)

    def catch_up(self) -> None:
        """Judge everything, while no answer is awaited."""
        self.is_behind = False
        self._sort()
        if self._waiting:
            self._judge_waiting()

    def _judge_waiting(self, *, is_awaited: bool = False) -> None:
        judge = self._judge or self._made()
        self._skip(judge)
        waiting, self._waiting = self._waiting, []
        for index, each in enumerate(waiting):
            if is_awaited and not _is_light(each, judge):
                self._waiting, self.is_behind = waiting[index:], True
                break
            if isinstance(each, bytes):
                judge.client(parse_json(each.decode("utf-8")))
            elif isinstance(each, Frame):
                judge.server(each.value, each.http)
            elif isinstance(each, (Noise, Overlong)):
                judge.noise(each.raw.decode("utf-8", "backslashreplace"))
        # Begin again whenever something becomes known that a verdict may depend on.
        if judge.state != self._known:
            self._known, self._seen = judge.state, 0
        elif judge.may_skip:
            self._seen += 1

    def _skip(self, judge: LiveJudge) -> None:
        skipped, self._skipped = self._skipped, []
        judge.skip(skipped)

    def _made(self) -> LiveJudge:
        # See the module docstring.
        from mcptest.rules.judge import LiveJudge  # noqa: PLC0415

        self._judge = LiveJudge(self._label, self._transport, self._written_ids)
        return self._judge

    def note_expected_error(self, method: str) -> None:
        """A call of this method was answered with an error, as its test expects."""
        self._expected_errors[method] = self._expected_errors.get(method, 0) + 1

    def finish(
        self, exit_status: str, *, ended_by: str = "", is_stderr_utf8: bool | None = None
    ) -> tuple[SessionScore, Member]:
        """The session is over: the verdicts, and what other sessions are compared with."""
        self._sort()
        if self._call:
            self._give_up_call()
        self.catch_up()
        judge = self._judge or self._made()
        score = judge.finish(
            exit_status,
            ended_by=ended_by,
            is_stderr_utf8=is_stderr_utf8,
            expected_errors=self._expected_errors,
        )
        return score, judge.member


def _is_light(each: bytes | Item, judge: LiveJudge) -> bool:
    """True if the loaded rules are enough to judge this."""
    if judge.has_all_rules:
        return True
    if isinstance(each, bytes):
        return judge.is_ordinary(parse_json(each.decode("utf-8")), is_client=True)
    if isinstance(each, Frame) and each.http is None:
        return judge.is_ordinary(each.value, is_client=False)
    return False


def _plain_answer(items: Sequence[Item]) -> Message | None:
    """The message, if it is a plain answer that came alone."""
    item = items[0] if len(items) == 1 else None
    # How a message came over HTTP is judged for each one.
    if isinstance(item, Frame) and item.http is None and is_plain_answer(item.value):
        return item.value
    return None


def _has_id_of(answer: Message, call: bytes) -> bool:
    """True if an answer is the one to this call."""
    id = answer["id"]
    if type(id) not in (str, int):
        return False
    # As it would be sent: half a pair of surrogates cannot be encoded otherwise.
    return f'"id":{dump_json(id)},'.encode("utf-8", "backslashreplace") in call
