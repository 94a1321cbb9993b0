"""What suites ask of a whole run: which gates are reached, and what is said of the others."""

from __future__ import annotations

import pytest

from mcptest.core.coverage import CoveredOffer, CoveredProperty, ServerCoverage, quantile
from mcptest.core.events import CaseFinished, RunFinished, SuiteStarted
from mcptest.core.plan import Case, Gates, ServerSpec, Suite
from mcptest.core.results import CaseResult, Summary
from mcptest.engine.run import GateWatch

HOME = "mcptest.yaml"


def suite(
    gates: Gates | None,
    file: str = HOME,
    server: str = "a",
    skip: str | None = None,
    home: str = "",
) -> tuple[Suite, ServerSpec]:
    spec = ServerSpec(name=server, command=("x",))
    cases = (Case(name="n", line=1, skip=skip),)
    home = home or file
    return Suite(name="s", file=file, format="suite", cases=cases, gates=gates, home=home), spec


def offer(name: str, calls: int, kind: str = "tool") -> CoveredOffer:
    unused = (CoveredProperty(name="p", calls=0),)
    return CoveredOffer(kind=kind, name=name, calls=calls, properties=unused)  # type: ignore[arg-type]  # a text for a literal


def coverage(
    server: str = "a", used: int = 1, unused: int = 0, kind: str = "tool", home: str = HOME
) -> ServerCoverage:
    offers = [offer(f"{kind}{n}", 1, kind) for n in range(used)]
    offers += [offer(f"{kind}{used + n}", 0, kind) for n in range(unused)]
    return ServerCoverage(server=server, offers=tuple(offers), home=home)


DONE = RunFinished(summary=Summary(passed=1), duration_s=1.0)


def missed_gates(watch: GateWatch, *servers: ServerCoverage) -> list[str]:
    """What is said at the end of gates that were missed."""
    return list(watch.check(DONE, servers).missed_gates)


def missed(
    gates: Gates,
    *servers: ServerCoverage,
    took_ms: tuple[float, ...] = (),
    file: str = HOME,
) -> list[str]:
    watch = GateWatch([suite(gates)])
    hear(watch, file, *took_ms)
    return missed_gates(watch, *servers)


def hear(watch: GateWatch, file: str, *took_ms: float) -> None:
    watch.observe(SuiteStarted(name="s", file=file, format="suite", server="a", total=1))
    times = tuple(each / 1000 for each in took_ms)
    result = CaseResult(name="n", status="passed", line=1, times_s=times)
    watch.observe(CaseFinished(result=result))


# Coverage


@pytest.mark.parametrize(
    ("used", "unused", "wanted", "is_missed"),
    [
        (1, 1, 50.0, False),
        (1, 1, 50.1, True),
        (4, 1, 80.0, False),
        (2, 1, 66.7, True),
        (2, 1, 66.6, False),
        (11, 9, 55.0, False),
        (3, 0, 100.0, False),
        (0, 1, 0.0, False),
    ],
)
def test_coverage_is_the_share_of_offers_that_were_called(
    used: int, unused: int, wanted: float, is_missed: bool
) -> None:
    found = missed(Gates(coverage={"tools": wanted}), coverage("a", used, unused))
    assert bool(found) == is_missed


def test_a_missed_gate_lists_unused_features_and_is_never_rounded_up() -> None:
    assert missed(Gates(coverage={"tools": 100.0}), coverage("a", 999, 1)) == [
        "coverage of tools is 99.9 %, and the suite asks for 100 %; unused: tool999"
    ]
    [found] = missed(Gates(coverage={"total": 50.5}), coverage("a", 0, 12))
    assert found.startswith("coverage of all offers is 0.0 %, and the suite asks for 50.5 %; ")
    assert found.endswith(", tool4 and 7 more")


