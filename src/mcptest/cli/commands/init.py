"""`mcptest init`: create a config, a first test and a CI workflow; existing files are kept."""

from __future__ import annotations

import os
from contextlib import suppress

from mcptest.cli.commands.discover import (
    VERBOSE_WITH_CALLS_OPTION,
    DiscoverOptions,
    build_verified_suite,
    report_discovered,
    with_short_timeout,
)
from mcptest.cli.one_server import print_note, use_server, write_lines
from mcptest.cli.options import Command
from mcptest.cli.shared_options import START_TIMEOUT_OPTION, choose_server
from mcptest.core.errors import FormatError, UsageError
from mcptest.core.results import ExitCode
from mcptest.core.text import visible
from mcptest.engine.pool import SingleServer
from mcptest.engine.test_files import (
    CONFIG_NAMES,
    find_client_config,
    find_config,
    read_text,
    resolve_inside,
)
from mcptest.explore.credentials import CredentialHider
from mcptest.explore.init import (
    CLUES,
    Guess,
    guess_from_command,
    guess_server,
    render_config,
    render_first_suite,
    render_workflow,
    secret_name,
)
from mcptest.formats.client_configs import ChoiceError, ClientConfig

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.cli.options import Arguments
    from mcptest.engine.server import Launcher

__all__ = ["COMMAND", "init"]

_CONFIG = CONFIG_NAMES[0]
_SUITE = os.path.join("tests", "first.test.mcp.yml")
_WORKFLOW = os.path.join(".github", "workflows", "mcptest.yml")


def init(arguments: Arguments) -> int:
    """Write the missing files, and report what was assumed; return the exit code."""
    if arguments.paths:
        message = f"mcptest init takes no {visible(arguments.paths[0])!r}"
        raise UsageError(message, "the command that starts the server comes after --")
    for path in (_CONFIG, _SUITE, _WORKFLOW):
        _check_folder(path)
    guess = _guess_start(arguments)
    hider = CredentialHider(os.environ, os.path.isfile)
    guess = guess.but(args=tuple(hider.hide_args(guess.args)))
    discovered, status = "", int(ExitCode.PASSED)
    if arguments.command and not os.path.lexists(_SUITE):
        discovered, status = _discover_suite(arguments, hider)
    written = _Written()
    existing = find_config(".")
    # It may be about other servers than the one that is made here, so any other source is better.
    client = "" if existing or guess.reason != _NOTHING_FOUND.reason else find_client_config(".")
    if existing and existing != _CONFIG:
        written.old.append(existing)
    elif client and _has_one_server(client):
        written.old.append(client)
    else:
        written.write(_CONFIG, render_config(guess))
    written.write(_SUITE, discovered or render_first_suite())
    variables = list(hider.found) if _CONFIG in written.new else []
    written.write(_WORKFLOW, render_workflow(guess.runtime, variables))
    _report(written, guess, is_discovered=bool(discovered) and _SUITE in written.new)
    for name in variables:
        print_note(visible(hider.found[name].note))
        print_note(_note_on_ci(name, is_passed=_WORKFLOW in written.new))
    return status


def _guess_start(arguments: Arguments) -> Guess:
    """Return how the server is started, by the command line or by the files of this folder."""
    folder = os.path.basename(os.getcwd()) or "server"
    if arguments.command:
        return guess_from_command(arguments.command, folder)
    clues: dict[str, str] = {}
    for name in filter(os.path.isfile, CLUES):
        with suppress(FormatError):
            clues[name] = read_text(name)
    return guess_server(clues, folder) or _NOTHING_FOUND.but(name=folder)


def _discover_suite(arguments: Arguments, hider: CredentialHider) -> tuple[str, int]:
    """Return tests of everything that the server offers, "" if it failed, and the exit code."""
    text = ""

    def look(visit: SingleServer, launcher: Launcher) -> int:
        nonlocal text
        options = DiscoverOptions(names_all=arguments.has("--verbose"))
        found = build_verified_suite(visit, launcher, _SUITE, None, options)
        report_discovered(found, options, "")
        text = found.text
        return ExitCode.PASSED

    spec = with_short_timeout(choose_server(arguments), arguments)
    # Whatever the server says is written without them, too.
    spec = spec.but(secrets=(*spec.secrets, *(each.value for each in hider.found.values())))
    status = use_server(arguments, spec, look)
    return text, status


