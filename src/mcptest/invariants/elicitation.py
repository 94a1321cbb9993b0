"""Rules about elicitation and its forms: the first of ELIC."""

from __future__ import annotations

from mcptest.invariants.asking import asking_topics, each_asked, is_declared, undeclared
from mcptest.invariants.rule import Rule, at_levels
from mcptest.invariants.wording import few, seen, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest.invariants.asking import Asked
    from mcptest.invariants.facts import Facts
    from mcptest.invariants.rule import Breaches

__all__ = ["ELICITATION_RULES", "METHOD", "is_form", "wrong_mode"]

METHOD = "elicitation/create"
_NO_ELICITATION = "the server asked its client's user for nothing"

_PRIMITIVES = ("string", "number", "integer", "boolean")
_FORMATS = ("email", "uri", "date", "date-time")


def is_form(asked: Asked, facts: Facts) -> bool:
    """Whether a form is asked for; before there were modes everything was one."""
    return facts.letters == {"C"} or asked.params.get("mode", "form") != "url"


def wrong_mode(asked: Asked, _: Facts) -> Breaches:
    """That the client did not declare the mode; None when it declared no elicitation at all."""
    if asked.capabilities is None or not is_declared(asked.capabilities, "elicitation"):
        return None
    mode = asked.params.get("mode", "form")
    if mode not in ("form", "url"):
        return [f'{asked.at("mode")} must be "form" or "url" and is {shown(mode)}']
    has_url = is_declared(asked.capabilities, "elicitation", "url")
    # An empty object stands for forms.
    has_form = is_declared(asked.capabilities, "elicitation", "form") or not has_url
    if has_url if mode == "url" else has_form:
        return ()
    return [f"{asked.place} is in the mode {mode}, which the client did not declare"]


def _message(asked: Asked, _: Facts) -> Breaches:
    if isinstance(asked.params.get("message"), str):
        return ()
    return [f"{asked.at('message')} must be text and is {seen(asked.params, 'message')}"]


# The form


def _flat(asked: Asked, facts: Facts) -> Breaches:
    if not is_form(asked, facts):
        return None
    return few(_schema_breaches(asked, has_choices="C" not in facts.letters))


def _schema_breaches(asked: Asked, *, has_choices: bool) -> Iterator[str]:
    schema = asked.params.get("requestedSchema")
    if not isinstance(schema, dict):
        found = seen(asked.params, "requestedSchema")
        yield f"{asked.at('requestedSchema')} must be an object and is {found}"
        return
    if schema.get("type") != "object":
        where = asked.at("requestedSchema", "type")
        yield f'{where} must be "object" and is {seen(schema, "type")}'
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        where = asked.at("requestedSchema", "properties")
        yield f"{where} must be an object and is {seen(schema, 'properties')}"
        return
    for name, wanted in properties.items():
        problem = _property_problem(wanted, has_choices=has_choices)
        if problem:
            yield f"{asked.at('requestedSchema', 'properties', name)} {problem}"


def _property_problem(wanted: object, *, has_choices: bool) -> str:
    if not isinstance(wanted, dict):
        return f"must be an object and is {shown(wanted)}"
    kind = wanted.get("type")
    if kind == "array" and has_choices:
        return (
            "" if _is_choice(wanted.get("items")) else "is an array of something else than choices"
        )
    if kind not in _PRIMITIVES:
        found = seen(wanted, "type")
        return f"must be of one of the types {', '.join(_PRIMITIVES)}; its type is {found}"
    if kind == "string" and "format" in wanted and wanted["format"] not in _FORMATS:
        return f"has the format {shown(wanted['format'])}; there are {', '.join(_FORMATS)}"
    return ""


def _is_choice(items: object) -> bool:
    """Whether the items of an array are texts to choose from."""
    if not isinstance(items, dict):
        return False
    listed = items.get("enum")
    if isinstance(listed, list):
        return all(isinstance(each, str) for each in listed)
    titled = items.get("anyOf", items.get("oneOf"))
    return isinstance(titled, list) and all(
        isinstance(each, dict) and isinstance(each.get("const"), str) for each in titled
    )


_SINCE_ELICITATION = at_levels("CDE")

ELICITATION_RULES = (
    Rule(
        id="ELIC-01",
        name="capability-gate",
        category="elicitation",
        property="the server asks for elicitation only when the client declared it",
        levels=_SINCE_ELICITATION,
        topics=asking_topics(METHOD),
        start=each_asked(METHOD, undeclared),
        nothing=_NO_ELICITATION,
        elsewhere="no elicitation",
    ),
    Rule(
        id="ELIC-02",
        name="mode-gate",
        category="elicitation",
        property="the server asks for elicitation only in modes that the client declared",
        levels=at_levels("DE"),
        topics=asking_topics(METHOD),
        start=each_asked(METHOD, wrong_mode),
        nothing=_NO_ELICITATION,
        elsewhere="no modes of elicitation",
    ),
    Rule(
        id="ELIC-03",
        name="message-present",
        category="elicitation",
        property="an elicitation has a message",
        levels=_SINCE_ELICITATION,
        topics=asking_topics(METHOD),
        start=each_asked(METHOD, _message),
        nothing=_NO_ELICITATION,
        elsewhere="no elicitation",
    ),
    Rule(
        id="ELIC-04",
        name="flat-schema",
        category="elicitation",
        property="the schema of a form is a flat object of primitive properties",
        levels=_SINCE_ELICITATION,
        topics=asking_topics(METHOD),
        start=each_asked(METHOD, _flat),
        nothing="the server asked for no form",
        elsewhere="no elicitation",
    ),
)
