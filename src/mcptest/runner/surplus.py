"""What a server said that nobody wanted, as mismatches of the case during which it came. Pure."""

from __future__ import annotations

from mcptest.core import jsonrpc
from mcptest.core.outcome import Mismatch
from mcptest.core.record import ABSENT
from mcptest.core.text import show_json, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from mcptest.core.session import Message
    from mcptest.runner.ear import Ear

__all__ = ["other_kind", "stray_mismatches", "strict_mismatches"]


def stray_mismatches(ear: Ear, open_ids: Sequence[object]) -> Iterator[Mismatch]:
    """Answers to ids that were never sent."""
    for stray in ear.strays:
        said = jsonrpc.describe_id(stray.get("id"))
        message = f"the server answered {said}, and no request with that id was sent"
        yield _surplus(message, stray, _same_looking(stray.get("id"), open_ids))


def strict_mismatches(ear: Ear, noise: Sequence[str]) -> Iterator[Mismatch]:
    """Everything that no turn of a strict dialogue speaks of."""
    for heard in ear.unclaimed:
        method = visible(heard.message["method"])
        yield _surplus(f"{method} came, and with _strict only what is written may", heard.message)
    for again in ear.repeats:
        said = jsonrpc.describe_id(again.get("id"))
        yield _surplus(f"{said} was answered a second time, and with _strict once is enough", again)
    for line in noise:
        yield _surplus(f"{line}; with _strict only what is written may come", ABSENT)


def _surplus(message: str, actual: object, hint: str = "") -> Mismatch:
    return Mismatch(path="surplus", expected=ABSENT, actual=actual, message=message, hint=hint)


def _same_looking(id: object, others: Sequence[object]) -> str:
    for other in others:
        if str(id) == str(other):
            return f"{jsonrpc.describe_id(other)} was; as ids, numbers and texts differ"
    return ""


def other_kind(key: str, wanted: Any, message: Message) -> Mismatch | None:
    """That a result came where an error is wanted, or the other way round."""
    for member, other in (("result", "error"), ("error", "result")):
        if member in wanted and member not in message and other in message:
            return Mismatch(
                path=f"{key}.{member}",
                expected=wanted[member],
                actual=ABSENT,
                message=f"the server answered with {_a(other)} instead of {_a(member)}",
                hint=f"the {other} is {show_json(message[other])}",
            )
    return None


def _a(member: str) -> str:
    return "an error" if member == "error" else "a result"
