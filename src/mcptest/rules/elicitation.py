"""Rules about elicitation: ELIC."""

from __future__ import annotations

from mcptest.rules.client_requests import asking_topics, each_asked, is_declared, undeclared
from mcptest.rules.rule import Latest, Rule, Watch, limit, members, show, show_member
from mcptest.rules.shapes import SHAPE_TOPICS, by_shape, shape_faults
from mcptest.rules.syntax import is_url

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from mcptest.rules.client_requests import ClientRequest
    from mcptest.rules.facts import Facts
    from mcptest.rules.rule import Entry, Findings

    Members = dict[str, Any]

__all__ = ["RULES", "wrong_mode"]

_METHOD = "elicitation/create"
_NO_ELICITATION = "the server asked its client's user for nothing"

_PRIMITIVES = ("string", "number", "integer", "boolean")
_FORMATS = ("email", "uri", "date", "date-time")


def _is_form(asked: ClientRequest, facts: Facts) -> bool:
    """True for a form; before there were modes, every elicitation was one."""
    return facts.newest < "2025-11-25" or asked.params.get("mode", "form") != "url"


def wrong_mode(asked: ClientRequest, _: Facts) -> Findings:
    """That the client did not declare the mode; None when it declared no elicitation at all."""
    if asked.capabilities is None or not is_declared(asked.capabilities, "elicitation"):
        return None
    mode = asked.params.get("mode", "form")
    has_url = is_declared(asked.capabilities, "elicitation", "url")
    # An empty object means forms.
    has_form = is_declared(asked.capabilities, "elicitation", "form") or not has_url
    if has_url if mode == "url" else has_form:
        return ()
    return [f"{asked.place} is in the mode {mode}, which the client did not declare"]


# The form


def _flat(asked: ClientRequest, facts: Facts) -> Findings:
    if not _is_form(asked, facts):
        return None
    return limit(_property_faults(asked, has_choices=facts.oldest >= "2025-11-25"))


def _property_faults(asked: ClientRequest, *, has_choices: bool) -> Iterator[str]:
    schema = members(asked.params.get("requestedSchema"))
    for name, wanted in members(schema.get("properties")).items():
        problem = _property_problem(wanted, has_choices=has_choices)
        if problem:
            yield f"{asked.at('requestedSchema', 'properties', name)} {problem}"


def _property_problem(wanted: Members, *, has_choices: bool) -> str:
    kind = wanted.get("type")
    if kind == "array" and has_choices:
        return (
            "" if _is_choice(wanted.get("items")) else "is an array of something else than choices"
        )
    if kind not in _PRIMITIVES:
        found = show_member(wanted, "type")
        return f"must be of one of the types {', '.join(_PRIMITIVES)}; its type is {found}"
    if kind == "string" and "format" in wanted and wanted["format"] not in _FORMATS:
        return f"has the format {show(wanted['format'])}; there are {', '.join(_FORMATS)}"
    return ""


def _is_choice(items: object) -> bool:
    """True if the items of an array are strings to choose from."""
    if not isinstance(items, dict):
        return False
    listed = items.get("enum")
    if isinstance(listed, list):
        return all(isinstance(each, str) for each in listed)
    titled = items.get("anyOf", items.get("oneOf"))
    return isinstance(titled, list) and all(
        isinstance(each, dict) and isinstance(each.get("const"), str) for each in titled
    )


_FORM_RULES = (
    Rule(
        id="ELIC-01",
        name="capability-gate",
        category="elicitation",
        property="the server asks for elicitation only when the client declared it",
        since="2025-06-18",
        topics=asking_topics(_METHOD),
        look=each_asked(_METHOD, undeclared),
        nothing=_NO_ELICITATION,
        elsewhere="no elicitation",
    ),
    Rule(
        id="ELIC-02",
        name="mode-gate",
        category="elicitation",
        property="the server asks for elicitation only in modes that the client declared",
        since="2025-11-25",
        topics=SHAPE_TOPICS,
        look=by_shape("ELIC-02", each_asked(_METHOD, wrong_mode)),
        nothing=_NO_ELICITATION,
        elsewhere="no modes of elicitation",
    ),
    Rule(
        id="ELIC-03",
        name="message-present",
        category="elicitation",
        property="an elicitation has a message",
        since="2025-06-18",
        topics=SHAPE_TOPICS,
        look=by_shape("ELIC-03"),
        nothing=_NO_ELICITATION,
        elsewhere="no elicitation",
    ),
    Rule(
        id="ELIC-04",
        name="flat-schema",
        category="elicitation",
        property="the schema of a form is a flat object of primitive properties",
        since="2025-06-18",
        topics=SHAPE_TOPICS,
        look=by_shape("ELIC-04", each_asked(_METHOD, _flat)),
        nothing="the server asked for no form",
        elsewhere="no elicitation",
    ),
)


