"""What is tested in memory: a server object, an ASGI app, or a function that makes either."""

from __future__ import annotations

import inspect

from mcptest.core.errors import ServerError, UsageError
from mcptest.core.outcome import Fault
from mcptest.core.text import shorten, visible
from mcptest.wire.asgi_host import AsgiHost
from mcptest.wire.asgi_server import AsgiServer
from mcptest.wire.memory_ending import RAISED, ending_trouble, raised_trouble
from mcptest.wire.memory_server import MemoryServer
from mcptest.wire.raised import named
from mcptest.wire.stopping import Grace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from mcptest.core.plan import ServerSpec
    from mcptest.core.trouble import Trouble
    from mcptest.wire.interrupts import Interrupts
    from mcptest.wire.loop_thread import Ending, Pump

__all__ = ["MemoryTarget", "lowlevel_server"]

_WANTED = (
    "give a server of the official SDK (MCPServer or the low-level Server), an ASGI app, or a "
    "function without parameters that makes one"
)


class MemoryTarget:
    """Makes the way to what is tested, as often as a run starts its server.

    An object is the same one each time; what a function makes is made afresh. An app is started
    once, however many sessions it gets, and ended by `close`.
    """

    def __init__(self, target: Any) -> None:
        self._make: Callable[[], Any] | None = target if _is_maker(target) else None
        # The first one tells what is to be spoken; it is used up by the first session.
        self._next: Any = _made(self._make) if self._make else target
        self.is_app = lowlevel_server(self._next) is None
        if self.is_app and not _takes(self._next, 3):
            shown = visible(shorten(repr(self._next), 80))
            raise UsageError(f"{shown} cannot be tested in memory", _WANTED)
        self.name = _name_of(self._next)
        self._host: AsgiHost | None = None

    def wire(self, spec: ServerSpec, interrupts: Interrupts) -> MemoryServer | AsgiServer:
        """A session with what is tested, begun now."""
        target = self._taken()
        if not self.is_app:
            return MemoryServer(spec, interrupts, lowlevel_server(target))
        if self._make:
            return AsgiServer(spec, interrupts, AsgiHost(target), _end)
        if self._host is None or not self._host.is_alive:
            self._host = AsgiHost(target)
        return AsgiServer(spec, interrupts, self._host, self._end_if_stuck)

    def _taken(self) -> Any:
        if self._make is None:
            return self._next
        target, self._next = self._next, None
        return _made(self._make) if target is None else target

    def _end_if_stuck(self, host: AsgiHost, grace: Grace, pump: Pump) -> Ending:
        if not host.blocked_at():
            return ""
        self._host = None
        return host.end(grace, pump, at_once=True)

    def close(self) -> list[Trouble]:
        """End the app that sessions shared, if there is one; what nobody has been told."""
        host, self._host = self._host, None
        if host is None:
            return []
        ending = ending_trouble(host.end(Grace(), None), host.blocked_at())
        raised = [raised_trouble(error, is_end=True) for error in host.unheard]
        return raised + ([ending] if ending else [])


def lowlevel_server(target: Any) -> Any:
    """The part of a server object that speaks the protocol; None when it is no such object."""
    # The SDK has no public name for it yet; its own memory transport takes the same way.
    for each in (target, getattr(target, "_lowlevel_server", None)):
        options = getattr(each, "create_initialization_options", None)
        is_object = not isinstance(each, type)
        if is_object and callable(options) and callable(getattr(each, "run", None)):
            return each
    return None


def _end(host: AsgiHost, grace: Grace, pump: Pump) -> Ending:
    return host.end(grace, pump, at_once=bool(host.blocked_at()))


def _made(make: Callable[[], Any]) -> Any:
    try:
        return make()
    except Exception as error:  # whatever the user's function raises
        message = f"the function that makes the server raised {named(error)}"
        raise ServerError(Fault(kind=RAISED, message=message)) from error


def _is_maker(target: Any) -> bool:
    return lowlevel_server(target) is None and _takes(target, 0)


def _takes(target: Any, count: int) -> bool:
    """Whether it can be called with so many arguments."""
    try:
        inspect.signature(target).bind(*range(count))
    except (TypeError, ValueError):
        return False
    return True


def _name_of(target: Any) -> str:
    name = getattr(target, "name", None) or getattr(target, "__name__", None)
    return name if isinstance(name, str) else type(target).__name__
