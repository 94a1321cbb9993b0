"""The lanes of a suite that are not plain calls: agents, evals, security and compliance.

Every key is read, and every mistake reported. What this version cannot run becomes a case that
says so, so that nothing that is declared is ever dropped.
"""

from __future__ import annotations

from mcptest.core.diagnostics import closest, suggest
from mcptest.core.errors import FormatError
from mcptest.core.plan import Case
from mcptest.core.security import RULE_IDS, SEVERITIES, ScanWish
from mcptest.formats.fields import (
    FLAG,
    ONLY,
    SKIP,
    STRING,
    STRINGS,
    TEST_TAGS,
    Fields,
    Key,
    Keys,
    number,
    one_of,
    read_only,
    read_skip,
    read_tags,
    whole_number,
)
from mcptest.formats.suite.expect import BUDGETS, EXPECT, ExpectReader
from mcptest.formats.suite.servers import SERVER
from mcptest.protocol.revisions import REVISIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from mcptest.core.plan import ServerSpec
    from mcptest.core.security import BaselineEntry
    from mcptest.matching.suite_matchers import SuiteMatchers

__all__ = [
    "AGENT_KEYS",
    "CHECKS",
    "CHECK_KEYS",
    "COMMANDS",
    "COMPLIANCE_KEYS",
    "CRITERION_KEYS",
    "EVAL_KEYS",
    "RUBRIC_KEYS",
    "SECURITY_KEYS",
    "TARGETS_OF_AGENTS",
    "LaneReader",
]

TARGETS_OF_AGENTS = ("tool_calls", "tool_names", "final_response", "conversation")

# What the lane `compliance` can check. Only what sends nothing unusual is checked by default.
CHECKS = ("initialize", "ping", "list", "invariants", "rules", "active")
_DEFAULT_CHECKS = CHECKS[:-1]

_MARKS = Keys(
    {
        "name": Key(STRING, "What reports call it.", is_required=True),
        "server": SERVER,
        "tags": TEST_TAGS,
        "skip": SKIP,
        "only": ONLY,
    }
)
_MODEL = Key(STRING, "The model to ask.", "some-model")
_TURNS = whole_number(1, 1000)
_LEAST_MARK = Key(number(0, 1), "The lowest mark that passes.", 0.7)

AGENT_KEYS = Keys(
    {
        **_MARKS,
        "servers": Key(STRINGS, "The servers whose tools the agent may use."),
        "model": _MODEL,
        "models": Key(STRINGS, "Several models, each of which is asked."),
        "system_prompt": Key(STRING, "The system prompt of the model."),
        "prompt": Key(
            STRING, "What the agent is asked to do.", "Refund order A-17", is_required=True
        ),
        "max_turns": Key(_TURNS, "How often the model may be asked."),
        "runs": Key(_TURNS, "How often it is done."),
        "expect": Key("expect_of_agent", EXPECT.description),
        "threshold": Key(number(0, 1, is_open=True), BUDGETS["threshold"].description),
    }
)
CRITERION_KEYS = Keys(
    {
        "name": Key(STRING, "What is judged.", "kindness", is_required=True),
        "description": Key(STRING, "What it means."),
        "weight": Key(number(0, 1_000_000), "How much it counts."),
    }
)
RUBRIC_KEYS = Keys(
    {
        "criteria": Key("criteria", "What is judged, one by one.", is_required=True),
        "threshold": _LEAST_MARK,
    }
)
EVAL_KEYS = Keys(
    {
        **_MARKS,
        "model": _MODEL,
        "prompt": Key(STRING, "What the model is asked.", "Say no politely", is_required=True),
        "rubric": Key(
            "rubric",
            "What a good answer is like.",
            "The answer declines and stays kind",
            is_required=True,
        ),
        "threshold": _LEAST_MARK,
    }
)
CHECK_KEYS = Keys({**_MARKS, "check": Key(one_of(CHECKS), "What is checked.", is_required=True)})
COMPLIANCE_KEYS = Keys(
    {
        "spec_version": Key(one_of(REVISIONS), "The revision of the protocol to judge by."),
        "tests": Key("checks", "What is checked (default: everything but active)."),
        "server": SERVER,
    }
)
SECURITY_KEYS = Keys(
    {
        "scan": Key(FLAG, "false: no scan."),
        "fail_on": Key(
            one_of((*SEVERITIES, "never")), "The lowest severity that fails the run.", "high"
        ),
        "skip": Key({**STRINGS, "items": one_of(RULE_IDS)}, "Rules that are left out."),
        "baseline": Key(STRING, "The file with the accepted findings.", "security-baseline.yaml"),
    }
)

# The command that runs each lane, in a version that can.
COMMANDS = {
    "agents": "mcptest run",
    "evals": "mcptest eval",
}

