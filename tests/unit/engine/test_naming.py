"""A server that no file names is called by its own name in every event."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest.core.coverage import CoveredOffer, ServerCoverage
from mcptest.core.events import (
    CaseFinished,
    Event,
    RunFinished,
    RunStarted,
    ServerNamed,
    ServerRevision,
    ServerStarting,
    SuiteStarted,
)
from mcptest.core.results import CaptureScore, CaseResult, Finding, SessionScore, Summary
from mcptest.engine.server_names import ServerNaming

if TYPE_CHECKING:
    from mcptest.core.results import Status

STARTED = RunStarted(started_at="", server="python3, other", suites=1, total=1)
SUITE = SuiteStarted(name="a", file="a", format="conductor", server="python3", total=1)
NAMED = ServerNamed(server="python3", name="shop")
ENDED = RunFinished(
    summary=Summary(),
    duration_s=0.0,
    findings=(
        Finding(kind="noise", server="python3", message="m"),
        Finding(kind="tool_overlap", server="stdio://python3, stdio://other", message="m"),
        Finding(kind="noise", server="", message="m"),
    ),
    coverage=(ServerCoverage(server="python3"), ServerCoverage(server="other")),
    conformance=CaptureScore(sessions=(SessionScore(server_label="stdio://python3", verdicts=()),)),
    server_revisions=(ServerRevision(server="python3", revision="2025-11-25"),),
)


def finished(status: Status) -> CaseFinished:
    return CaseFinished(result=CaseResult(name="t", status=status, line=1))


def emitted(*events: Event) -> list[Event]:
    seen: list[Event] = []
    naming = ServerNaming(seen.append, {"python3": "python3"}, {"python3"})
    for event in events:
        naming(event)
    assert isinstance(seen[0], ServerStarting)
    return seen[1:]


def test_events_wait_for_the_name_and_have_it() -> None:
    seen: list[Event] = []
    naming = ServerNaming(seen.append, {"python3": "python3"}, {"python3"})
    naming(STARTED)
    assert seen == [ServerStarting()]
    naming(NAMED)
    assert seen[1:] == [STARTED.but(server="shop, other")]
    naming(SUITE)
    assert seen[2:] == [SUITE.but(server="shop")]


def test_the_end_has_the_name_in_all_of_its_parts() -> None:
    end = emitted(STARTED, NAMED, ENDED)[-1]
    assert isinstance(end, RunFinished)
    assert [each.server for each in end.findings] == ["shop", "stdio://shop, stdio://other", ""]
    assert [each.server for each in end.coverage] == ["shop", "other"]
    assert end.conformance.sessions[0].server_label == "stdio://shop"
    assert end.server_revisions[0].server == "shop"


def test_a_contract_may_say_the_name_in_its_first_case() -> None:
    seen = emitted(STARTED, SUITE, finished("skipped"), NAMED, finished("passed"))
    assert seen[1] == SUITE.but(server="shop")
    assert len(seen) == 4


def test_a_server_that_says_no_name_keeps_the_one_it_has() -> None:
    assert emitted(STARTED, SUITE, finished("error")) == [STARTED, SUITE, finished("error")]
    assert emitted(STARTED, ENDED) == [STARTED, ENDED]


def test_a_name_that_arrives_too_late_is_not_used() -> None:
    assert emitted(STARTED, SUITE, finished("error"), NAMED, SUITE)[-1] == SUITE


# Several servers

SHOWN = {"python3": "python3", "python3 #2": "python3", "mine #2": "mine"}
TWO = STARTED.but(server="python3, python3 #2, mine, mine #2")
BANK = SUITE.but(server="python3 #2")


def test_each_server_is_called_by_its_own_name() -> None:
    seen: list[Event] = []
    naming = ServerNaming(seen.append, SHOWN, {"python3", "python3 #2"})
    offers = (CoveredOffer(kind="tool", name="sell", calls=1),)
    coverage = tuple(
        ServerCoverage(server=name, offers=offers if name != "mine" else ())
        for name in ("python3", "python3 #2", "mine", "mine #2")
    )
    for event in (TWO, NAMED, SUITE, BANK, finished("skipped")):
        naming(event)
    # Those of the second one wait for its name; the run has none of them.
    assert seen[1:] == [TWO.but(server="python3, mine"), SUITE.but(server="shop")]
    naming(NAMED.but(server="python3 #2", name="bank"))
    naming(SUITE.but(server="mine #2"))
    naming(ENDED.but(coverage=coverage))
    servers = [event.server for event in seen[3:] if isinstance(event, SuiteStarted)]
    assert servers == ["bank", "mine"]
    end = seen[-1]
    assert isinstance(end, RunFinished)
    assert [each.server for each in end.coverage] == ["shop", "bank", "mine", "mine"]


def test_the_coverage_of_servers_that_are_alike_is_one() -> None:
    naming = ServerNaming(lambda _: None, SHOWN, {"python3", "python3 #2"})
    for event in (TWO, NAMED, NAMED.but(server="python3 #2")):
        naming(event)
    coverage = (ServerCoverage(server="python3"), ServerCoverage(server="python3 #2"))
    end = naming.rename_end(ENDED.but(coverage=coverage))
    assert end.coverage == (ServerCoverage(server="shop"),)
