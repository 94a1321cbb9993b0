"""What a server offers against what was used."""

from __future__ import annotations

import pytest

from mcptest.core.coverage import (
    CoveredOffer,
    CoveredProperty,
    ServerCoverage,
    coverage_percent,
    measure_coverage,
    merge_coverage,
    offers_in,
)

TOOLS = [
    {"name": "a", "inputSchema": {"properties": {"x": {}, "y": {}}}},
    {"name": "b", "inputSchema": True},
    {"name": 5},
    "nonsense",
]


def offer(name: str, calls: int, **properties: int) -> CoveredOffer:
    parts = tuple(CoveredProperty(name=key, calls=count) for key, count in properties.items())
    return CoveredOffer(kind="tool", name=name, calls=calls, properties=parts)


def test_calls_and_inputs_are_counted() -> None:
    uses = {("tool", "a", ("x",)): 2, ("tool", "a", ()): 1, ("tool", "unknown", ()): 9}
    found = measure_coverage("s", offers_in("tool", TOOLS), uses)  # type: ignore[arg-type]  # literal kinds
    assert found.offers == (offer("a", 3, x=2, y=0), offer("b", 0))
    assert found.points == (2, 4)
    assert coverage_percent([found]) == 50.0


@pytest.mark.parametrize("entries", [None, {}, "x", [None]])
def test_a_list_that_is_none_offers_nothing(entries: object) -> None:
    assert list(offers_in("tool", entries)) == []
    assert coverage_percent([ServerCoverage(server="s")]) is None


@pytest.mark.parametrize(
    ("template", "uri", "is_hit"),
    [
        ("a://{x}", "a://1", True),
        ("a://{x}", "a://1/2", False),
        ("a://{+x}", "a://1/2", True),
        ("a://{x}/b", "a://1/b", True),
        ("a://{x}/b", "a://1/c", False),
        ("a.b://{x}", "acb://1", False),
    ],
)
def test_a_uri_uses_the_template_it_fits(template: str, uri: str, is_hit: bool) -> None:
    offers = offers_in("resourceTemplate", [{"uriTemplate": template}])
    (found,) = measure_coverage("s", offers, {("resource", uri, ()): 1}).offers
    assert bool(found.calls) is is_hit


def test_servers_of_one_name_in_two_suites_are_distinguished_by_their_files() -> None:
    one = ServerCoverage(server="s", offers=(offer("a", 1),), home="one.yaml")
    two = ServerCoverage(server="s", offers=(offer("b", 1),), home="two.yaml")
    apart = merge_coverage([[one, two]])
    assert apart == (one.but(server="s (one.yaml)"), two.but(server="s (two.yaml)"))
    assert [server.name for server in apart] == ["s", "s"]
    # Also when a shard, which had one of them only, did not have to.
    more = two.but(offers=(offer("b", 2),))
    assert merge_coverage([apart, [more]])[1].offers == (offer("b", 3),)


def test_two_suites_that_test_the_same_server_cover_it_together() -> None:
    one = ServerCoverage(server="s", offers=(offer("a", 1, x=0), offer("b", 0)), home="one.yaml")
    two = ServerCoverage(server="s", offers=(offer("b", 1), offer("a", 0, x=0)), home="two.yaml")
    [both] = merge_coverage([[one, two]])
    assert (both.server, both.offers) == ("s", (offer("a", 1, x=0), offer("b", 1)))


def test_coverages_of_one_server_add_up() -> None:
    one = ServerCoverage(server="s", offers=(offer("a", 1, x=1, y=0), offer("b", 0)))
    two = ServerCoverage(server="s", offers=(offer("a", 2, x=0, y=2), offer("c", 1)))
    other = ServerCoverage(server="t")
    assert merge_coverage([[one], [two, other]]) == (
        ServerCoverage(server="s", offers=(offer("a", 3, x=1, y=2), offer("b", 0), offer("c", 1))),
        other,
    )
