"""The lanes of a suite that are not plain calls: agents, evals, security and compliance.

They are part of the format: every key is read, and every mistake told. What this version cannot
run becomes a case that says so, one by one, so that nothing that is declared is ever dropped.
"""

from __future__ import annotations

from mcptest.core.plan import Case
from mcptest.core.revisions import REVISIONS
from mcptest.core.suggest import closest
from mcptest.formats.fields import Fields, kind_of
from mcptest.formats.marks import read_only, read_skip, read_tags
from mcptest.formats.suite_expect import ExpectReader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from mcptest.matching.suite_words import SuiteWords

__all__ = [
    "AGENT_KEYS",
    "CHECKS",
    "CHECK_KEYS",
    "EVAL_KEYS",
    "SECURITY_KEYS",
    "TARGETS_OF_AGENTS",
    "LaneReader",
]

_MARKS = ("name", "server", "tags", "skip", "only")
AGENT_KEYS = (
    *_MARKS,
    "servers",
    "model",
    "models",
    "system_prompt",
    "prompt",
    "max_turns",
    "runs",
    "expect",
    "threshold",
)
EVAL_KEYS = (*_MARKS, "model", "prompt", "rubric", "threshold")
CHECK_KEYS = (*_MARKS, "check")
SECURITY_KEYS = ("scan", "fail_on")
_COMPLIANCE_KEYS = ("spec_version", "tests", "server")
_RUBRIC_KEYS = ("criteria", "threshold")
_CRITERION_KEYS = ("name", "description", "weight")

TARGETS_OF_AGENTS = ("tool_calls", "tool_names", "final_response", "conversation")
SEVERITIES = ("low", "medium", "high", "critical")

# What the lane `compliance` can look at.
CHECKS = ("initialize", "ping", "list", "invariants", "rules")

_MOST_TURNS = 1000


