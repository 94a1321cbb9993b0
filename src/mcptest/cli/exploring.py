"""What the commands that talk to one server share: how it is opened, and what is said."""

from __future__ import annotations

import os
import sys
import time

from mcptest import __version__
from mcptest.cli.options import Option
from mcptest.cli.output import (
    StandardOutput,
    complain,
    hide_secrets,
    is_terminal,
    wants_colour,
)
from mcptest.core.errors import InterruptedRunError, ServerError
from mcptest.core.exit_codes import ExitCode
from mcptest.core.lists import describe_error
from mcptest.core.strict_json import dump_json
from mcptest.core.text import defuse_markers, printable_json, visible
from mcptest.reporters.json import render_failure
from mcptest.reporters.style import Paint
from mcptest.reporters.text import fault_details, fault_headline, stderr_lines
from mcptest.runner.server import Launcher
from mcptest.runner.visit import Visit
from mcptest.wire.guardian import Guardian
from mcptest.wire.interrupts import Interrupts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from mcptest.cli.options import Arguments
    from mcptest.core.outcome import Fault
    from mcptest.core.plan import ServerSpec
    from mcptest.explore.features import Message


__all__ = [
    "OUTPUT_OPTIONS",
    "Manner",
    "note",
    "result_of",
    "tell_fault",
    "tell_stderr",
    "tell_unfinished",
    "visiting",
    "write_json",
    "write_lines",
]

OUTPUT_OPTIONS = (
    Option(names=("--json",), help="print JSON on a terminal as well; elsewhere it always is"),
    Option(names=("--raw",), help="print the server's whole answers, one per line"),
    Option(names=("--no-color",), help="no colour; NO_COLOR in the environment does the same"),
)


class Manner:
    """How what was learned is shown: for a person, or as JSON for a program."""

    def __init__(self, arguments: Arguments) -> None:
        self.is_raw = arguments.has("--raw")
        self.is_pretty = is_terminal() and not (self.is_raw or arguments.has("--json"))
        self.paint = Paint(on=wants_colour(arguments.has("--no-color")))
        self.width = _columns()


def _columns() -> int:
    try:
        columns = int(os.environ["COLUMNS"])
    except (KeyError, ValueError):
        try:
            columns = os.get_terminal_size(sys.stdout.fileno()).columns
        except (OSError, ValueError):
            columns = 0
    # Some terminals say 0 and mean that they do not know.
    return max(40, columns) if columns else 80


# The visit


def visiting(arguments: Arguments, spec: ServerSpec, work: Callable[[Visit, Launcher], int]) -> int:
    """Open the server, do the work, and stop it whatever happens; the exit status."""
    hide_secrets(spec.secrets)
    progress = _Progress(spec.name)
    with Interrupts() as interrupts:
        guardian = Guardian(adopts_orphans=True)
        interrupts.on_second = guardian.kill_all
        launcher = Launcher(
            guardian=guardian,
            interrupts=interrupts,
            keeps_traffic=True,
            while_waiting=progress.tick if progress.is_wanted else None,
        )
        try:
            return _visit(arguments, Visit(spec, launcher, progress.clear), launcher, work)
        except InterruptedRunError:
            raise InterruptedRunError("interrupted; the server was stopped") from None
        finally:
            progress.clear()
            guardian.dismiss()


def _visit(
    arguments: Arguments,
    visit: Visit,
    launcher: Launcher,
    work: Callable[[Visit, Launcher], int],
) -> int:
    status = int(ExitCode.NO_SERVER)
    fault: Fault | None = None
    try:
        visit.open()
        if visit.spec.http and visit.spec.http.insecure_tls:
            note("the certificate of the server was not checked, as its settings ask")
        status = int(ExitCode.FAILED)
        status = work(visit, launcher)
    except ServerError as error:
        fault = visit.cleaned(error.fault)
    finally:
        visit.close()
    if fault:
        tell_fault(fault, arguments)
    elif status == ExitCode.FAILED or arguments.has("--verbose"):
        tell_stderr(visit.stderr)
    return status


class _Progress:
    """One line on a terminal for whoever waits; gone when there is something to read."""

    def __init__(self, name: str) -> None:
        self.is_wanted = sys.stderr.isatty()
        self._name = visible(name)
        self._began = time.monotonic()
        self._told = 0

    def tick(self) -> None:
        waited = int(time.monotonic() - self._began)
        # Nothing in the first second: most servers need less.
        if waited > self._told:
            self._told = waited
            complain(f"\r\x1b[Kwaiting for {self._name} … {waited} s")

    def clear(self) -> None:
        self._began = time.monotonic()
        if self._told:
            self._told = 0
            complain("\r\x1b[K")


# What is said


def note(text: str) -> None:
    """Something for the person at the terminal, beside the output."""
    complain(f"note: {text}\n")


def tell_fault(fault: Fault, arguments: Arguments) -> None:
    """How the server failed, in words; and as JSON where standard output is promised to be it."""
    lines = [f"error: {fault_headline(fault)}"]
    lines += [line.text for line in fault_details(fault, verbose=arguments.has("--verbose"))]
    complain("\n".join(lines) + "\n")
    if arguments.has("--json"):
        _write_failure(fault.kind, fault.message)


def _write_failure(kind: str, message: str) -> None:
    started_at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    StandardOutput().write_utf8(render_failure(kind, message, (), __version__, started_at))


def tell_stderr(stderr: str) -> None:
    """What the server wrote to stderr, made safe, each line behind a bar."""
    lines = [line.text for line in stderr_lines(stderr)]
    if lines:
        complain("\n".join(lines) + "\n")


def result_of(answer: Message, method: str, arguments: Arguments) -> Message | None:
    """The result in an answer; None, once it has been told, when it is an error."""
    if arguments.has("--raw"):
        write_json(answer)
    result = answer.get("result")
    if isinstance(result, dict):
        return result
    said = describe_error(answer["error"]) if "error" in answer else "its result is not an object"
    message = f"the server refused {method}: {said}"
    complain(f"error: {message}\n")
    if arguments.has("--json") and not arguments.has("--raw"):
        _write_failure("refused", message)
    return None


def tell_unfinished(visit: Visit) -> bool:
    """Whether the last answer was not the end of what was asked; it is told why."""
    why = visit.unfinished
    if why:
        complain(f"error: the call did not come to its end: {why}\n")
    return bool(why)


def write_json(value: object) -> None:
    """A value as one line of JSON in which nothing can act on a terminal or a CI system."""
    StandardOutput().write_utf8(defuse_markers(printable_json(dump_json(value))) + "\n")


def write_lines(lines: list[str]) -> None:
    StandardOutput().write("".join(f"{line}\n" for line in lines))
