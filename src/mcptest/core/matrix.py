"""The result of running the same tests in several ways, and how the ways differ."""

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
    """A way to reach a server: a transport and a revision."""

    transport: str
    revision: str

    @property
    def label(self) -> str:
        return f"{self.transport}, {self.revision}"

    def named(self, server: str) -> str:
        """The name of a server in this way."""
        return f"{server} [{self.label}]"


def names_a_way(server: str) -> bool:
    """True if the name of a server includes a way."""
    return server.endswith("]") and bool(re.search(_WAY, server[-len(" [stdio, 0000-00-00]") :]))


class WayRun(Record):
    """The result of one way.

    `refusal` is set if the server does not support it, `error` if the server failed to open.
    `summary` is None if no test was run.
    """

    way: Way
    refusal: str = ""
    error: str = ""
    summary: Summary | None = None


class SeenResult(Record):
    """The result of one test in one way; `status` is None if it was not run."""

    way: Way
    status: Status | None
    reason: str = ""


class ResultDifference(Record):
    """A test whose result is not the same in all ways."""

    suite: str
    file: str
    line: int
    test: str
    seen: tuple[SeenResult, ...]


class SeenValue(Record):
    """What the server declares in one way; ABSENT if nothing."""

    way: Way
    value: object = ABSENT


class OfferDifference(Record):
    """Something that the server does not declare alike in all ways.

    `member` is the part that differs; "" if some ways do not have it at all.
    """

    what: str
    seen: tuple[SeenValue, ...]
    member: str = ""


class Matrix(Record):
    """The result of a run in several ways.

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
        """The ways in which tests were run."""
        return tuple(run.way for run in self.ways if run.summary is not None)

    @property
    def broken(self) -> tuple[Way, ...]:
        """The ways in which the server failed to open."""
        return tuple(run.way for run in self.ways if run.error)
