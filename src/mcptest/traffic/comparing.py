"""Lay several recordings of the same conversation over each other, message by message."""

from __future__ import annotations

from itertools import zip_longest

from mcptest.core.jsonrpc import message_kind
from mcptest.traffic.naming import method_of
from mcptest.traffic.recording import mistake, parts_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.core.errors import FormatError
    from mcptest.traffic.recording import Message, Recording, Spoken

__all__ = ["laid_over"]


def laid_over(recordings: list[Recording]) -> Recording:
    """The first recording, each message with those that stand in its place in the others."""
    first, *others = recordings
    for other in others:
        _refuse_other_sequence(first, other)
    sessions = [
        parts[0].but(messages=tuple(map(_joined, *(each.messages for each in parts))))
        for parts in zip(*(recording.sessions for recording in recordings), strict=True)
    ]
    notes = tuple(note for recording in recordings for note in recording.notes)
    return first.but(sessions=tuple(sessions), notes=notes)


def _joined(first: Spoken, *others: Spoken) -> Spoken:
    return first.but(others=tuple(other.message for other in others))


def _refuse_other_sequence(first: Recording, other: Recording) -> None:
    pairs = zip_longest(_shapes(first), _shapes(other), fillvalue="the end of the recording")
    for number, (wanted, seen) in enumerate(pairs, 1):
        if wanted != seen:
            raise _other_sequence(first, other, number, wanted, seen)


def _other_sequence(
    first: Recording, other: Recording, number: int, wanted: str, seen: str
) -> FormatError:
    message = (
        f"this recording does not hold the same conversation as {first.file}: "
        f"message {number:,} is {seen}, and {wanted} there"
    )
    help = "record the same steps again, or make a contract of each recording by itself"
    return mistake("F005", other.file, message, help)


def _shapes(recording: Recording) -> list[str]:
    """What kind of message follows on what, session by session."""
    found = []
    for number, session in enumerate(recording.sessions, 1):
        found += [_shape(spoken) for spoken in session.messages]
        found.append(f"the end of session {number}")
    return found


def _shape(spoken: Spoken) -> str:
    whose = "the client's" if spoken.direction == "in" else "the server's"
    kinds = " and ".join(map(_kind, parts_of(spoken.message)))
    return f"{whose} {kinds}"


def _kind(message: Message) -> str:
    kind = message_kind(message)
    if kind == "response":
        return "error" if message.get("error") is not None else "result"
    return f"{kind} {method_of(message)}"
