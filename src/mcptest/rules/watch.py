"""Judge a live session in the time that is spent waiting for the server anyway.

Traffic is only collected when it passes, and judged while the next answer is awaited. What could
take longer than that answer is put off until no answer is awaited: the test would count it as time
of the server. So is importing the rules, which takes 10 ms. After a few plain answers to plain
calls, further ones are skipped, that is, only counted: no rule can find anything new in them.
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
    from mcptest.rules.scorer import LiveScorer, SessionNames

    Item = Frame | Noise | Overlong | TransportFault
    Message = dict[str, object]

__all__ = ["RuleWatch"]

# Items that may wait to be judged; beyond that they are judged at once.
_MAX_WAITING = 500

# So many times plain calls and answers are judged before further ones are skipped.
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
        # Traffic that was not sorted yet, and the part of it that must be judged.
        self._unsorted: list[bytes | Sequence[Item]] = []
        self._queue: list[bytes | Item | list[object]] = []
        self._scorer: LiveScorer | None = None
        # The plain call that is skipped if the next message is a plain answer to it.
        self._held_call = b""
        # The ids of skipped calls that the scorer does not know of yet. Those that came after
        # something that is queued are lists in the queue, so that all are counted in their order.
        self._skipped_ids: list[object] = []
        # How many times plain traffic was judged since the scorer came into this state.
        self._plain_rounds = 0
        self._scorer_state: object = None
        # How many errors the tests expected, by the method of the call.
        self._expected_errors: dict[str, int] = {}
        # True if judging was put off until no answer is awaited.
        self.is_behind = False

    def sent(self, line: bytes) -> None:
        self._unsorted.append(line)
        if len(self._unsorted) > _MAX_WAITING:
            self._sort()

    def received(self, items: Sequence[Item]) -> None:
        self._unsorted.append(items)
        if len(items) > 1 or len(self._unsorted) > _MAX_WAITING:
            self._sort()

    def work(self) -> None:
        """Judge while an answer is awaited; what may take long is put off."""
        if self.is_behind:
            return
        self._sort()
        if self._queue:
            self._judge_queue(is_awaited=True)

    def catch_up(self) -> None:
        """Judge everything, while no answer is awaited."""
        self.is_behind = False
        self._sort()
        if self._queue:
            self._judge_queue()

    def _sort(self) -> None:
        """Queue what must be judged, and skip plain calls with plain answers."""
        unsorted, self._unsorted = self._unsorted, []
        for each in unsorted:
            if isinstance(each, bytes):
                self._queue_held_call()
                is_plain = _is_plain_call(each)
                if is_plain and self._plain_rounds >= _ENOUGH:
                    self._held_call = each
                else:
                    self._add_to_queue([each], is_plain=is_plain)
                continue
            answer = _plain_answer(each)
            if self._held_call and answer and _has_id_of(answer, self._held_call):
                self._held_call = b""
                self._skip(answer["id"])
            elif each:
                self._queue_held_call()
                self._add_to_queue(each, is_plain=answer is not None)

    def _skip(self, id: object) -> None:
        if not self._queue:
            ids = self._skipped_ids
        elif isinstance(self._queue[-1], list):
            ids = self._queue[-1]
        else:
            ids = []
            self._queue.append(ids)
        ids.append(id)
        if len(ids) > _MAX_WAITING:
            if self._queue:
                self._judge_queue()
            else:
                self._report_skipped(self._get_scorer())

    def _queue_held_call(self) -> None:
        if self._held_call:
            call, self._held_call = self._held_call, b""
            self._add_to_queue([call], is_plain=True)

    def _add_to_queue(self, items: Sequence[bytes | Item], *, is_plain: bool) -> None:
        self._queue += items
        if not is_plain:
            # It may change what is known: nothing is skipped until it has been judged.
            self._plain_rounds = 0
        if len(self._queue) > _MAX_WAITING:
            self._judge_queue()

    def _judge_queue(self, *, is_awaited: bool = False) -> None:
        scorer = self._get_scorer()
        self._report_skipped(scorer)
        queue, self._queue = self._queue, []
        for index, each in enumerate(queue):
            if is_awaited and not _is_light(each, scorer):
                self._queue, self.is_behind = queue[index:], True
                break
            if isinstance(each, list):
                scorer.skip(each)
            elif isinstance(each, bytes):
                scorer.client(parse_json(each.decode("utf-8")))
            elif isinstance(each, Frame):
                scorer.server(each.value, each.http)
            elif isinstance(each, (Noise, Overlong)):
                scorer.noise(each.raw.decode("utf-8", "backslashreplace"))
        # Begin again whenever something becomes known that a verdict may depend on.
        if scorer.state != self._scorer_state:
            self._scorer_state, self._plain_rounds = scorer.state, 0
        elif scorer.may_skip:
            self._plain_rounds += 1

    def _report_skipped(self, scorer: LiveScorer) -> None:
        skipped, self._skipped_ids = self._skipped_ids, []
        scorer.skip(skipped)

    def _get_scorer(self) -> LiveScorer:
        if self._scorer is None:
            # See the module docstring.
            from mcptest.rules.scorer import LiveScorer  # noqa: PLC0415

            self._scorer = LiveScorer(self._label, self._transport, self._written_ids)
        return self._scorer

    def note_expected_error(self, method: str) -> None:
        """A call of this method was answered with an error, as its test expects."""
        self._expected_errors[method] = self._expected_errors.get(method, 0) + 1

    def finish(
        self, exit_status: str, *, ended_by: str = "", is_stderr_utf8: bool | None = None
    ) -> tuple[SessionScore, SessionNames]:
        """The session is over: the verdicts, and what other sessions are compared with."""
        self._sort()
        self._queue_held_call()
        self.catch_up()
        scorer = self._get_scorer()
        score = scorer.finish(
            exit_status,
            ended_by=ended_by,
            is_stderr_utf8=is_stderr_utf8,
            expected_errors=self._expected_errors,
        )
        return score, scorer.names


def _is_plain_call(line: bytes) -> bool:
    """True for a call of a tool, with only one method and one id."""
    return (
        _CALL in line and _EXTRA not in line and line.count(_METHOD) == 1 and line.count(_ID) == 1
    )


def _is_light(each: bytes | Item | list[object], scorer: LiveScorer) -> bool:
    """True if the loaded rules are enough to judge this."""
    if scorer.has_all_rules or isinstance(each, list):
        return True
    if isinstance(each, bytes):
        return scorer.is_ordinary(parse_json(each.decode("utf-8")), is_client=True)
    if isinstance(each, Frame) and each.http is None:
        return scorer.is_ordinary(each.value, is_client=False)
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