@pytest.mark.parametrize(
    ("key", "percent"),
    [("tools", 100.0), ("resources", 50.0), ("prompts", 0.0), ("total", 60.0)],
)
def test_each_kind_is_counted_by_itself_and_resources_with_their_templates(
    key: str, percent: float
) -> None:
    server = ServerCoverage(
        server="a",
        home=HOME,
        offers=(
            offer("t1", 1),
            offer("t2", 3),
            offer("r1", 1, "resource"),
            offer("r2", 0, "resourceTemplate"),
            offer("p1", 0, "prompt"),
        ),
    )
    assert missed(Gates(coverage={key: percent}), server) == []
    [found] = missed(Gates(coverage={key: percent + 0.1}), server)
    assert f" is {percent:.1f} %, and the suite asks for {percent + 0.1:g} %" in found


def test_a_kind_that_no_server_offers_is_not_covered() -> None:
    assert missed(Gates(coverage={"prompts": 1.0}), coverage("a", 1)) == [
        "coverage of prompts is not known: no server says that it offers any"
    ]


def test_a_server_that_cannot_say_what_it_offers_misses_the_gate_whatever_others_say() -> None:
    gates = Gates(coverage={"tools": 10.0})
    watch = GateWatch([suite(gates), suite(gates, server="b")])
    assert missed_gates(watch, coverage("a", 5)) == [
        "coverage of tools is not known: b could not say what there is"
    ]
    assert missed_gates(watch, coverage("a", 5), coverage("b", 1)) == []


def test_a_server_whose_tests_are_all_skipped_misses_the_gate_unless_its_offers_are_known() -> None:
    gates = Gates(coverage={"tools": 50.0})
    watch = GateWatch([suite(gates), suite(gates, server="b", skip="not yet")])
    assert missed_gates(watch, coverage("a", 5)) == [
        "coverage of tools is not known: b could not be asked, for all of its tests are skipped"
    ]
    assert missed_gates(watch, coverage("a", 5), coverage("b", 0, 5)) == []
    [found] = missed_gates(watch, coverage("a", 4), coverage("b", 0, 5))
    assert found.startswith("coverage of tools is 44.4 %, and the suite asks for 50 %")


def test_a_server_of_which_only_some_tests_are_skipped_is_as_any_other() -> None:
    gates = Gates(coverage={"tools": 50.0})
    watch = GateWatch([suite(gates), suite(gates, "part.yaml", skip="not yet", home=HOME)])
    assert missed_gates(watch, coverage("a", 5)) == []


def test_only_the_servers_of_the_suite_count() -> None:
    gates = Gates(coverage={"tools": 100.0})
    watch = GateWatch([suite(gates), suite(None, "other.yaml", "b")])
    assert missed_gates(watch, coverage("a", 2), coverage("b", 0, 5, home="other.yaml")) == []


def test_names_from_a_server_are_made_visible() -> None:
    server = ServerCoverage(server="a", offers=(offer("\x1b[31mred", 0),), home=HOME)
    [found] = missed(Gates(coverage={"tools": 1.0}), server)
    assert "\x1b" not in found
    assert "\\u001b" in found


# Performance


@pytest.mark.parametrize(
    ("key", "seen"),
    [
        ("p50_ms", 5.0),
        ("p90_ms", 9.0),
        ("p95_ms", 10.0),
        ("p99_ms", 10.0),
        ("mean_ms", 5.5),
        ("max_ms", 10.0),
    ],
)
def test_each_measure_is_reached_at_its_value_and_missed_below_it(key: str, seen: float) -> None:
    took_ms = tuple(float(n) for n in (3, 1, 2, 10, 5, 4, 8, 7, 6, 9))
    assert missed(Gates(performance={key: seen + 1e-6}), took_ms=took_ms) == []
    assert missed(Gates(performance={key: seen - 0.25}), took_ms=took_ms) == [
        f"{key} is {seen:.3f} ms over 10 calls, and the suite asks for {seen - 0.25:g} ms"
    ]


def test_without_any_call_nothing_is_known() -> None:
    expected = ["p95_ms is not known: no call was timed"]
    assert missed(Gates(performance={"p95_ms": 5.0})) == expected
    # Those of other files are not ours.
    assert missed(Gates(performance={"p95_ms": 5.0}), took_ms=(9.0,), file="b.yaml") == expected


def test_one_call_is_called_one() -> None:
    assert missed(Gates(performance={"max_ms": 5.0}), took_ms=(9.0,)) == [
        "max_ms is 9.000 ms over 1 call, and the suite asks for 5 ms"
    ]


