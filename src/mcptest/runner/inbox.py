"""What a server has sent, and what that means for the call that is waiting.

Items that framing found go in. Answers, faults, findings and clues are kept here for
whoever drives the server; what is owed to the server in return comes out. Pure.
"""

from __future__ import annotations

import re

from mcptest.core import jsonrpc
from mcptest.core.framing import Frame, Noise
from mcptest.core.record import ABSENT
from mcptest.core.secrets import redact_all
from mcptest.core.session import (
    Answered,
    Asked,
    Continued,
    Echoed,
    Notified,
    Strayed,
    Violated,
)
from mcptest.core.strict_json import dump_json
from mcptest.core.trouble import Trouble
from mcptest.runner import faults

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, TypeVar

    from mcptest.core.framing import Overlong
    from mcptest.core.outcome import Fault
    from mcptest.core.session import ClientSession, Message, SessionEvent
    from mcptest.runner.findings import Findings

    Item = Frame | Noise | Overlong | Trouble
    Quoted = TypeVar("Quoted", Strayed, Violated)

__all__ = ["Inbox"]

# How many odd things during one call are remembered as its possible cause.
_MAX_CLUES = 1000

_TOOLS_CHANGED = "notifications/tools/list_changed"

# How many notifications of one step are kept for a test that looks at them.
_MAX_NOTIFICATIONS = 10_000


