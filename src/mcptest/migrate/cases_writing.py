"""The entries of a suite, as contracts: one for each server."""

from __future__ import annotations

from mcptest.core.record import Record
from mcptest.migrate.conductor_writing import step_wishes
from mcptest.migrate.drafts import METHODS
from mcptest.migrate.references import unescaped
from mcptest.migrate.remarks import LeftBehindError, Remark
from mcptest.migrate.responses import Wish, expected_value
from mcptest.migrate.shapes import directives_in, is_plain
from mcptest.migrate.successes import schema_notes, success_of
from mcptest.migrate.yaml_page import render_page

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mcptest.migrate.drafts import Draft
    from mcptest.migrate.pattern_words import Setting

    Mapping = dict[str, object]
    Check = Callable[[str], str]
    SettingFor = Callable[[str], Setting]

__all__ = ["CasesText", "write_cases"]

_MARKS = {"tags": "_tags", "skip": "_skip", "only": "_only", "timeout": "_timeout"}
_ROOTS = ("result", "error")
_BY_KEY = {key: method for method, key in METHODS.items()}


class CasesText(Record):
    """A contract; its text is "" when nothing could be carried over."""

    text: str
    carried: int
    remarks: tuple[Remark, ...]


def write_cases(
    server: Mapping, drafts: Sequence[Draft], settings: SettingFor, check: Check
) -> CasesText:
    """The contract for one server, which `check` has found no mistakes in."""
    remarks: list[Remark] = []
    documents = [render_page({"_server": server})] if server else []
    head = len(documents)
    kept: list[Draft] = []
    id = 0
    for draft in drafts:
        try:
            document = _case(draft, id + 1, settings(draft.file))
            if reason := check("---\n".join([*documents[:head], document])):
                raise LeftBehindError(reason)
        except LeftBehindError as error:
            remarks.append(_remark(draft, error.reason))
            continue
        documents.append(document)
        kept.append(draft)
        id += len(draft.steps)
        if "retries" in draft.marks:
            remarks.append(_remark(draft, "retries: a case is tried as often as the run says"))
    text = "---\n".join(documents) if kept else ""
    remarks += schema_notes(kept)
    return CasesText(text=text, carried=len(kept), remarks=tuple(remarks))


def _case(draft: Draft, first_id: int, setting: Setting) -> str:
    marks = {own: draft.marks[key] for key, own in _MARKS.items() if key in draft.marks}
    value: Mapping = {"case": draft.name, **marks}
    answers = [_answer(step, first_id + at, setting) for at, step in enumerate(draft.steps)]
    if all(map(_is_exact, answers)):
        value["_match"] = "exact"
    else:
        answers = [_strict(answer) if _is_exact(answer) else _lenient(answer) for answer in answers]
    if not all(map(is_plain, answers)):
        value["_patterns"] = True
    for at, (step, answer) in enumerate(zip(draft.steps, answers, strict=True)):
        number = f"_{at + 1}" if len(draft.steps) > 1 else ""
        value[f"in{number}"] = unescaped(_request(step, first_id + at))
        value[f"out{number}"] = unescaped(answer)
    return render_page(value)


def _request(step: Mapping, id: int) -> Mapping:
    key = next(key for key in _BY_KEY if key in step)
    params: Mapping = {"uri" if key == "uri" else "name": step[key]}
    arguments = step.get("args") or {}
    if key == "tool" or (key == "prompt" and arguments):
        params["arguments"] = arguments
    return {"jsonrpc": "2.0", "id": id, "method": _BY_KEY[key], "params": params}


def _answer(step: Mapping, id: int, setting: Setting) -> Mapping:
    if step.get("capture"):
        raise LeftBehindError("what it captures is put into texts, which a contract cannot do")
    wishes = step_wishes(step, setting)
    if wishes.stderr or wishes.notices or wishes.least_ms or wishes.most_ms:
        raise LeftBehindError("a contract asks nothing of stderr, of times and of notifications")
    answer: Mapping = {"jsonrpc": "2.0", "id": id}
    if not wishes.answer and step["assertions"]:
        raise LeftBehindError("it asserts nothing of the answer")
    if not wishes.answer:
        success = success_of(step)
        partial = {"match:partial": success} if isinstance(success, dict) else success
        return {**answer, "result": partial}
    root, inner = _of_one_root(wishes.answer)
    return {**answer, root: expected_value(inner, is_object=False)}


def _of_one_root(wishes: Sequence[Wish]) -> tuple[str, list[Wish]]:
    """The member of the answer that all of this is about, and what is wanted of it."""
    roots = {str(wish.steps[0]) for wish in wishes if not wish.may_be_absent}
    if len(roots) != 1:
        raise LeftBehindError("it is not about the result alone or the error alone")
    root = roots.pop()
    # One that may be absent is so in an answer of the other kind.
    wanted = [wish for wish in wishes if wish.steps[0] == root]
    if any(wish.may_be_absent and len(wish.steps) == 1 for wish in wanted):
        raise LeftBehindError("no answer is without what a contract writes of it")
    return root, [wish.but(steps=wish.steps[1:]) for wish in wanted]


def _is_exact(answer: Mapping) -> bool:
    """Whether all of the result or error is written, and nothing else may be in it."""
    value = answer.get("result", answer.get("error"))
    return isinstance(value, (dict, list)) and not directives_in(value)


def _strict(answer: Mapping) -> Mapping:
    """The same where other answers of the case may have more than is written."""
    return {
        key: {"match:all": [value]} if key in _ROOTS else value for key, value in answer.items()
    }


def _lenient(answer: Mapping) -> Mapping:
    """A contract lets objects have more than is written, so it need not say so of those."""
    found = dict(answer)
    for key in _ROOTS:
        expected = answer.get(key)
        if directives_in(expected) and list(expected) == ["match:partial"]:
            tree = expected["match:partial"]
            found[key] = expected if _has_lists(tree) else tree
    return found


def _has_lists(value: object) -> bool:
    if isinstance(value, dict):
        return any(map(_has_lists, value.values()))
    return isinstance(value, list)


def _remark(draft: Draft, reason: str) -> Remark:
    return Remark(file=draft.file, line=draft.line, what=draft.name, reason=reason)
