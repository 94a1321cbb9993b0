"""The rules of a scan, the definitions they judge, and how a finding is made."""

from __future__ import annotations

import hashlib
from collections import deque
from itertools import islice

from mcptest.core.coverage import KINDS
from mcptest.core.security import SecurityFinding
from mcptest.core.strict_json import dump_json
from mcptest.core.text import excerpt, render_path, visible
from mcptest.core.value_class import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from mcptest.core.security import Confidence, Severity
    from mcptest.core.text import Step

    Message = dict[str, Any]

__all__ = [
    "MAX_CATALOG_CHARS",
    "MAX_VALUES",
    "RULES",
    "Catalog",
    "Definition",
    "Rule",
    "Text",
    "fingerprint_of",
    "make_finding",
    "texts_in",
]

_MAX_MESSAGE_CHARS = 1_000
_MAX_EVIDENCE_CHARS = 400

# How much of a server is judged, and how many values of one definition: many times what large ones
# have. How deep they are nested is limited where messages are read.
MAX_CATALOG_CHARS = 4_000_000
MAX_VALUES = 200_000


class Rule(Record):
    """One rule. `title` says what it finds; `needs` is what it judges besides definitions."""

    id: str
    title: str
    severity: Severity
    confidence: Confidence = "proven"
    needs: str = ""


RULES = {
    rule.id: rule
    for rule in (
        Rule(
            id="SEC-001",
            title="Unicode tag characters or runs of variation selectors hide text",
            severity="critical",
        ),
        Rule(id="SEC-002", title="bidirectional controls change what is read", severity="high"),
        Rule(
            id="SEC-003",
            title="zero-width characters or soft hyphens inside words",
            severity="high",
        ),
        Rule(id="SEC-004", title="control characters or terminal escapes", severity="high"),
        Rule(
            id="SEC-005",
            title="asks the model to conceal something from the user",
            severity="high",
            confidence="worded",
        ),
        Rule(
            id="SEC-006",
            title="overrides other instructions, or imitates the marks of a system prompt",
            severity="high",
            confidence="worded",
        ),
        Rule(
            id="SEC-007",
            title="asks the model to read private files",
            severity="high",
            confidence="worded",
        ),
        Rule(
            id="SEC-008",
            title="gives orders about other tools",
            severity="high",
            confidence="worded",
        ),
        Rule(
            id="SEC-009",
            title="sends data to a recipient that the definition fixes",
            severity="high",
            confidence="worded",
        ),
        Rule(
            id="SEC-010",
            title="secrets in definitions, results or logs, also those that mcptest has put into "
            "the environment of the server",
            severity="high",
        ),
        Rule(
            id="SEC-011",
            title="HTML comments, images with a query, or text in base64",
            severity="medium",
        ),
        Rule(
            id="SEC-012",
            title="the same or a look-alike tool name on several servers, or mixed scripts in a "
            "name",
            severity="medium",
        ),
        Rule(
            id="SEC-013",
            title="a destructive name with readOnlyHint true, or without annotations",
            severity="low",
        ),
        Rule(
            id="SEC-014",
            title="definitions differ between two connections or two client names",
            severity="high",
        ),
        Rule(
            id="SEC-020",
            title="requests with a foreign Origin are served",
            severity="high",
            needs="http",
        ),
        Rule(
            id="SEC-021",
            title="listens on all interfaces without authentication",
            severity="high",
            needs="http",
        ),
        Rule(
            id="SEC-022",
            title="accepts any token, also in the query, or refuses without WWW-Authenticate",
            severity="high",
            needs="http",
        ),
        Rule(
            id="SEC-023",
            title="session ids that repeat, can be guessed, or need no token",
            severity="high",
            needs="http",
        ),
        Rule(
            id="SEC-024",
            title="stack traces or absolute paths in HTTP errors",
            severity="medium",
            needs="http",
        ),
        Rule(
            id="SEC-030",
            title="a path argument leads out of the root",
            severity="high",
            needs="tools",
        ),
        Rule(
            id="SEC-031",
            title="a string argument is run by a shell",
            severity="critical",
            needs="tools",
        ),
        Rule(
            id="SEC-032",
            title="a URL argument reaches this machine",
            severity="high",
            needs="tools",
        ),
        Rule(
            id="SEC-033",
            title="a tool with readOnlyHint true changes files",
            severity="medium",
            needs="tools",
        ),
    )
}


