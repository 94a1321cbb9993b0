"""`mcptest record`: relay between any client and its server on stdio, and write a capture."""

from __future__ import annotations

import os
import time

from mcptest.cli.options import Command, Option
from mcptest.cli.output import write_stderr
from mcptest.cli.report_files import check_writable, is_special
from mcptest.core.diagnostics import closest
from mcptest.core.errors import ServerError, UsageError
from mcptest.core.results import ExitCode
from mcptest.core.secrets import why_not_blanked
from mcptest.core.text import visible
from mcptest.engine.test_files import resolve_target
from mcptest.explore.credentials import CredentialHider
from mcptest.transport import refuse_windows
from mcptest.transport.process.child import Guardian
from mcptest.transport.process.stopping import describe_exit
from mcptest.transport.relay import CaptureFile, Relay, RelayCapture, RelayedSignals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest.cli.options import Arguments

__all__ = ["COMMAND", "record"]

# The exit status that a shell reports for a process that was killed.
_KILLED_STATUS = 137

_EXAMPLE = "mcptest record -o session.json -- python3 server.py"


def record(arguments: Arguments) -> int:
    """Act as the server for the client; return the exit status of the server."""
    command = _command(arguments)
    refuse_windows("recording on standard input")
    name = arguments.last("--name") or os.path.basename(command[0])
    target = _target(arguments, name)
    secrets = [_secret(variable) for variable in arguments.all("--redact")]
    secrets += _secrets_in(command)
    signals = RelayedSignals()
    with signals:
        recording = RelayCapture(
            _spool(target), f"stdio://{name}", secrets, is_named=arguments.has("--name")
        )
        guardian = Guardian(adopts_orphans=True)
        signals.on_second = guardian.kill_all
        try:
            relay = Relay(command, guardian, signals, recording)
            recording.pid = relay.pid
            code = relay.run()
            recording.finish(describe_exit(code), relay.ended_by)
        except ServerError as error:
            recording.discard()
            help = f"  help: {error.fault.hint}\n" if error.fault.hint else ""
            write_stderr(f"error: {error.fault.message}\n{help}")
            return ExitCode.NO_SERVER
        finally:
            guardian.dismiss()
    if recording.problem:
        problem = visible(recording.problem)
        write_stderr(f"mcptest record: {visible(target)} was not written: {problem}\n")
    if code is None:
        return _KILLED_STATUS
    # As a shell would report it.
    return code if code >= 0 else 128 - code


def _command(arguments: Arguments) -> tuple[str, ...]:
    if arguments.paths:
        message = f"mcptest record takes no {visible(arguments.paths[0])!r}"
        raise UsageError(message, f"the command that starts the server comes after --: {_EXAMPLE}")
    if not arguments.command:
        raise UsageError("mcptest record needs the command that starts the server", _EXAMPLE)
    if not arguments.command[0]:
        raise UsageError("the server's command is empty")
    return arguments.command


def _target(arguments: Arguments, name: str) -> str:
    """Return the file to write; in a folder, a new file for each session."""
    path = arguments.last("--output")
    if path in ("", "-"):
        reason = "standard output is the server's" if path else "give -o FILE"
        raise UsageError(f"mcptest record needs a file: {reason}", _EXAMPLE)
    if os.path.isdir(path) or path.endswith(os.sep):
        name = "".join(char if char.isalnum() or char in "._-" else "_" for char in name)[:64]
        path = os.path.join(path, f"{name}-{_now()}-{os.getpid()}.json")
    check_writable(path)
    if is_special(path):
        raise UsageError(
            f"cannot write {visible(path)}: it is not a file",
            "a capture is made beside its place and moved there when it is whole",
        )
    return path


def _now() -> str:
    return time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())


def _spool(target: str) -> CaptureFile:
    try:
        place = resolve_target(target)
        return CaptureFile(place, f"{place}.{_now()}-{os.getpid()}.part")
    except OSError as error:
        raise UsageError(f"cannot write {visible(target)}: {error.strerror}") from None


def _secret(variable: str) -> str:
    value = os.environ.get(variable)
    if value is None:
        meant = closest(variable, os.environ)
        question = f"; did you mean {visible(meant)}?" if meant else ""
        message = f"--redact {visible(variable)}: there is no such environment variable{question}"
        raise UsageError(message, "it names a variable whose value must not be in the capture")
    if reason := why_not_blanked(value):
        message = f"--redact {visible(variable)}: its value {reason}"
        raise UsageError(message, "it would be found in every other word")
    return value


def _secrets_in(command: tuple[str, ...]) -> Iterator[str]:
    """The credentials in the command; those that cannot be blanked are named in a note."""
    hider = CredentialHider({}, os.path.isfile)
    hider.hide_args(command[1:])
    for found in hider.found.values():
        if reason := why_not_blanked(found.value):
            place = visible(found.place)
            write_stderr(f"note: {place} {reason}; the capture may contain it\n")
        else:
            yield found.value


COMMAND = Command(
    name="mcptest record",
    summary="Relay between a client and its server on stdio, and write a capture.",
    usage="mcptest record -o FILE [options] -- COMMAND…",
    details="COMMAND starts the server. A client starts this command instead of the server: every "
    "byte is passed through unchanged, and the exit status is that of the server. FILE is replaced "
    "when the session ends; if it is a folder, each session gets a new file there. Credentials in "
    "COMMAND (--api-key VALUE, TOKEN=VALUE, …) are blanked in the capture.",
    options=(
        Option(
            names=("-o", "--output"),
            value="FILE",
            help="capture to write, or the folder for it",
        ),
        Option(
            names=("--name",),
            value="NAME",
            help="name of the server in the capture (default: the name that it gives itself, or "
            "that of its program)",
        ),
        Option(
            names=("--redact",),
            value="VARIABLE",
            repeatable=True,
            help="blank the value of this environment variable in the capture; the server and "
            "the client still get it",
        ),
    ),
    examples=(
        _EXAMPLE,
        "mcptest record -o captures/ --redact API_KEY -- npx some-server",
        '{"mcpServers": {"files": {"command": "mcptest", "args": ["record", "-o", '
        '"/tmp/captures/", "--", "python3", "server.py"]}}}',
    ),
    run=record,
    takes_command=True,
)