def _note_on_ci(variable: str, *, is_passed: bool) -> str:
    """What the user has to do so that the workflow can start the server."""
    secret = secret_name(variable)
    if is_passed:
        return f"the workflow takes {variable} from a secret; set it: gh secret set {secret}"
    line = f"{variable}: ${{{{ secrets.{secret} }}}}"
    return f"{_WORKFLOW} was left as it is and does not pass {variable}; add to env: {line}"


def _check_folder(path: str) -> None:
    """Refuse a folder that cannot be one, or is a link, which may come from someone else.

    Existing files are never overwritten, so only folders are checked.
    """
    folder = os.path.dirname(path) or "."
    parts = folder.split("/")
    above = ["/".join(parts[: count + 1]) for count in range(len(parts))]
    if any(os.path.exists(each) and not os.path.isdir(each) for each in above):
        raise UsageError(f"cannot write {path}: a file is where its folder should be")
    try:
        resolve_inside(folder, ".")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None


_KEYS = f'"command" and "args" in {_CONFIG}'
_NOTHING_FOUND = Guess(
    name="",
    command="python3",
    args=("server.py",),
    reason=f"nothing here says how the server is started; {_KEYS} are only a guess",
)


def _has_one_server(path: str) -> bool:
    """Whether a run would find its server in this config of another program."""
    try:
        ClientConfig(read_text(path), path, os.getcwd()).choose()
    except (ChoiceError, FormatError):
        return False
    return True


class _Written:
    """The files that were written, and those that already existed."""

    def __init__(self) -> None:
        self.new: list[str] = []
        self.old: list[str] = []

    def write(self, path: str, text: str) -> None:
        """Write a file unless it exists."""
        _check_folder(path)
        try:
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
            with open(path, "x", encoding="utf-8") as file:
                file.write(text)
        except FileExistsError:
            if not os.path.lexists(path):
                raise UsageError(
                    f"cannot write {path}: a file is where its folder should be"
                ) from None
            self.old.append(path)
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}") from None
        else:
            self.new.append(path)


def _report(written: _Written, guess: Guess, *, is_discovered: bool) -> None:
    lines = [f"wrote {path}" for path in written.new]
    lines += [f"left {visible(path)} as it is" for path in written.old]
    is_blind = _CONFIG in written.new and guess.reason == _NOTHING_FOUND.reason
    if _CONFIG in written.new:
        lines += ["", f"the server is started with: {guess.words}", f"  ({visible(guess.reason)})"]
    elif not any(name in written.old for name in CONFIG_NAMES):
        lines += ["", f"the server is the one that {visible(written.old[0])} describes"]
    lines += [
        "",
        "next:",
        *([f"  put what starts the server into {_KEYS}"] if is_blind else []),
        "  mcptest run",
        f"  put the values that matter into {_SUITE}: it expects only their types"
        if is_discovered
        else "  mcptest discover -o tests/server.test.mcp.yml",
    ]
    write_lines(lines)


COMMAND = Command(
    name="mcptest init",
    summary="Create a config, a first test and a CI workflow in the current folder.",
    usage="mcptest init [options] [-- COMMAND…]",
    details=f"Writes {_CONFIG}, {_SUITE} and {_WORKFLOW}, without questions; existing files are "
    "kept. No config is written if that of a client, such as .mcp.json, describes the server. "
    "With COMMAND, the server is started and the first tests cover what it offers.",
    options=(START_TIMEOUT_OPTION, VERBOSE_WITH_CALLS_OPTION),
    examples=("mcptest init", "mcptest init -- python3 server.py"),
    run=init,
    takes_command=True,
)
