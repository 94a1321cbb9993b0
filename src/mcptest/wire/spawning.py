"""Start a server process, or say in words why it cannot be started."""

from __future__ import annotations

import os

from mcptest.core.errors import ServerError
from mcptest.core.outcome import Evidence, Fault
from mcptest.core.system_limits import hint_at_limit
from mcptest.core.text import visible
from mcptest.wire.child import candidates, start
from mcptest.wire.sweep import MARK_VARIABLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcptest.core.plan import ServerSpec
    from mcptest.wire.child import Child

__all__ = ["spawn"]


def spawn(spec: ServerSpec, mark: str) -> Child:
    """The server, in a session of its own, with its mark in its environment."""
    environment = {**(spec.env or {}), MARK_VARIABLE: mark}
    if spec.inherit_env:
        environment = {**os.environ, **environment}
    else:
        kept = {name: os.environ[name] for name in MINIMAL_ENVIRONMENT if name in os.environ}
        environment = {**kept, **environment}
    try:
        return start(spec.command, environment, spec.cwd)
    except (OSError, ValueError) as error:
        raise ServerError(_spawn_fault(spec, environment, error)) from None


# What a server gets when the config says `inheritEnv: false`.
MINIMAL_ENVIRONMENT = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "TMPDIR")


def _spawn_fault(
    spec: ServerSpec, environment: Mapping[str, str], error: OSError | ValueError
) -> Fault:
    cwd = spec.cwd or os.getcwd()
    why = error.strerror if isinstance(error, OSError) else str(error)
    message = f"cannot start {visible(spec.command[0])!r} in {visible(cwd)!r}: {why}"
    evidence = Evidence(command=spec.command, cwd=cwd)
    hint = _folder_hint(cwd) or _spawn_hint(spec.command[0], environment, error, cwd)
    return Fault(kind="spawn_failed", message=message, hint=hint, evidence=evidence)


def _folder_hint(cwd: str) -> str:
    if not os.path.lexists(cwd):
        return f"the folder {visible(cwd)} does not exist; set cwd in the config"
    if not os.path.isdir(cwd):
        return f"{visible(cwd)} is no folder; set cwd in the config"
    if not os.access(cwd, os.X_OK):
        return f"the folder {visible(cwd)} may not be entered; set cwd in the config"
    return ""


def _spawn_hint(
    command: str, environment: Mapping[str, str], error: OSError | ValueError, cwd: str
) -> str:
    there = [os.path.join(cwd, path) for path in candidates(command, environment)]
    if isinstance(error, FileNotFoundError):
        if any(map(os.path.exists, there)):
            return "the file is there, but the interpreter its first line names is not"
        if any(mark in command for mark in " =;&|"):
            return (
                'the command is one program, started without a shell: its arguments go to "args", '
                'variables to "env", a folder to "cwd"; or write sh -c "…"'
            )
        return "is it installed, and on the PATH of this shell?"
    if isinstance(error, PermissionError):
        if all(map(os.path.isdir, there)):
            return "it is a folder"
        return "it is not executable: chmod +x, or name its interpreter as the command"
    if isinstance(error, OSError) and error.errno == 8:
        return "its first line does not name an interpreter (#!/usr/bin/env …)"
    return hint_at_limit(error)
