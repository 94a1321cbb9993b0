"""Bring the user to a page, where there is a user and a browser."""

from __future__ import annotations

import sys
import threading
import webbrowser

from mcptest.core.text import ci_variable
from mcptest.protocol.http_address import parse_url

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["open_page", "why_no_browser"]

# By one of these a program finds the screen, or the user names a browser.
_DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")


def why_no_browser(environment: Mapping[str, str], *, has_terminal: bool) -> str:
    """Why no browser may be opened here; "" if one may."""
    if name := ci_variable(environment):
        return f"this is CI ({name} is set)"
    if not has_terminal:
        return "standard error is not a terminal, so a person may not be there"
    is_plain_unix = sys.platform not in ("win32", "darwin")
    if is_plain_unix and not any(map(environment.get, _DISPLAYS)):
        return f"there is no screen ({', '.join(_DISPLAYS)} are not set)"
    return ""


def open_page(url: str, report: Callable[[], None]) -> None:
    """Open a page, without waiting for the browser; `report` is called if there is none."""
    address = parse_url(url)
    assert address.scheme == "https" or address.is_loopback, "only such pages are opened"

    def work() -> None:
        # Some browsers run until the user closes them.
        if not webbrowser.open(url):
            report()

    threading.Thread(target=work, daemon=True).start()
