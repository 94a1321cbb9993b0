"""Read the tests of a Conductor file as a suite writes them."""

from __future__ import annotations

import re

from mcptest.formats.conductor import SLIPPED_KEYS
from mcptest.formats.keys import parse_duration, references
from mcptest.matching.patterns import PREFIX
from mcptest.matching.values import parse_field_path
from mcptest.migrate.drafts import (
    Draft,
    LeftBehindError,
    Note,
    Source,
    drop_empty,
    escape_references,
    read_request,
)
from mcptest.migrate.matchers import (
    NEGATION,
    convert_to_schema,
    escape_regex,
    has_directives,
    is_pattern,
    is_plain,
)
from mcptest.migrate.responses import ResponseReader, render_target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.formats.yaml import Document
    from mcptest.migrate.matchers import Matcher, Setting
    from mcptest.migrate.responses import Assertion

    Mapping = dict[str, object]

__all__ = ["has_captures", "read_conductor"]

_MARKS = ("tags", "skip", "only", "timeout", "retries")
_SHORT_FORMS = {"tool": "tool", "resource": "uri", "prompt": "prompt"}


def has_captures(value: object) -> bool:
    """True if a test of the file captures a value, so that `${name}` is a reference in it."""
    tests = value.get("tests") if isinstance(value, dict) else None
    return isinstance(tests, list) and any("capture" in test for test in tests)


def read_conductor(document: Document, setting: Setting) -> Source:
    """Return the tests of a file that has been loaded without a mistake."""
    top = document.value
    assert isinstance(top, dict), "it has been loaded"
    drafts: list[Draft] = []
    notes: list[Note] = []
    for index, test in enumerate(top["tests"]):
        reader = _TestReader(test, document.file, document.item_line(top["tests"], index), setting)
        try:
            drafts.append(reader.read())
            notes += reader.notes
        except LeftBehindError as error:
            notes.append(reader.note(error.reason))
    return Source(title=str(top["description"]), drafts=tuple(drafts), notes=tuple(notes))


class _TestReader:
    """Reads one test."""

    def __init__(self, test: Mapping, file: str, line: int, setting: Setting) -> None:
        self._written = test
        escaped = test if setting.has_references else escape_references(test)
        assert isinstance(escaped, dict)
        self._test = escaped
        self._file = file
        self._line = line
        self._setting = setting
        self.notes: list[Note] = []

    def note(self, reason: str, *, is_loss: bool = True) -> Note:
        name = str(self._written["it"])
        return Note(file=self._file, line=self._line, test=name, reason=reason, is_loss=is_loss)

    def read(self) -> Draft:
        call, id, is_raw = self._call()
        capture = self._capture()
        expect = self._expect(id, is_raw=is_raw)
        step = {**call, **drop_empty({"capture": capture, "expect": expect})}
        has_references = self._setting.has_references
        needs = dict.fromkeys(name for name, _ in references(step)) if has_references else ()
        return Draft(
            file=self._file,
            line=self._line,
            name=str(self._written["it"]),
            steps=(step,),
            marks=drop_empty({key: self._written.get(key) for key in _MARKS}),
            needs=tuple(needs),
            captures=tuple(capture),
        )

    def _call(self) -> tuple[Mapping, object, bool]:
        """Return the call, the id of its request, and whether it is written as a raw request."""
        test = self._test
        if test.get("wire_id") is True:
            raise LeftBehindError("it reuses an id, and a suite chooses its own")
        if "list" in test:
            raise LeftBehindError(f"it lists {test['list']}, and a suite only makes calls")
        for form, key in _SHORT_FORMS.items():
            if form in test:
                return drop_empty({key: test[form], "args": test.get("arguments")}), None, False
        request = test["request"]
        assert isinstance(request, dict)
        call, difference = read_request(request)
        if difference:
            self.notes.append(self.note(difference, is_loss=False))
        return call, request["id"], True

    def _capture(self) -> Mapping:
        written = self._test.get("capture")
        found: Mapping = {}
        for name, path in (written if isinstance(written, dict) else {}).items():
            steps = parse_field_path(str(path)) or ("",)
            if steps[0] not in ("result", "error"):
                raise LeftBehindError(f"{name} is captured from the envelope of the response")
            found[name] = render_target(steps)
        return found

    def _expect(self, id: object, *, is_raw: bool) -> object:
        expected = _expected(self._test)
        if "exitCode" in expected:
            raise LeftBehindError("it expects an exit code, and a suite keeps its servers running")
        assertions: list[Assertion] = []
        if "response" in expected:
            reader = ResponseReader(self._setting)
            reader.read(expected["response"], id, "", has_envelope=is_raw)
            assertions = reader.assertions
        stderr = _expected(self._written).get("stderr")
        if stderr is not None:
            matcher: object = _convert_stderr(str(stderr), self._setting)
            if not self._setting.has_references:
                matcher = escape_references(matcher)
            assertions.append({"target": "stderr", "matcher": matcher})
        notifications = expected.get("notifications")
        if isinstance(notifications, list):
            assertions.append(_convert_notifications(notifications))
        performance = expected.get("performance")
        times = performance if isinstance(performance, dict) else {}
        least, most = times.get("minResponseTime"), times.get("maxResponseTime")
        if least is not None:
            matcher = {"gte": _milliseconds(least)}
            assertions.append({"target": "duration_ms", "matcher": matcher})
        if most is None:
            return assertions
        if not assertions:
            # Without an assertion, a suite would expect a success.
            return [{"target": "duration_ms", "matcher": {"lte": _milliseconds(most)}}]
        return {"assertions": assertions, "max_duration_ms": _milliseconds(most)}