# Other names that people use for the checks.
_MEANT = {
    "initialize": ("handshake", "init", "initialise", "initialized", "lifecycle", "startup"),
    "ping": ("alive", "health", "healthcheck", "heartbeat", "keepalive"),
    "list": (
        "lists",
        "listing",
        "pagination",
        "prompts",
        "prompts/list",
        "resources",
        "resources/list",
        "resources/templates/list",
        "tools",
        "tools/list",
    ),
    "invariants": ("inv", "invariant", "session", "sessions"),
    "active": ("probe", "probes", "checks", "all"),
    "rules": ("compliance", "conformance", "passive", "protocol", "rule", "schema", "spec"),
}

# The defaults that apply to every kind of test.
_SHARED_KEYS = ("server", "tags")


class LaneReader:
    """Reads these lanes of one file into cases, each with the name of its server.

    `file` is the name of the suite on a command line.
    """

    def __init__(
        self,
        words: SuiteMatchers,
        place: Callable[[Fields], str],
        line: Callable[[list[object], int], int],
        file: str = "<suite>",
    ) -> None:
        self._words = words
        self._server_of = place
        self._line_of = line
        self._file = file

    def agents(self, fields: Fields) -> list[tuple[str, Case]]:
        """Return one case for each agent; none of them can be run yet."""
        return self._entries(fields, "agents", AGENT_KEYS, self._agent)

    def evals(self, fields: Fields) -> list[tuple[str, Case]]:
        return self._entries(fields, "evals", EVAL_KEYS, self._eval)

    def security(
        self,
        fields: Fields,
        servers: Mapping[str, ServerSpec],
        read_beside: Callable[[str], str],
    ) -> list[tuple[str, Case]]:
        """Return a scan of each server, and one of all servers together if there are several."""
        inner = fields.mapping_at("security")
        if inner is None:
            return []
        inner.check_keys(SECURITY_KEYS, '"security"')
        is_wanted = inner.flag("scan", True)
        skip = inner.texts("skip")
        for index, id in enumerate(skip):
            if id not in RULE_IDS:
                message = f"there is no rule {id!r}{suggest(id, RULE_IDS, '{!r}')}"
                place = inner.at(("skip", index))
                place.report("", "F009", message, "mcptest security --list", on_key=False)
        wish = ScanWish(
            fail_on=inner.choice("fail_on", (*SEVERITIES, "never"), "high"),
            skip=skip,
            baseline=_read_baseline(inner, read_beside),
        )
        case = Case(
            name="security scan",
            line=1,
            tags=_default_tags(fields),
            lane="security",
            check="security",
            scan=wish,
        )
        if not is_wanted:
            return []
        found = [(server, case) for server in servers]
        if len(servers) > 1:
            wish = wish.but(is_one_of_several=True)
            found = [(server, case.but(scan=wish)) for server in servers]
            first, *others = servers
            together = wish.but(others=tuple(servers[name] for name in others))
            found.append((first, case.but(name="security scan of all servers", scan=together)))
        return found

    def compliance(self, fields: Fields) -> list[tuple[str, Case]]:
        """Return checks of a server's conformance, from a list or `{spec_version, tests}`."""
        value = fields.mapping.get("compliance")
        if not isinstance(value, dict):
            return self._entries(fields, "compliance", CHECK_KEYS, self._check)
        inner = fields.at(("compliance",)).replaced(value)
        inner.check_keys(COMPLIANCE_KEYS, '"compliance"')
        version = inner.choice("spec_version", REVISIONS, "")
        server = self._server_of(inner.replaced({**_shared_defaults(fields), **value}))
        tags = _default_tags(fields)
        found = []
        for check, line in self._tests(inner):
            case = Case(name=f"compliance: {check}", line=line, tags=tags)
            # Judged by this revision.
            found.append((server, case.but(check=f"{check} {version}".rstrip())))
        return found

    def _tests(self, fields: Fields) -> Iterator[tuple[str, int]]:
        """Yield the checks of `tests`, each with its line (default: all but the active ones)."""
        if "tests" not in fields.mapping:
            yield from ((check, 1) for check in _DEFAULT_CHECKS)
            return
        fields.texts("tests")
        written = fields.mapping["tests"]
        items = written if isinstance(written, list) else []
        if written == []:
            fields.report("tests", "F011", '"tests" is empty: it checks nothing')
        for index, check in enumerate(items):
            if isinstance(check, str):
                self._refuse_unknown_check(fields.at(("tests", index)), check)
                yield check, self._line_of(items, index)

    # One entry

    def _entries(
        self,
        fields: Fields,
        lane: str,
        keys: Keys,
        read: Callable[[Fields, Case], Case],
    ) -> list[tuple[str, Case]]:
        found = []
        if fields.mapping.get(lane) == []:
            fields.report(lane, "F011", f'"{lane}" is empty: it tests nothing')
        for index, entry in fields.mappings_at(lane, f"an entry of {lane}"):
            entry.check_keys(keys, f"an entry of {lane}")
            tags = (*_default_tags(fields), *read_tags(entry, "tags"))
            case = Case(
                name=entry.text("name"),
                line=self._line_of(fields.list_at(lane), index),
                tags=tuple(dict.fromkeys(tags)),
                skip=read_skip(entry, "skip"),
                only=read_only(entry, "only"),
            )
            whole = entry.replaced({**_shared_defaults(fields, entry.mapping), **entry.mapping})
            found.append((self._server_of(whole), read(entry, case)))
        return found

    def _agent(self, fields: Fields, case: Case) -> Case:
        for key in ("model", "system_prompt", "prompt"):
            fields.text(key)
        fields.texts("models")
        for index, name in enumerate(fields.texts("servers")):
            self._server_of(fields.at(("servers", index)).replaced({"server": name}))
        for key in ("max_turns", "runs"):
            fields.whole_number(key, *AGENT_KEYS[key].bounds, 1)
        ExpectReader(self._words, TARGETS_OF_AGENTS).read(fields, "expect", case.name)
        return self._leave_out(case, "agents")

    def _eval(self, fields: Fields, case: Case) -> Case:
        for key in ("model", "prompt"):
            fields.text(key)
        fields.number("threshold", *_LEAST_MARK.bounds)
        if isinstance(fields.mapping.get("rubric"), dict):
            inner = fields.mapping_at("rubric")
            assert inner is not None
            inner.check_keys(RUBRIC_KEYS, "a rubric")
            inner.number("threshold", *_LEAST_MARK.bounds)
            for _, criterion in inner.mappings_at("criteria", "a criterion"):
                criterion.check_keys(CRITERION_KEYS, "a criterion")
                for key in ("name", "description"):
                    criterion.text(key)
                criterion.number("weight", *CRITERION_KEYS["weight"].bounds)
        else:
            fields.text("rubric")
        return self._leave_out(case, "evals")

    # Checks

    def _check(self, fields: Fields, case: Case) -> Case:
        check = fields.text("check")
        if isinstance(fields.mapping.get("check"), str):
            self._refuse_unknown_check(fields.at(("check",)), check)
        return case.but(check=check)

    def _refuse_unknown_check(self, place: Fields, check: str) -> None:
        if check in CHECKS:
            return
        word = check.casefold().strip()
        meant = next((name for name, others in _MEANT.items() if word in others), "")
        meant = "invariants" if word.startswith("inv-") else meant or closest(check, CHECKS)
        question = f"; did you mean {meant!r}?" if meant else ""
        message = f"there is no check {check!r}{question}"
        place.report("", "F009", message, f"there are: {', '.join(CHECKS)}", on_key=False)

    # What cannot be run

    def _leave_out(self, case: Case, lane: str) -> Case:
        """Return a case that cannot be run; a skipped one stays skipped."""
        if case.skip is not None:
            return case.but(lane=lane)
        return case.but(
            lane=lane,
            not_run=True,
            skip=f'lane "{lane}" is not drivable by this version of mcptest; with one that '
            f"can, run: {COMMANDS[lane]} {self._file}",
        )


