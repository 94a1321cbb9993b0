"""Switch on a server's own collector of code coverage: coverage.py in Python, V8's in Node.

Both listen to environment variables that other programs ignore, so the language of the server
need not be known. A server in Python has this folder in its path, and loads `sitecustomize.py`.
"""

from __future__ import annotations

import os
import stat

from mcptest.core.errors import UsageError
from mcptest.core.text import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcptest.core.plan import ServerSpec

__all__ = ["Collectors"]

_STARTUP = os.path.dirname(os.path.abspath(__file__))
# The prefix of our files in the user's folder.
_OURS = ".mcptest-"
_SETTINGS = f"{_OURS}coveragerc"
# sitecustomize.py, which servers load without us, writes this one under the same name.
_NOTE = f"{_OURS}no-coverage-py"
_MARK = "# written by mcptest\n"
_MAX_NOTE_BYTES = 4096


class Collectors:
    """Where a run's servers leave their coverage files."""

    def __init__(self, folder: str) -> None:
        self.folder = os.path.abspath(folder)
        try:
            os.makedirs(self.folder, exist_ok=True)
            self._before = self._files()
            # Remove the files of an earlier run, and no others.
            for path in (os.path.join(self.folder, name) for name in (_SETTINGS, _NOTE)):
                if not os.path.lexists(path):
                    continue
                if not _beginning(path).startswith(_MARK):
                    message = f"would replace {visible(path)}, which mcptest has not written"
                    help = "move it away, or give another folder"
                    raise UsageError(f"--server-coverage {message}", help)
                os.remove(path)
            # sigterm: write the file even if the server is stopped by SIGTERM.
            lines = [
                "[run]",
                f"data_file = {self.folder}/.coverage",
                "parallel = true",
                f"omit = {_STARTUP}/*",
            ]
            # Fails if another file has been put there meanwhile.
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
            fd = os.open(os.path.join(self.folder, _SETTINGS), flags, 0o666)
            with open(fd, "w", encoding="utf-8") as file:
                file.write(_MARK + "\n".join([*lines, "sigterm = true", ""]))
        except OSError as error:
            raise UsageError(
                f"--server-coverage cannot use {visible(folder)}: {error.strerror}"
            ) from None

    def with_collector(self, spec: ServerSpec, environment: Mapping[str, str]) -> ServerSpec:
        """The server with the variables that switch its collector on."""
        env = dict(spec.env or {})
        inherited = environment.get("PYTHONPATH", "") if spec.inherit_env else ""
        search = [_STARTUP, env.get("PYTHONPATH", inherited)]
        env["PYTHONPATH"] = os.pathsep.join(folder for folder in search if folder)
        env["COVERAGE_PROCESS_START"] = os.path.join(self.folder, _SETTINGS)
        env["MCPTEST_SERVER_COVERAGE"] = self.folder
        env["NODE_V8_COVERAGE"] = self.folder
        return spec.but(env=env)

    def outcome(self) -> str:
        """A sentence about what the servers left."""
        fresh = len(self._files() - self._before)
        if fresh:
            return f"server coverage: {fresh} file{'s' if fresh != 1 else ''} in {self.folder}"
        note = os.path.join(self.folder, _NOTE)
        if os.path.lexists(note):
            python = visible(_beginning(note).removeprefix(_MARK).strip())
            return f"server coverage: none; {python} has no coverage.py (pip install coverage)"
        return (
            "server coverage: none; the server wrote no file. It must be Python or Node, must not "
            "clear its environment, and must end when its stdin closes"
        )

    def _files(self) -> set[str]:
        return {name for name in os.listdir(self.folder) if not name.startswith(_OURS)}


def _beginning(path: str) -> str:
    """The beginning of a regular file; "" for anything else."""
    if not stat.S_ISREG(os.lstat(path).st_mode):
        return ""
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        return file.read(_MAX_NOTE_BYTES).decode("utf-8", "replace")
