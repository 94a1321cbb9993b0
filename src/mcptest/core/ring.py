"""The last bytes of a stream that may be endless."""

from __future__ import annotations

__all__ = ["Ring"]


class Ring:
    """Keeps the newest `capacity` bytes, and counts all of them."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._bytes = bytearray()
        self.total = 0

    def add(self, chunk: bytes) -> None:
        self.total += len(chunk)
        self._bytes += chunk[-self._capacity :]
        # Cut seldom: each cut moves the whole buffer.
        if len(self._bytes) > 2 * self._capacity:
            del self._bytes[: -self._capacity]

    def tail(self) -> bytes:
        return bytes(self._bytes[-self._capacity :])

    def since(self, mark: int) -> tuple[bytes, int]:
        """What was added after `total` was `mark`, and how many bytes of it are gone."""
        wanted = self.total - mark
        kept = self.tail()[-wanted:] if wanted else b""
        return kept, wanted - len(kept)