class LaneReader:
    """Reads these lanes of one file into cases, each with the name of its server."""

    def __init__(
        self,
        words: SuiteWords,
        place: Callable[[Fields], str],
        line: Callable[[list[object], int], int],
    ) -> None:
        self._words = words
        self._server_of = place
        self._line_of = line

    def agents(self, fields: Fields) -> list[tuple[str, Case]]:
        """One case for each agent; none of them can be run yet."""
        return self._entries(fields, "agents", AGENT_KEYS, ("name", "prompt"), self._agent)

    def evals(self, fields: Fields) -> list[tuple[str, Case]]:
        return self._entries(fields, "evals", EVAL_KEYS, ("name", "prompt", "rubric"), self._eval)

    def security(self, fields: Fields, default: str) -> list[tuple[str, Case]]:
        inner = fields.mapping_at("security")
        if inner is None:
            return []
        inner.refuse_unknown(SECURITY_KEYS, (), '"security"')
        is_wanted = inner.flag("scan", True)
        if "fail_on" in inner.mapping:
            inner.choice("fail_on", SEVERITIES, "high")
        skip = _not_run("security", "mcptest security")
        case = Case(name="security scan", line=1, skip=skip, not_run=True)
        return [(default, case)] if is_wanted else []

    def compliance(self, fields: Fields) -> list[tuple[str, Case]]:
        """Checks of a server's conformance, by list or as `{spec_version, tests}`."""
        value = fields.mapping.get("compliance")
        if not isinstance(value, dict):
            needed = ("name", "check")
            return self._entries(fields, "compliance", CHECK_KEYS, needed, self._check)
        inner = fields.replaced({}).at(("compliance",)).replaced(value)
        inner.refuse_unknown(_COMPLIANCE_KEYS, (), '"compliance"')
        if "spec_version" in value:
            inner.choice("spec_version", tuple(REVISIONS), "")
        tests = inner.texts("tests") if "tests" in value else CHECKS
        server = self._server_of(inner)
        found = []
        for index, check in enumerate(tests):
            if check not in CHECKS:
                self._refuse_check(inner.at(("tests", index)), check)
            found.append((server, Case(name=f"compliance: {check}", line=1, check=check)))
        return found

    # One entry

    def _entries(
        self,
        fields: Fields,
        lane: str,
        keys: tuple[str, ...],
        needed: tuple[str, ...],
        read: Callable[[Fields, Case], Case],
    ) -> list[tuple[str, Case]]:
        found = []
        items = fields.list_at(lane)
        for index, item in enumerate(items):
            place = fields.at((lane, index))
            if not isinstance(item, dict):
                message = f"an entry of {lane} must be a mapping and is {kind_of(item)}"
                place.complain("", "F008", message, on_key=False)
                continue
            entry = place.replaced(item)
            entry.refuse_unknown(keys, (), f"an entry of {lane}")
            entry.require(needed, f"an entry of {lane}")
            case = read(entry, self._marked(entry, self._line_of(items, index)))
            found.append((self._server_of(entry), case))
        return found

    def _marked(self, fields: Fields, line: int) -> Case:
        mapping = fields.mapping
        return Case(
            name=fields.text("name"),
            line=line,
            tags=read_tags(fields, "tags") if "tags" in mapping else (),
            skip=read_skip(fields, "skip") if "skip" in mapping else None,
            only=read_only(fields, "only") if "only" in mapping else False,
        )

    def _agent(self, fields: Fields, case: Case) -> Case:
        for key in ("model", "system_prompt", "prompt"):
            fields.text(key)
        for key in ("servers", "models"):
            fields.texts(key)
        for key in ("max_turns", "runs"):
            fields.whole_number(key, 1, _MOST_TURNS, 1)
        ExpectReader(self._words, TARGETS_OF_AGENTS).read(fields, "expect", case.name)
        return _left(case, "agents", "mcptest run")

    def _eval(self, fields: Fields, case: Case) -> Case:
        for key in ("model", "prompt"):
            fields.text(key)
        fields.number("threshold", 0.0, 1.0)
        if isinstance(fields.mapping.get("rubric"), dict):
            inner = fields.mapping_at("rubric")
            assert inner is not None
            inner.refuse_unknown(_RUBRIC_KEYS, (), "a rubric")
            inner.require(("criteria",), "a rubric")
            inner.number("threshold", 0.0, 1.0)
            for index, item in enumerate(inner.list_at("criteria")):
                _read_criterion(inner.at(("criteria", index)), item)
        else:
            fields.text("rubric")
        return _left(case, "evals", "mcptest eval")

    def _check(self, fields: Fields, case: Case) -> Case:
        check = fields.text("check")
        if "check" in fields.mapping and check not in CHECKS:
            self._refuse_check(fields.at(("check",)), check)
        return case.but(check=check)

    def _refuse_check(self, place: Fields, check: str) -> None:
        meant = closest(check, CHECKS)
        question = f"; did you mean {meant!r}?" if meant else ""
        message = f"there is no check {check!r}{question}"
        place.complain("", "F009", message, f"there are: {', '.join(CHECKS)}", on_key=False)


def _read_criterion(place: Fields, item: object) -> None:
    if not isinstance(item, dict):
        message = f"a criterion must be a mapping and is {kind_of(item)}"
        place.complain("", "F008", message, on_key=False)
        return
    fields = place.replaced(item)
    fields.refuse_unknown(_CRITERION_KEYS, (), "a criterion")
    fields.require(("name",), "a criterion")
    for key in ("name", "description"):
        fields.text(key)
    fields.number("weight", 0.0, 1_000_000.0)


def _left(case: Case, lane: str, command: str) -> Case:
    """A case that is declared and cannot be run; one that is skipped stays skipped."""
    if case.skip is not None:
        return case
    return case.but(skip=_not_run(lane, command), not_run=True)


def _not_run(lane: str, command: str) -> str:
    return (
        f'not run: this version of mcptest cannot run the lane "{lane}"; a version that can '
        f"runs it with {command}"
    )
