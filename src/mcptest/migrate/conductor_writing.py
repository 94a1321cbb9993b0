"""The entries of a suite, as Conductor files: one for each server."""

from __future__ import annotations

from mcptest.core.record import Record
from mcptest.core.text import visible
from mcptest.matching.suite_matchers import parse_target
from mcptest.migrate.drafts import without_nothing
from mcptest.migrate.notices import notice_wishes
from mcptest.migrate.references import unescaped
from mcptest.migrate.remarks import LeftBehindError, Remark
from mcptest.migrate.responses import Wish, expected_value, field_path
from mcptest.migrate.stderr_text import stderr_wish
from mcptest.migrate.successes import schema_notes, success_of
from mcptest.migrate.word_patterns import WordReader, accepts_absence
from mcptest.migrate.yaml_page import render_page

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mcptest.migrate.drafts import Draft
    from mcptest.migrate.pattern_words import Setting

    Mapping = dict[str, object]
    Check = Callable[[str], str]
    SettingFor = Callable[[str], Setting]

__all__ = ["ConductorText", "StepWishes", "step_wishes", "write_conductor"]

_FORMS = {"tool": "tool", "uri": "resource", "prompt": "prompt"}


class StepWishes(Record):
    """What a step of a suite expects, sorted by what it is about."""

    answer: tuple[Wish, ...]
    stderr: str
    notices: tuple[object, ...]
    least_ms: float | None
    most_ms: float | None


class ConductorText(Record):
    """A Conductor file; its text is "" when nothing could be carried over."""

    text: str
    carried: int
    remarks: tuple[Remark, ...]


def write_conductor(
    title: str, server: Mapping, drafts: Sequence[Draft], settings: SettingFor, check: Check
) -> ConductorText:
    """The file for one server, which `check` has found no mistakes in.

    Without a `server` the file leaves it to a config.
    """
    remarks: list[Remark] = []
    kept: list[tuple[Draft, list[Mapping]]] = []
    for draft in drafts:
        try:
            tests = [_test(draft, step, settings(draft.file)) for step in draft.steps]
        except LeftBehindError as error:
            remarks.append(_remark(draft, error.reason))
        else:
            kept.append((draft, tests))
    head: Mapping = {"description": title, **without_nothing({"server": server})}
    if kept and check(_page(head, kept)):
        kept, losses = _without_mistakes(head, kept, check)
        remarks += losses
    remarks += [note for draft, _ in kept for note in _notes(draft)]
    remarks += schema_notes(draft for draft, _ in kept)
    return ConductorText(
        text=_page(head, kept) if kept else "", carried=len(kept), remarks=tuple(remarks)
    )


def _page(head: Mapping, kept: Sequence[tuple[Draft, list[Mapping]]]) -> str:
    tests = [test for _, tests in kept for test in tests]
    has_captures = any("capture" in test for test in tests)
    written = tests if has_captures else [unescaped(test) for test in tests]
    return render_page({**head, "tests": written})


def _without_mistakes(
    head: Mapping, kept: Sequence[tuple[Draft, list[Mapping]]], check: Check
) -> tuple[list[tuple[Draft, list[Mapping]]], list[Remark]]:
    """Those that the reader of Conductor files finds no mistake in, and why not the others."""
    found, remarks = [], []
    for draft, tests in kept:
        reason = check(_page(head, [(draft, tests)]))
        if reason:
            remarks.append(_remark(draft, reason))
        else:
            found.append((draft, tests))
    return found, remarks


def _test(draft: Draft, step: Mapping, setting: Setting) -> Mapping:
    call = {form: step[key] for key, form in _FORMS.items() if key in step}
    wishes = step_wishes(step, setting)
    marks = dict(draft.marks)
    return {
        "it": step["title"],
        **call,
        **without_nothing({"arguments": step.get("args"), "capture": _capture(step)}),
        **marks,
        "expect": _expect(step, wishes),
    }


def _expect(step: Mapping, wishes: StepWishes) -> Mapping:
    times = {"maxResponseTime": wishes.most_ms, "minResponseTime": wishes.least_ms}
    response: object = None
    if wishes.answer:
        response = expected_value(wishes.answer)
    elif not step["assertions"]:
        response = {"match:partial": {"result": success_of(step)}}
    return without_nothing(
        {
            "response": response,
            "stderr": wishes.stderr,
            "notifications": list(wishes.notices),
            "performance": without_nothing(dict(times)),
        }
    )


def _capture(step: Mapping) -> Mapping:
    written = step.get("capture")
    paths = written if isinstance(written, dict) else {}
    return {name: field_path(parse_target(str(path))) for name, path in paths.items()}


def step_wishes(step: Mapping, setting: Setting) -> StepWishes:
    """What a step expects. LeftBehindError when one of it cannot be said in patterns."""
    if step.get("threshold", 1) != 1:
        raise LeftBehindError("with a threshold not all of its assertions must hold")
    if "max_response_tokens" in step:
        raise LeftBehindError("only a suite counts tokens")
    reader = _WishReader(WordReader(setting), step.get("max_duration_ms"))
    assertions = step["assertions"]
    for assertion in assertions if isinstance(assertions, list) else []:
        reader.read(assertion)
    return StepWishes(
        answer=tuple(reader.answer),
        stderr=reader.stderr,
        notices=tuple(reader.notices),
        least_ms=reader.least_ms,
        most_ms=reader.most_ms,
    )


class _WishReader:
    def __init__(self, words: WordReader, most_ms: object) -> None:
        self._words = words
        self.answer: list[Wish] = []
        self.stderr = ""
        self.notices: list[object] = []
        self.least_ms: float | None = None
        self.most_ms = most_ms if isinstance(most_ms, (int, float)) else None

    def read(self, assertion: Mapping) -> None:
        target, matcher = str(assertion["target"]), assertion["matcher"]
        assert isinstance(matcher, dict), "it has been loaded"
        steps = parse_target(target)
        if steps[0] == "stderr":
            self._once(self.stderr, "stderr")
            self.stderr = stderr_wish(matcher)
        elif steps[0] == "notifications":
            self._once(self.notices, "notifications")
            self.notices = notice_wishes(target, matcher)
        elif steps[0] == "duration_ms":
            self._time(matcher)
        else:
            self.answer.append(
                Wish(
                    steps=steps,
                    expression=self._words.expression(matcher),
                    may_be_absent=accepts_absence(matcher),
                )
            )

    def _once(self, known: object, what: str) -> None:
        if known:
            raise LeftBehindError(f"it asserts more than one thing of {what}")

    def _time(self, matcher: Mapping) -> None:
        for word, value in matcher.items():
            if word == "gte" and self.least_ms is None and isinstance(value, (int, float)):
                self.least_ms = value or None
            elif word == "lte" and self.most_ms is None and isinstance(value, (int, float)):
                self.most_ms = value
            else:
                raise LeftBehindError("of a duration only gte and lte can be said here")


def _remark(draft: Draft, reason: str, *, is_loss: bool = True) -> Remark:
    return Remark(file=draft.file, line=draft.line, what=draft.name, reason=reason, is_loss=is_loss)


def _notes(draft: Draft) -> list[Remark]:
    messages = [
        visible(str(assertion["message"]))
        for step in draft.steps
        for assertion in (step["assertions"] if isinstance(step["assertions"], list) else [])
        if "message" in assertion
    ]
    return [
        _remark(draft, f"its message {message!r} has no place here", is_loss=False)
        for message in messages
    ]