_URL_REQUIRED = -32042


def _url_params(asked: ClientRequest, _: Facts) -> Findings:
    if asked.params.get("mode") != "url":
        return None
    url = asked.params.get("url")
    if isinstance(url, str) and is_url(url):
        return ()
    return [f"{asked.at('url')} must be a URL and is {show_member(asked.params, 'url')}"]


def _needed_urls(entry: Entry) -> list[Any] | None:
    """What an error lists that says that a user must visit URLs first; None for other errors."""
    code = entry.error.get("code")
    if type(code) is not int or code != _URL_REQUIRED:
        return None
    data = entry.error.get("data")
    listed = data.get("elicitations") if isinstance(data, dict) else None
    return listed if isinstance(listed, list) else []


def _url_error(entry: Entry, _: Facts) -> Findings:
    listed = _needed_urls(entry)
    if listed is None:
        return None
    if not listed:
        return ["error.data.elicitations must list what is needed, and it lists nothing"]
    return limit(_url_error_breaches(listed))


def _url_error_breaches(listed: list[Any]) -> Iterator[str]:
    for index, each in enumerate(listed):
        where = f"error.data.elicitations[{index}]"
        if not isinstance(each, dict):
            yield f"{where} must be an object and is {show(each)}"
            continue
        if each.get("mode") != "url":
            yield f'{where}.mode must be "url" and is {show_member(each, "mode")}'
        for name in ("elicitationId", "url"):
            if not isinstance(each.get(name), str):
                yield f"{where}.{name} must be a string and is {show_member(each, name)}"


class _CompleteKnown(Watch):
    def __init__(self) -> None:
        self._ids = Latest()

    def see(self, entry: Entry, facts: Facts) -> Findings:
        if entry.kind == "request":
            self._remember(entry.params)
        elif entry.kind == "error":
            for each in _needed_urls(entry) or ():
                self._remember(each)
        else:
            if faults := shape_faults(entry, facts, "ELIC-10"):
                return faults
            id = entry.params["elicitationId"]
            if id in self._ids:
                return ()
            if not self._ids.has_forgotten:
                return [
                    f"params.elicitationId is {show(id)}, and the server sent no elicitation "
                    "with it"
                ]
        return None

    def _remember(self, wanted: object) -> None:
        id = wanted.get("elicitationId") if isinstance(wanted, dict) else None
        if isinstance(id, str):
            self._ids.add(id)


_URL_RULES = (
    Rule(
        id="ELIC-05",
        name="url-params",
        category="elicitation",
        property="an elicitation in the mode url has a valid URL, and in 2025-11-25 an id",
        since="2025-11-25",
        topics=SHAPE_TOPICS,
        look=by_shape("ELIC-05", each_asked(_METHOD, _url_params)),
        nothing="the server asked for no visit to a URL",
        elsewhere="no modes of elicitation",
    ),
    Rule(
        id="ELIC-09",
        name="error-32042-shape",
        category="elicitation",
        property="the error -32042 lists at least one elicitation, each in the mode url with an id",
        since="2025-11-25",
        until="2025-11-25",
        topics=("error",),
        look=_url_error,
        nothing="no error has the code -32042",
    ),
    Rule(
        id="ELIC-10",
        name="complete-known-id",
        category="elicitation",
        property="notifications/elicitation/complete names an elicitation that the server sent",
        since="2025-11-25",
        until="2025-11-25",
        topics=(f"request:{_METHOD}", "error", "notification:notifications/elicitation/complete"),
        watch=_CompleteKnown,
        nothing="the server entry of no elicitation that it is complete",
    ),
)

RULES = (*_FORM_RULES, *_URL_RULES)
