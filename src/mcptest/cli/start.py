"""Entry points of the `mcptest` and `conductor` commands.

Importing the commands takes most of the start-up time, and Ctrl-C may arrive meanwhile. So its
handler is installed first, and only modules that Python has already loaded are imported at the top.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType, TracebackType

__all__ = ["conductor_command", "mcptest_command"]


def mcptest_command() -> None:
    """`mcptest`, and `python -m mcptest`."""
    _load_main().command()


def conductor_command() -> None:
    """`conductor`."""
    _load_main().conductor_command()


def _load_main() -> ModuleType:
    sys.excepthook = _report_uncaught

    from mcptest.cli.signals import exit_on_interrupt  # noqa: PLC0415  # see above

    exit_on_interrupt()

    import mcptest.cli.main  # noqa: PLC0415  # see above

    return mcptest.cli.main


def _report_uncaught(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Exit without a traceback if Ctrl-C arrives while nothing handles it."""
    if issubclass(kind, KeyboardInterrupt):
        os._exit(130)
    sys.__excepthook__(kind, error, trace)
