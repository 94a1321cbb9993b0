"""Rules about sending a user to a URL: ELIC-05, ELIC-09 and ELIC-10."""

from __future__ import annotations

from mcptest.invariants.asking import asking_topics, each_asked
from mcptest.invariants.elicitation import METHOD
from mcptest.invariants.memory import Latest
from mcptest.invariants.rule import Looking, Rule, at_levels
from mcptest.invariants.urls import is_url
from mcptest.invariants.wording import few, seen, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from mcptest.invariants.asking import Asked
    from mcptest.invariants.facts import Facts
    from mcptest.invariants.rule import Breaches
    from mcptest.invariants.said import Said

__all__ = ["URL_RULES", "needed_urls"]

_URL_REQUIRED = -32042


def _url_params(asked: Asked, facts: Facts) -> Breaches:
    if asked.params.get("mode") != "url":
        return None
    breaches = []
    url = asked.params.get("url")
    if not isinstance(url, str) or not is_url(url):
        breaches.append(f"{asked.at('url')} must be a URL and is {seen(asked.params, 'url')}")
    if facts.letters == {"D"} and not isinstance(asked.params.get("elicitationId"), str):
        found = seen(asked.params, "elicitationId")
        breaches.append(f"{asked.at('elicitationId')} must be text and is {found}")
    return breaches


def needed_urls(said: Said) -> list[Any] | None:
    """What an error lists that says that a user must visit URLs first; None for other errors."""
    code = said.error.get("code")
    if type(code) is not int or code != _URL_REQUIRED:
        return None
    data = said.error.get("data")
    listed = data.get("elicitations") if isinstance(data, dict) else None
    return listed if isinstance(listed, list) else []


def _url_error(said: Said, _: Facts) -> Breaches:
    listed = needed_urls(said)
    if listed is None:
        return None
    if not listed:
        return ["error.data.elicitations must list what is needed, and it lists nothing"]
    return few(_url_error_breaches(listed))


def _url_error_breaches(listed: list[Any]) -> Iterator[str]:
    for index, each in enumerate(listed):
        where = f"error.data.elicitations[{index}]"
        if not isinstance(each, dict):
            yield f"{where} must be an object and is {shown(each)}"
            continue
        if each.get("mode") != "url":
            yield f'{where}.mode must be "url" and is {seen(each, "mode")}'
        for name in ("elicitationId", "url"):
            if not isinstance(each.get(name), str):
                yield f"{where}.{name} must be text and is {seen(each, name)}"


class _CompleteKnown:
    def __init__(self) -> None:
        self._ids = Latest()

    def see(self, said: Said, _: Facts) -> Breaches:
        if said.kind == "request":
            self._note(said.params)
        elif said.kind == "error":
            for each in needed_urls(said) or ():
                self._note(each)
        else:
            return self._check(said.params)
        return None

    def _note(self, wanted: object) -> None:
        id = wanted.get("elicitationId") if isinstance(wanted, dict) else None
        if isinstance(id, str):
            self._ids.note(id)

    def _check(self, params: dict[str, Any]) -> Breaches:
        id = params.get("elicitationId")
        if not isinstance(id, str):
            return [f"params.elicitationId must be text and is {seen(params, 'elicitationId')}"]
        if id in self._ids:
            return ()
        if self._ids.has_forgotten:
            return None
        return [f"params.elicitationId is {shown(id)}, and the server sent no elicitation with it"]

    def end(self, _: Facts) -> Breaches:
        return None


URL_RULES = (
    Rule(
        id="ELIC-05",
        name="url-params",
        category="elicitation",
        property="an elicitation in the mode url has a valid URL, and in 2025-11-25 an id",
        levels=at_levels("DE"),
        topics=asking_topics(METHOD),
        start=each_asked(METHOD, _url_params),
        nothing="the server asked for no visit to a URL",
        elsewhere="no modes of elicitation",
    ),
    Rule(
        id="ELIC-09",
        name="error-32042-shape",
        category="elicitation",
        property="the error -32042 lists at least one elicitation, each in the mode url with an id",
        levels=at_levels("D"),
        topics=("error",),
        start=lambda: Looking(_url_error),
        nothing="no error has the code -32042",
    ),
    Rule(
        id="ELIC-10",
        name="complete-known-id",
        category="elicitation",
        property="notifications/elicitation/complete names an elicitation that the server sent",
        levels=at_levels("D"),
        topics=(f"request:{METHOD}", "error", "notification:notifications/elicitation/complete"),
        start=_CompleteKnown,
        nothing="the server said of no elicitation that it is complete",
    ),
)