def test_all_missed_gates_are_reported() -> None:
    gates = Gates(coverage={"tools": 100.0, "total": 1.0}, performance={"max_ms": 1.0})
    found = missed(gates, coverage("a", 1, 1), took_ms=(2.0,))
    assert [each.split(" is ")[0] for each in found] == ["coverage of tools", "max_ms"]


def test_a_suite_and_its_imports_are_measured_together_and_reported_once() -> None:
    gates = Gates(coverage={"tools": 100.0}, performance={"mean_ms": 3.0})
    watch = GateWatch([suite(gates), suite(gates, "part.yaml", "b", home=HOME)])
    hear(watch, "mcptest.yaml", 1.0)
    hear(watch, "part.yaml", 6.0)
    found = missed_gates(watch, coverage("a", 1, 1), coverage("b", 1, 0))
    assert found == [
        "coverage of tools is 66.6 %, and the suite asks for 100 %; unused: tool1",
        "mean_ms is 3.500 ms over 2 calls, and the suite asks for 3 ms",
    ]


def test_two_suites_with_gates_of_their_own_are_measured_apart() -> None:
    strict, mild = Gates(performance={"max_ms": 1.0}), Gates(performance={"max_ms": 9.0})
    watch = GateWatch([suite(strict, "a.yaml"), suite(mild, "b.yaml")])
    hear(watch, "b.yaml", 5.0)
    hear(watch, "a.yaml", 0.5)
    assert missed_gates(watch) == []
    hear(watch, "a.yaml", 5.0)
    assert len(missed_gates(watch)) == 1


def test_a_file_that_two_suites_import_is_timed_for_each_of_them() -> None:
    gates = Gates(performance={"max_ms": 3.0})
    watch = GateWatch(
        [suite(gates, "part.yaml", home="a.yaml"), suite(gates, "part.yaml", home="b.yaml")]
    )
    hear(watch, "part.yaml", 1.0)
    hear(watch, "part.yaml", 5.0)
    assert missed_gates(watch) == [
        "b.yaml: max_ms is 5.000 ms over 1 call, and the suite asks for 3 ms"
    ]


# Runs that have a part of the tests only

STRICT = Gates(coverage={"tools": 100.0})


def test_a_shard_says_which_suite_is_meant_when_other_shards_have_others() -> None:
    wanted = "coverage of tools is 50.0 %, and the suite asks for 100 %; unused: tool1"
    for files, owner in (({}, ""), ({"other.yaml": ("other.yaml",)}, f"{HOME}: ")):
        watch = GateWatch([suite(STRICT)], {HOME: (HOME,), **files})
        assert watch.check(DONE, [coverage("a", 1, 1)]).missed_gates == (owner + wanted,)


def test_a_shard_with_a_part_of_a_suite_says_so_and_keeps_what_it_measured() -> None:
    watch = GateWatch([suite(STRICT)], {HOME: (HOME, "part.yaml")})
    hear(watch, HOME, 2.0)
    ended = watch.check(DONE, [coverage("a", 1, 1)])
    assert ended.missed_gates == ()
    [finding] = ended.findings
    assert finding.kind == "gates_not_asked"
    assert "mcptest report merge" in finding.message
    [gates] = ended.unasked_gates
    assert (gates.home, gates.missing, gates.took_ms) == (HOME, ("part.yaml",), (2.0,))


def test_a_run_that_stopped_early_misses_no_gate() -> None:
    watch = GateWatch([suite(STRICT)])
    assert watch.check(DONE.but(bailed=True), []) == DONE.but(bailed=True)


@pytest.mark.parametrize(
    ("values", "percent", "expected"),
    [
        ([7.0], 50, 7.0),
        ([7.0], 99, 7.0),
        ([1.0, 2.0], 50, 1.0),
        ([1.0, 2.0], 51, 2.0),
        ([3.0, 1.0, 2.0], 1, 1.0),
        (list(map(float, range(1, 101))), 95, 95.0),
        (list(map(float, range(1, 102))), 95, 96.0),
    ],
)
def test_a_quantile_is_a_value_that_was_seen(
    values: list[float], percent: int, expected: float
) -> None:
    assert quantile(values, percent) == expected