class Definition(Record):
    """One entry of a list of the server, or its instructions; `kind` is a key of `KINDS`, or ""."""

    kind: str
    index: int
    value: Any

    @property
    def name(self) -> str:
        """What identifies it."""
        found = self.value.get(KINDS[self.kind].key) if self.kind else None
        return found if isinstance(found, str) else ""

    @property
    def label(self) -> str:
        """What messages call it: `the tool "read_file"`."""
        if not self.kind:
            return "the server itself"
        return f'the {KINDS[self.kind].noun} "{excerpt(self.name, 80)}"'

    @property
    def steps(self) -> tuple[Step, ...]:
        return (self.kind, self.index) if self.kind else ()

    @property
    def fingerprint(self) -> str:
        return fingerprint_of(self.value)


class Text(Record):
    """A string of a definition, where it is, and the definition itself.

    A key of an object is a string, too; its path is that of the object.
    """

    value: str
    steps: tuple[Step, ...]
    owner: Definition
    is_key: bool = False

    @property
    def path(self) -> str:
        return visible(render_path(self.steps))


class Catalog(Record):
    """Everything that one server says of itself."""

    server: str
    definitions: tuple[Definition, ...] = ()

    @property
    def tools(self) -> tuple[Definition, ...]:
        return tuple(each for each in self.definitions if each.kind == "tools")

    def texts(self) -> Iterator[Text]:
        """Every string, up to a limit of characters."""
        left = MAX_CATALOG_CHARS
        for definition in self.definitions:
            for text in texts_in(definition):
                if len(text.value) > left:
                    yield text.but(value=text.value[:left])
                    return
                left -= len(text.value)
                yield text

    @property
    def is_too_large(self) -> bool:
        """True if not all of it is judged."""
        size = sum(len(text.value) for each in self.definitions for text in texts_in(each))
        return size > MAX_CATALOG_CHARS or any(
            next(islice(_walk(each.value, ()), MAX_VALUES, None), None) is not None
            for each in self.definitions
        )


def texts_in(owner: Definition, steps: tuple[Step, ...] | None = None) -> Iterator[Text]:
    """Every string of a definition, with the keys of its objects."""
    start = owner.steps if steps is None else steps
    for value, at in islice(_walk(owner.value, start), MAX_VALUES):
        if isinstance(value, str):
            yield Text(value=value, steps=at, owner=owner)
        elif isinstance(value, dict):
            for key in value:
                yield Text(value=key, steps=at, owner=owner, is_key=True)


def _walk(value: object, steps: tuple[Step, ...]) -> Iterator[tuple[object, tuple[Step, ...]]]:
    """A value and all values in it, each with its path."""
    pending = deque([(value, steps)])
    while pending:
        value, at = pending.popleft()
        yield value, at
        if isinstance(value, dict):
            pending.extend((member, (*at, key)) for key, member in value.items())
        elif isinstance(value, list):
            pending.extend((member, (*at, index)) for index, member in enumerate(value))


def fingerprint_of(value: object) -> str:
    """A hash of a definition that does not depend on the order of its keys."""
    text = dump_json(_sorted(value))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _sorted(value: object) -> object:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(each) for each in value] if isinstance(value, list) else value


def make_finding(
    id: str,
    path: str,
    message: str,
    fingerprint: str,
    *,
    evidence: str = "",
    severity: Severity | None = None,
) -> SecurityFinding:
    """A finding of a rule, safe to show; `severity` replaces that of the rule."""
    rule = RULES[id]
    return SecurityFinding(
        id=id,
        severity=severity or rule.severity,
        confidence=rule.confidence,
        path=visible(path),
        message=excerpt(message, _MAX_MESSAGE_CHARS),
        fingerprint=fingerprint,
        evidence=excerpt(evidence, _MAX_EVIDENCE_CHARS),
    )
