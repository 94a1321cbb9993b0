"""Look a host up without waiting for it: the system's own resolver cannot be told to hurry."""

from __future__ import annotations

import contextlib
import os
import select
import socket
from ipaddress import ip_address

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.core.http_address import Address

    # A family of addresses, and an address in it as `connect` wants it.
    Place = tuple[int, tuple[object, ...]]

__all__ = ["NameLookup", "looked_up"]


class NameLookup:
    """A lookup under way; `fd` can be read when it is over."""

    def __init__(self, host: str, port: int) -> None:
        self._found: list[Place] | str | None = _known(host, port)
        self.fd, self._writer = os.pipe()
        if self._found is not None:
            os.write(self._writer, b"!")
            return
        # Most servers under test are on this machine and have no use for it.
        import threading  # noqa: PLC0415

        writer = os.dup(self._writer)
        work = threading.Thread(target=self._look, args=(host, port, writer), daemon=True)
        work.start()

    def _look(self, host: str, port: int, writer: int) -> None:
        try:
            answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            self._found = [(family, place) for family, _, _, _, place in answers]
        except (OSError, UnicodeError) as error:
            self._found = str(getattr(error, "strerror", "") or error)
        with contextlib.suppress(OSError):
            os.write(writer, b"!")
        os.close(writer)

    def result(self) -> list[Place] | str | None:
        """The places found, or why there are none; None while nothing is known."""
        return self._found

    def close(self) -> None:
        """Let go of it; should it ever end, nobody hears of it."""
        os.close(self.fd)
        os.close(self._writer)


def looked_up(address: Address, limit_s: float, interrupt: int) -> list[Place]:
    """The places of an address; none when its name is not known, or not in time."""
    lookup = NameLookup(address.host, address.port)
    waiter = select.poll()
    for fd in (lookup.fd, interrupt):
        waiter.register(fd, select.POLLIN)
    try:
        waiter.poll(limit_s * 1000)
        found = lookup.result()
    finally:
        lookup.close()
    return found if isinstance(found, list) else []


def _known(host: str, port: int) -> list[Place] | None:
    """What needs no asking: an address, or the name of this machine."""
    if host == "localhost":
        # Whichever of the two it listens on.
        return [
            (socket.AF_INET, ("127.0.0.1", port)),
            (socket.AF_INET6, ("::1", port, 0, 0)),
        ]
    try:
        version = ip_address(host).version
    except ValueError:
        return None
    if version == 4:
        return [(socket.AF_INET, (host, port))]
    return [(socket.AF_INET6, (host, port, 0, 0))]
