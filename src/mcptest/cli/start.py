"""`mcptest` and `conductor` as a shell starts them.

Importing the commands takes longer than anything before it, and Ctrl-C may come meanwhile. So it
is given a meaning first, and only what Python has loaded anyway is imported here at the top.
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

    from mcptest.cli.signals import leave_on_interrupt  # noqa: PLC0415  # see above

    leave_on_interrupt()

    import mcptest.cli.main  # noqa: PLC0415  # see above

    return mcptest.cli.main


def _report_uncaught(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Leave without a traceback when Ctrl-C came at a moment at which nothing handles it."""
    if issubclass(kind, KeyboardInterrupt):
        os._exit(130)
    sys.__excepthook__(kind, error, trace)