def _read_baseline(fields: Fields, read_beside: Callable[[str], str]) -> tuple[BaselineEntry, ...]:
    file = fields.text("baseline")
    if not file:
        return ()
    # Few suites have a baseline.
    from mcptest.formats.lane_files import read_baseline  # noqa: PLC0415

    try:
        return read_baseline(read_beside(file), file)
    except (OSError, ValueError) as error:
        fields.report("baseline", "F001", f"the baseline {file!r}: {error}", on_key=False)
    except FormatError as error:
        for each in error.diagnostics:
            message = f"{file}:{each.line}: {each.message}"
            fields.report("baseline", each.code, message, each.help, on_key=False)
    return ()


def _shared_defaults(fields: Fields, entry: dict[str, object] | None = None) -> dict[str, object]:
    """Return the defaults of every test; `servers` of an agent replaces `server`."""
    defaults = fields.mapping.get("defaults")
    if not isinstance(defaults, dict) or "servers" in (entry or {}):
        return {}
    return {key: defaults[key] for key in _SHARED_KEYS if key in defaults}


def _default_tags(fields: Fields) -> tuple[str, ...]:
    """Return the tags of `defaults`; their mistakes are reported by the reader of `defaults`."""
    tags = _shared_defaults(fields).get("tags")
    listed = [tags] if isinstance(tags, str) else tags
    return tuple(tag for tag in listed if isinstance(tag, str)) if isinstance(listed, list) else ()