def _expected(test: Mapping) -> Mapping:
    """Return what is expected, under `expect` or one level too high."""
    inner = test.get("expect")
    found = {key: test[key] for key in SLIPPED_KEYS if key in test}
    found.update(inner if isinstance(inner, dict) else {})
    return {key: value for key, value in found.items() if value is not None}


def _milliseconds(written: object) -> float:
    found = round(parse_duration(written) * 1000, 3)
    return int(found) if found == int(found) else found


# Standard error

# A Conductor file ignores white space around the whole of stderr, a suite does not. A check can
# be converted if it begins and ends with a visible character, or is anchored there.
_ANY_VISIBLE = r"\S"
_LEAD, _TAIL = r"^\s*", r"\s*$"
# One visible character without a special meaning, or an escape for one.
_SOLID = r"(?:[A-Za-z0-9_\-:,;!\"'/<>=@#%&~`]|\\[dw.\[\]()*+?^$|{}\\/-])"
_INNER = r"(?:[^\\^$|()]|\\[^bBAZzk0-9])*?"
_TRIMMED = rf"{_SOLID}(?![?*{{])(?:{_INNER}{_SOLID})?\+?"
_DEPENDS_ON_SPACE = (
    "a Conductor file ignores white space around stderr, a suite does not, "
    "and this check depends on it"
)


def _convert_stderr(expected: str, setting: Setting) -> Matcher:
    """Return the matcher for what a Conductor file expects on stderr."""
    text = expected.strip()
    if expected == "toBeEmpty" or not text:
        return {"not": {"regex": _ANY_VISIBLE}}
    if setting.has_references and "${" in text:
        raise LeftBehindError("a captured value is expected on stderr")
    if not is_pattern(text):
        return {"regex": f"{_LEAD}{escape_regex(text)}{_TAIL}"}
    body = text.removeprefix(PREFIX)
    matcher = _convert_stderr_pattern(body.removeprefix(NEGATION), setting)
    return {"not": matcher} if body.startswith(NEGATION) else matcher


def _convert_stderr_pattern(body: str, setting: Setting) -> Matcher:
    name, _, rest = body.partition(":")
    if not setting.registry.find(name):
        return {"regex": _trimmed_regex(body)}
    if name == "regex":
        return {"regex": _trimmed_regex(rest)}
    matchers: dict[str, Matcher] = {
        "contains": {"contains": rest},
        "containsIgnoreCase": {"icontains": rest},
        "startsWith": {"regex": f"{_LEAD}{escape_regex(rest)}"},
        "endsWith": {"regex": f"{escape_regex(rest)}{_TAIL}"},
        "stringNotEmpty": {"regex": _ANY_VISIBLE},
        "notEmpty": {"regex": _ANY_VISIBLE},
        "stringEmpty": {"not": {"regex": _ANY_VISIBLE}},
        "empty": {"not": {"regex": _ANY_VISIBLE}},
    }
    if name not in matchers or rest != rest.strip():
        raise LeftBehindError(_DEPENDS_ON_SPACE)
    return matchers[name]


def _trimmed_regex(source: str) -> str:
    """Return an expression that finds in a string what `source` finds in the stripped string."""
    begins = source.startswith("^")
    ends = source.endswith("$") and not source.endswith("\\$")
    middle = source[begins : len(source) - ends]
    if not re.fullmatch(_TRIMMED, middle):
        raise LeftBehindError(_DEPENDS_ON_SPACE)
    return f"{_LEAD if begins else ''}{middle}{_TAIL if ends else ''}"


# Notifications

# A method that is the same in JSON and needs no escape there.
_METHOD = r"[A-Za-z0-9_$/.-]+"


def _convert_notifications(expected: list[object]) -> Assertion:
    """Return the assertion for notifications that are expected in this order, among others."""
    methods = [each for each in expected if isinstance(each, str) and re.fullmatch(_METHOD, each)]
    if methods == expected:
        matcher: Matcher = {"pattern": f"arrayContains:{methods[0]}"}
        if len(methods) > 1:
            # The list of methods is searched as JSON, where each one is between quotes.
            matcher = {"regex": ".*".join(f'"{escape_regex(method)}"' for method in methods)}
        return {"target": "notifications[*].method", "matcher": matcher}
    if len(expected) > 1:
        raise LeftBehindError("a suite checks the order of notifications only by their methods")
    message = expected[0]
    if not isinstance(message, dict):
        raise LeftBehindError("a suite cannot look for a notification by a pattern for its method")
    whole = message if has_directives(message) else {"jsonrpc": "2.0", **message}
    if is_plain(whole):
        matcher = {"contains": whole}
    else:
        matcher = {"schema": {"type": "array", "contains": convert_to_schema(whole)}}
    return {"target": "notifications", "matcher": matcher}
