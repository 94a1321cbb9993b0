"""Switch on a server's own collector of code coverage: coverage.py in Python, V8's in Node.

Both listen to environment variables that mean nothing to anybody else, so nobody has to
find out what the server is written in.
"""

from __future__ import annotations

import os

from mcptest.core.errors import UsageError
from mcptest.core.visible import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcptest.core.plan import ServerSpec

__all__ = ["Collectors"]

_STARTUP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "child")
_SETTINGS = "coveragerc"
_NOTE = "no-coverage-py"


class Collectors:
    """Where a run's servers leave their coverage files."""

    def __init__(self, folder: str) -> None:
        self.folder = os.path.abspath(folder)
        try:
            os.makedirs(self.folder, exist_ok=True)
            self._before = self._files()
            self._write_settings()
        except OSError as error:
            raise UsageError(
                f"--server-coverage cannot use {visible(folder)}: {error.strerror}"
            ) from None

    def _write_settings(self) -> None:
        path = os.path.join(self.folder, _NOTE)
        if os.path.exists(path):
            os.remove(path)
        # sigterm: a server that has to be stopped that way writes its file all the same.
        lines = [
            "[run]",
            f"data_file = {self.folder}/.coverage",
            "parallel = true",
            f"omit = {_STARTUP}/*",
        ]
        with open(os.path.join(self.folder, _SETTINGS), "w", encoding="utf-8") as file:
            file.write("\n".join([*lines, "sigterm = true", ""]))

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
        if os.path.exists(note):
            with open(note, encoding="utf-8") as file:
                python = visible(file.read().strip())
            return f"server coverage: none; {python} has no coverage.py (pip install coverage)"
        return (
            "server coverage: none; the server wrote no file. It must be Python or Node, must not "
            "clear its environment, and must end when its stdin closes"
        )

    def _files(self) -> set[str]:
        return set(os.listdir(self.folder)) - {_SETTINGS, _NOTE}