class Inbox:
    """Sorts what arrives. `answer` is that of the awaited call, ABSENT until it comes."""

    def __init__(
        self, session: ClientSession, findings: Findings, redact: Callable[[str], str] | None
    ) -> None:
        self._session = session
        self._findings = findings
        self._redact = redact
        self._awaited: object = ABSENT
        self._broken: Fault | None = None
        self._forgiven: set[jsonrpc.IdKey] = set()
        # By wire id, the calls that were sent while a line was arriving, and its number.
        self._sent_during: dict[jsonrpc.IdKey, int] = {}
        self.answer: Any = ABSENT
        self.clues: list[str] = []
        self.noise: list[str] = []
        self.messages = 0
        self.notifications: list[Any] = []
        self._keeps_notifications = False
        # How often the server has said that its tools are others.
        self.tool_changes = 0
        # Hears of everything first; what it takes concerns nobody else.
        self.listener: Callable[[SessionEvent], bool] | None = None

    def start_step(self) -> None:
        """What comes from here on belongs to the next step."""
        self.messages = 0
        self._keeps_notifications = False
        if self.clues:
            # Other lists, not empty ones: somebody may still tell of these.
            self.clues, self.noise = [], []
        if self.notifications:
            self.notifications = []

    def keep_notifications(self) -> None:
        """The step at hand looks at what the server says on its own."""
        self._keeps_notifications = True

    def expect(self, id: object) -> None:
        """A call with this id is sent, and its answer is waited for."""
        self._awaited, self.answer = id, ABSENT

    def sent_during_line(self, id: object, line: int) -> None:
        """A call with this id is sent while the line with this number is arriving."""
        self._sent_during[jsonrpc.id_key(self._session.wire_id(id))] = line

    def stop_expecting(self) -> None:
        self._awaited = ABSENT

    def forgive(self, id: object) -> None:
        """It was us who gave this call up before its time: a late answer is no fault."""
        self._forgiven.add(jsonrpc.id_key(self._session.wire_id(id)))

    @property
    def is_waiting(self) -> bool:
        return self._awaited is not ABSENT and self.answer is ABSENT

    @property
    def is_broken(self) -> bool:
        return self._broken is not None

    def take(self, items: Iterable[Item]) -> list[Message]:
        """Sort what has arrived; the replies that the server is owed."""
        owed: list[Message] = []
        for item in items:
            self.messages += 1
            if isinstance(item, Frame):
                self._take_frame(item, owed)
            elif isinstance(item, Noise):
                self._take_noise(item)
            elif isinstance(item, Trouble):
                self._take_trouble(item)
            else:
                self.break_off(faults.too_long(item))
        return owed

    def take_fault(self) -> Fault | None:
        """What has made it impossible to go on, told once."""
        broken, self._broken = self._broken, None
        return broken

    def break_off(self, fault: Fault) -> None:
        """Nothing more can be expected of the server; the next step that waits raises it."""
        # The first one is the cause; what came after it is looked at all the same.
        self._broken = self._broken or fault

    def _take_frame(self, frame: Frame, owed: list[Message]) -> None:
        if self._sent_during and self._is_early(frame):
            self._findings.add("early_response", faults.STRAYS["early_response"])
            return
        # Over HTTP it matters on which stream an answer comes.
        is_special = self.listener or frame.answers is not None
        id = ABSENT if is_special else self._session.take_answer(frame.value)
        if id is ABSENT:
            self._take_events(frame, owed)
        else:
            self._take_answer(self._session.as_written(frame.value), id)

    def _is_early(self, frame: Frame) -> bool:
        """Whether a line answers a call that was sent only when the line had begun."""
        keys = {key for key, line in self._sent_during.items() if line == frame.line}
        self._sent_during = {
            key: line for key, line in self._sent_during.items() if line > frame.line
        }
        values: list[Any] = frame.value if isinstance(frame.value, list) else [frame.value]
        return any(
            isinstance(value, dict)
            and "method" not in value
            and jsonrpc.id_key(value.get("id")) in keys
            for value in values
        )

    def _take_events(self, frame: Frame, owed: list[Message]) -> None:
        for event in self._session.receive(frame.value, frame.answers):
            if isinstance(event, Echoed):
                self.break_off(faults.echoed())
            elif isinstance(event, Strayed):
                self._take_stray(event)
            elif self.listener and self.listener(event):
                continue
            elif isinstance(event, Answered):
                self._take_answer(event.message, event.id)
            elif isinstance(event, Asked):
                owed.append(event.reply)
            elif isinstance(event, Continued):
                owed.append(event.request)
            elif isinstance(event, Notified):
                self._take_notification(event)
            elif isinstance(event, Violated):
                self._take_violation(self._without_secrets(event))

    def _take_stray(self, event: Strayed) -> None:
        is_late = event.kind == "late_response"
        if is_late and jsonrpc.id_key(event.message.get("id")) in self._forgiven:
            return
        as_written = event.but(message=self._session.as_written(event.message))
        if self.listener:
            self.listener(as_written)
        wire_id = self._session.wire_id(self._awaited)
        self.suspect(faults.stray_clue(self._without_secrets(event), wire_id))
        self._findings.add_stray(self._without_secrets(as_written))

    def _take_notification(self, event: Notified) -> None:
        if event.message["method"] == _TOOLS_CHANGED:
            self.tool_changes += 1
        if self._keeps_notifications and len(self.notifications) < _MAX_NOTIFICATIONS:
            self.notifications.append(event.message)

    def _without_secrets(self, event: Quoted) -> Quoted:
        if self._redact is None:
            return event
        cleaned: Quoted = redact_all(event, self._redact)
        return cleaned

    def _take_answer(self, message: object, id: object) -> None:
        if id is self._awaited or jsonrpc.id_key(id) == jsonrpc.id_key(self._awaited):
            self.answer = message

    def _take_violation(self, event: Violated) -> None:
        if event.id is not ABSENT:
            self.break_off(faults.violation(event))
            return
        self.suspect(faults.violation_sentence(event, with_quote=True))
        self._findings.add_violation(event)

    def _take_trouble(self, trouble: Trouble) -> None:
        key = jsonrpc.id_key(self._session.awaited_id(trouble.id))
        if trouble.id is not ABSENT:
            self._session.spoiled(trouble.id)
        is_awaited = trouble.id is not ABSENT and key == jsonrpc.id_key(self._awaited)
        if is_awaited or trouble.is_refusal:
            self.break_off(faults.channel_failed(trouble))
            return
        self.suspect(trouble.message)
        self._findings.add(trouble.kind, trouble.message)

    def _take_noise(self, noise: Noise) -> None:
        self._findings.add_noise(noise)
        wire_id = self._session.wire_id(self._awaited)
        if self._awaited is not ABSENT and _is_meant_for(noise.raw, wire_id):
            self._session.spoiled(wire_id)
            self.break_off(faults.malformed(noise))
            return
        quote = faults.quoted_line(noise.raw, noise.size)
        clue = f"it wrote a line that is not JSON ({noise.reason}): {quote}"
        self.suspect(clue)
        if len(self.noise) < _MAX_CLUES:
            self.noise.append(clue)

    def suspect(self, clue: str) -> None:
        """Remember something odd as a possible reason why the answer does not come."""
        if len(self.clues) < _MAX_CLUES:
            self.clues.append(clue)


def _is_meant_for(raw: bytes, id: object) -> bool:
    """Does a broken line carry the id we wait for? Then waiting longer is pointless."""
    wanted = re.escape(dump_json(id).encode("utf-8", "backslashreplace"))
    # Without its NULs, UTF-16 can be read well enough.
    text = raw.replace(b"\0", b"")
    is_json = text.lstrip().startswith((b"{", b"[", b'"'))
    if not is_json and b'"result"' not in text and b'"error"' not in text:
        # A log line may hold any id.
        return False
    return re.search(rb'"id"\s*:\s*' + wanted + rb"\s*[,}]", text) is not None
