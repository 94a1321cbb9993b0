"""The errors of the SDK.

* CoprocessError
  - BinaryError            the mcptest binary cannot be started, ended, or says nothing
    · OverdueError         it did not answer in time
  - VersionError           it speaks another version; the sentence says which side to upgrade
  - ContractError          it sent something that this version of the contract does not know
  - ClosedError            the connection was closed, before the request or while it waited
  - RefusedError           it refused a request; has a `code`, a `message` and `data`
    · UpstreamError        the server under test refused it
    · UpstreamGoneError    the server under test could not be started, or is gone

Bad arguments are a TypeError or a ValueError. What the binary reports without failing a call is a
CoprocessWarning.
"""

from __future__ import annotations

from mcptest.core.errors import McptestError
from mcptest.core.plan import START_LIMIT
from mcptest.core.secrets import redact_all, redactor
from mcptest.core.strict_json import dump_json
from mcptest.core.text import excerpt, visible
from mcptest.sdk.arguments import name_arguments

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "MAY_HAVE_RUN",
    "UPSTREAM_ERROR",
    "UPSTREAM_GONE",
    "BinaryError",
    "ClosedError",
    "ContractError",
    "CoprocessError",
    "CoprocessWarning",
    "OverdueError",
    "RefusedError",
    "UpstreamError",
    "UpstreamGoneError",
    "VersionError",
    "build_refusal",
    "hide_secrets",
    "quote_json",
    "quote_line",
]

UPSTREAM_ERROR, UPSTREAM_GONE = -32000, -32001

MAY_HAVE_RUN = "it may have taken effect anyway"

_MAX_QUOTED = 200
# The secrets of every server that this program has been connected to.
_redact = redactor(())


def hide_secrets(value: Any) -> Any:
    """The same value without the secrets of any server."""
    return redact_all(value, _redact)


def quote_json(value: object) -> str:
    """A JSON value as a message can show it."""
    return quote_line(dump_json(value))


def quote_line(line: str) -> str:
    """A line as a message can show it."""
    return excerpt(hide_secrets(line), _MAX_QUOTED)


class CoprocessWarning(UserWarning):
    """Reported without failing a call: a rule the server broke, an upload that failed."""


class CoprocessError(McptestError):
    """A call failed in the channel or behind it. Secrets are hidden in its message."""

    def __init__(self, message: str) -> None:
        super().__init__(hide_secrets(message))


class BinaryError(CoprocessError):
    """The mcptest binary cannot be started, ended, or says nothing."""


class OverdueError(BinaryError):
    """The binary did not answer in time; it has been ended, and the server with it."""


class VersionError(CoprocessError):
    """The binary and this SDK speak different versions; the message says which to upgrade."""


class ContractError(CoprocessError):
    """The binary answered something that this version of the contract does not know."""


class ClosedError(CoprocessError):
    """The connection was closed, before the request or while it waited for its answer."""


class RefusedError(CoprocessError):
    """The binary refused a request."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        message, data = hide_secrets(message), hide_secrets(data)
        super().__init__(visible("\n".join([message, *_advice(data)]), keep_newlines=True))
        self.code = code
        self.message: str = message
        self.data: Any = data
        self.stderr: str = ""
        # Other data is the server's own.
        if isinstance(data, dict) and ("kind" in data or code == UPSTREAM_GONE):
            command = data.get("command")
            words = " ".join(map(str, command)) if isinstance(command, list) else ""
            rows = {"url": data.get("url"), "command": words, "ended": data.get("exit_status")}
            for label, text in rows.items():
                if isinstance(text, str) and text:
                    self.add_note(f"  {label:<8}  {visible(text)}")
            self.add_stderr(data.get("stderr"))

    def add_stderr(self, stderr: object) -> None:
        """Show what the server wrote to stderr below the error, unless it has some already."""
        if self.stderr or not isinstance(stderr, str) or not stderr.strip():
            return
        # Deferred: few programs fail.
        from mcptest.reporters.failure_text import stderr_lines  # noqa: PLC0415

        self.stderr = hide_secrets(stderr)
        for line in stderr_lines(self.stderr):
            self.add_note(line.text)


class UpstreamError(RefusedError):
    """The server under test refused, or did not answer in time; `data` has the details."""


class UpstreamGoneError(RefusedError):
    """The server under test could not be started, or is gone; `data` has the details."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(code, message, data)
        details = self.data if isinstance(self.data, dict) else {}
        # How the process ended: in words, its exit code, and the signal that killed it, such as
        # "SIGKILL". None if it did not end in this way, or the binary is too old to say.
        self.exit_status: str = details.get("exit_status", "")
        self.exit_code: int | None = details.get("exit_code")
        self.signal: str | None = details.get("signal")


def build_refusal(code: int, message: str, data: object) -> RefusedError:
    """The error for a refusal, by its code."""
    kinds = {UPSTREAM_ERROR: UpstreamError, UPSTREAM_GONE: UpstreamGoneError}
    return kinds.get(code, RefusedError)(code, message, data)


def _advice(data: object) -> list[str]:
    """What helps to understand a refusal: a hint, and whether the call may have been done."""
    # Data without a kind is the server's own.
    if not isinstance(data, dict) or not isinstance(data.get("kind"), str):
        return []
    hint = data.get("hint")
    lines = []
    if isinstance(hint, str) and hint:
        hint = hint.replace(START_LIMIT, "the limit is startup_timeout=")
        lines.append(f"hint: {name_arguments(hint)}")
    return [*lines, MAY_HAVE_RUN] if data.get("effect") == "indefinite" else lines
