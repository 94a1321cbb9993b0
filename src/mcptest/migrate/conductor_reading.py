"""The tests of a Conductor file, as a suite would write them."""

from __future__ import annotations

from mcptest.formats.conductor_expect import SLIPPED_KEYS
from mcptest.formats.durations import parse_duration
from mcptest.matching.compare import parse_field_path
from mcptest.migrate.answers import AnswerReader, target_of
from mcptest.migrate.calls import call_of_request
from mcptest.migrate.drafts import Draft, Source, without_nothing
from mcptest.migrate.notices import notice_assertion
from mcptest.migrate.references import escaped, names_in
from mcptest.migrate.remarks import LeftBehindError, Remark
from mcptest.migrate.stderr_text import stderr_matcher
from mcptest.migrate.successes import is_success

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.formats.document import Document
    from mcptest.migrate.answers import Assertion
    from mcptest.migrate.pattern_words import Setting

    Mapping = dict[str, object]

__all__ = ["has_captures", "read_conductor"]

_MARKS = ("tags", "skip", "only", "timeout", "retries")
_FORMS = {"tool": "tool", "resource": "uri", "prompt": "prompt"}


def has_captures(value: object) -> bool:
    """Whether `${name}` stands for a value in this file."""
    tests = value.get("tests") if isinstance(value, dict) else None
    return isinstance(tests, list) and any("capture" in test for test in tests)


def read_conductor(document: Document, setting: Setting) -> Source:
    """What the file holds; it has been loaded before, and has no mistakes."""
    top = document.value
    assert isinstance(top, dict), "it has been loaded"
    drafts: list[Draft] = []
    remarks: list[Remark] = []
    for index, test in enumerate(top["tests"]):
        reader = _TestReader(test, document.file, document.item_line(top["tests"], index), setting)
        try:
            drafts.append(reader.draft())
            remarks += reader.notes
        except LeftBehindError as error:
            remarks.append(reader.remark(error.reason))
    return Source(
        file=document.file,
        title=str(top["description"]),
        drafts=tuple(drafts),
        remarks=tuple(remarks),
    )


class _TestReader:
    """Reads one test."""

    def __init__(self, test: Mapping, file: str, line: int, setting: Setting) -> None:
        self._written = test
        safe = test if setting.has_references else escaped(test)
        assert isinstance(safe, dict)
        self._test = safe
        self._file = file
        self._line = line
        self._setting = setting
        self.notes: list[Remark] = []

    def remark(self, reason: str, *, is_loss: bool = True) -> Remark:
        name = str(self._written["it"])
        return Remark(file=self._file, line=self._line, what=name, reason=reason, is_loss=is_loss)

    def draft(self) -> Draft:
        call, id, is_short = self._call()
        step = {**call, **without_nothing({"capture": self._capture()})}
        expect, budget = self._expect(id, call, is_short=is_short)
        step.update(without_nothing({**budget, "expect": expect}))
        capture = step.get("capture")
        return Draft(
            file=self._file,
            line=self._line,
            name=str(self._written["it"]),
            steps=(step,),
            marks=without_nothing({key: self._written.get(key) for key in _MARKS}),
            needs=names_in(step) if self._setting.has_references else (),
            captures=tuple(capture) if isinstance(capture, dict) else (),
        )

    def _call(self) -> tuple[Mapping, object, bool]:
        """What is called, the id of the request, and whether the envelope is ours."""
        test = self._test
        if test.get("wire_id") is True:
            raise LeftBehindError("it uses an id again, and a suite chooses its own")
        if "list" in test:
            raise LeftBehindError(f"it lists {test['list']}, and a suite only makes calls")
        for form, key in _FORMS.items():
            if form in test:
                call = {key: test[form], "args": test.get("arguments")}
                return without_nothing(call), None, True
        request = test["request"]
        assert isinstance(request, dict)
        call, note = call_of_request(request)
        if note:
            self.notes.append(self.remark(note, is_loss=False))
        return call, request["id"], False

    def _capture(self) -> Mapping:
        written = self._test.get("capture")
        found: Mapping = {}
        for name, path in (written if isinstance(written, dict) else {}).items():
            steps = parse_field_path(str(path)) or ("",)
            if steps[0] not in ("result", "error"):
                raise LeftBehindError(f"{name} is captured from the envelope of the answer")
            found[name] = target_of(steps)
        return found

    # What is expected

    def _wishes(self, test: Mapping) -> Mapping:
        inner = test.get("expect")
        slipped = {key: test[key] for key in SLIPPED_KEYS if key in test}
        found = {**slipped, **(inner if isinstance(inner, dict) else {})}
        return {key: value for key, value in found.items() if value is not None}

    def _expect(self, id: object, call: Mapping, *, is_short: bool) -> tuple[object, Mapping]:
        """What stands under `expect`, and what beside it."""
        wishes = self._wishes(self._test)
        if "exitCode" in wishes:
            raise LeftBehindError("it expects an exit code, and a suite keeps its servers running")
        response = wishes.get("response")
        others = [*self._stderr(), *self._notices(wishes)]
        least, most = self._times(wishes.get("performance"))
        if is_success(response, call) and not others and least is None:
            return None, {"max_duration_ms": most}
        found: list[Assertion] = []
        if response is not None:
            reader = AnswerReader(self._setting)
            reader.read(response, id, "", is_ours=is_short)
            found = reader.found
        found += others
        if least is not None:
            found.append({"target": "duration_ms", "matcher": {"gte": least}})
        if not found:
            # Without an assertion a suite would expect a success.
            return [{"target": "duration_ms", "matcher": {"lte": most}}], {}
        if most is None:
            return found, {}
        return {"assertions": found, "max_duration_ms": most}, {}

    def _stderr(self) -> list[Assertion]:
        wanted = self._wishes(self._written).get("stderr")
        if wanted is None:
            return []
        matcher: object = stderr_matcher(str(wanted), self._setting)
        if not self._setting.has_references:
            matcher = escaped(matcher)
        return [{"target": "stderr", "matcher": matcher}]

    def _notices(self, wishes: Mapping) -> list[Assertion]:
        wanted = wishes.get("notifications")
        return [notice_assertion(wanted)] if isinstance(wanted, list) else []

    def _times(self, wanted: object) -> tuple[float | None, float | None]:
        """The bounds on the time of an answer, in milliseconds."""
        given = wanted if isinstance(wanted, dict) else {}
        least, most = (given.get(key) for key in ("minResponseTime", "maxResponseTime"))
        return _milliseconds(least), _milliseconds(most)


def _milliseconds(written: object) -> float | None:
    if written is None:
        return None
    found = round(parse_duration(written) * 1000, 3)
    return int(found) if found == int(found) else found
