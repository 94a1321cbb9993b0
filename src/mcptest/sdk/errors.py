"""What can go wrong between a program that uses the SDK and the server it asks.

* CoprocessError
  - BinaryError            the mcptest binary cannot be started, ended, or says nothing
    · OverdueError         it did not answer in time
  - VersionError           it speaks another version; the sentence says which side to upgrade
  - ContractError          it said something that this version of the contract does not know
  - RefusedError           it refused a request; has a `code`, a `message` and `data`
    · UpstreamError        the server under test said no
    · UpstreamGoneError    the server under test could not be started, or is gone

Arguments that make no sense are a TypeError or a ValueError, as everywhere in Python. What the
binary has to say that breaks no call is a CoprocessWarning.
"""

from __future__ import annotations

from mcptest.core.errors import McptestError
from mcptest.core.secrets import redact_all, redactor
from mcptest.core.strict_json import dump_json
from mcptest.core.text import shorten, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "MAYBE_DONE",
    "BinaryError",
    "ContractError",
    "CoprocessError",
    "CoprocessWarning",
    "OverdueError",
    "RefusedError",
    "UpstreamError",
    "UpstreamGoneError",
    "VersionError",
    "blanked",
    "quoted",
    "quoted_line",
    "refusal_of",
]

_UPSTREAM_ERROR, _UPSTREAM_GONE = -32000, -32001

MAYBE_DONE = "it may have had its effect all the same"

_MAX_QUOTED = 200
# The secrets of every server that this program has been connected to.
_redact = redactor(())


def blanked(value: Any) -> Any:
    """The same value without the secrets of any server."""
    return redact_all(value, _redact)


def quoted(value: object) -> str:
    """A JSON value as a message can show it."""
    return quoted_line(dump_json(value))


def quoted_line(line: str) -> str:
    """A line as a message can show it."""
    return visible(shorten(blanked(line), _MAX_QUOTED))


class CoprocessWarning(UserWarning):
    """What the binary says that breaks no call: a rule the server broke, an upload that failed."""


class CoprocessError(McptestError):
    """The channel, or what is behind it, failed a call. Its text has no secrets in it."""

    def __init__(self, message: str) -> None:
        super().__init__(blanked(message))


class BinaryError(CoprocessError):
    """The mcptest binary cannot be started, ended, or says nothing."""


class OverdueError(BinaryError):
    """The binary did not answer in time; it has been ended, and the server with it."""


class VersionError(CoprocessError):
    """The binary and this SDK speak different versions; the sentence says which to upgrade."""


class ContractError(CoprocessError):
    """The binary answered something that this version of the contract does not know."""


class RefusedError(CoprocessError):
    """The binary refused a request."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        message, data = blanked(message), blanked(data)
        super().__init__(visible("\n".join([message, *_advice(data)]), keep_newlines=True))
        self.code = code
        self.message: str = message
        # Whatever JSON there is.
        self.data: Any = data


class UpstreamError(RefusedError):
    """The server under test said no, or nothing in time; `data` has what is known of it."""


class UpstreamGoneError(RefusedError):
    """The server under test could not be started, or is gone; `data` has what it left behind."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(code, message, data)
        for line in _left_behind(self.data):
            self.add_note(line)


def refusal_of(code: int, message: str, data: object, *, is_judged: bool = False) -> RefusedError:
    """The error for a refusal, by its code.

    Tests of a file are judged by what the server really said, and their results are blanked:
    for them `data` stays as it is.
    """
    kinds = {_UPSTREAM_ERROR: UpstreamError, _UPSTREAM_GONE: UpstreamGoneError}
    refusal = kinds.get(code, RefusedError)(code, message, data)
    if is_judged:
        refusal.data = data
    return refusal


def _advice(data: object) -> list[str]:
    """What helps to understand a refusal: a hint, and whether the call may have been done."""
    # What has no kind is the server's own.
    if not isinstance(data, dict) or not isinstance(data.get("kind"), str):
        return []
    hint = data.get("hint")
    lines = [f"hint: {hint}"] if isinstance(hint, str) and hint else []
    return [*lines, MAYBE_DONE] if data.get("effect") == "indefinite" else lines


def _left_behind(data: object) -> list[str]:
    """How a server ended and the last it said, for whoever reads a traceback."""
    if not isinstance(data, dict):
        return []
    rows = [("url", data.get("url")), ("command", _joined(data.get("command")))]
    rows += [("ended", data.get("exit_status"))]
    rows += [("stderr", line) for line in str(data.get("stderr") or "").split("\n")]
    return [f"  {label}: {visible(text)}" for label, text in rows if isinstance(text, str) and text]


def _joined(words: object) -> str:
    return " ".join(map(str, words)) if isinstance(words, list) else ""
