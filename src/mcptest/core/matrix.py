"""One choice of tests over several ways to a server, and in what the ways differ. Values only."""

from __future__ import annotations

import re

from mcptest.core.record import ABSENT, Record
from mcptest.core.results import Summary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.core.results import Status

__all__ = [
    "Matrix",
    "OfferDifference",
    "ResultDifference",
    "SeenResult",
    "SeenValue",
    "Way",
    "WayRun",
    "names_a_way",
]

_WAY = r" \[(?:stdio|http), \d{4}-\d\d-\d\d\]"


class Way(Record):
    """How a server is spoken to: over which transport, and in which revision."""

    transport: str
    revision: str

    @property
    def label(self) -> str:
        return f"{self.transport}, {self.revision}"

    def named(self, server: str) -> str:
        """The name of a server that is spoken to in this way."""
        return f"{server} [{self.label}]"


def names_a_way(server: str) -> bool:
    """Whether the name of a server says in which way it was spoken to."""
    return server.endswith("]") and bool(re.search(_WAY, server[-len(" [stdio, 0000-00-00]") :]))


class WayRun(Record):
    """What became of one way.

    `refusal` says why it could not be taken: the server does not speak it. `error` says how the
    server broke when it was opened so. `summary` is None when no test ran in it.
    """

    way: Way
    refusal: str = ""
    error: str = ""
    summary: Summary | None = None


class SeenResult(Record):
    """How one test ended in one way, and why. None where it did not run."""

    way: Way
    status: Status | None
    reason: str = ""


class ResultDifference(Record):
    """A test that did not end the same in all ways."""

    suite: str
    file: str
    line: int
    test: str
    seen: tuple[SeenResult, ...]


class SeenValue(Record):
    """What the server says of itself in one way; ABSENT where it says nothing."""

    way: Way
    value: object = ABSENT


class OfferDifference(Record):
    """Something that the server does not say of itself in all ways alike.

    `member` is the part of it that differs; "" when it is not there at all in some of them.
    """

    what: str
    seen: tuple[SeenValue, ...]
    member: str = ""


class Matrix(Record):
    """What a run in several ways has brought.

    `total` are the tests of one way, `compared` those of them that ran in more than one.
    `more_offers` counts differences that are not in `offers`, because there are so many.
    `unread` has a sentence for each list that could not be compared.
    """

    ways: tuple[WayRun, ...] = ()
    total: int = 0
    compared: int = 0
    differences: tuple[ResultDifference, ...] = ()
    offers: tuple[OfferDifference, ...] = ()
    more_offers: int = 0
    unread: tuple[str, ...] = ()

    @property
    def taken(self) -> tuple[Way, ...]:
        """The ways in which tests ran."""
        return tuple(run.way for run in self.ways if run.summary is not None)

    @property
    def broken(self) -> tuple[Way, ...]:
        """The ways in which the server could not be opened, and should have been."""
        return tuple(run.way for run in self.ways if run.error)
