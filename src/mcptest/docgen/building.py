"""Put a guide together: what a server offers, and the dialogues that show how it is used."""

from __future__ import annotations

import re

from mcptest.core.offer_kinds import KINDS
from mcptest.core.uri_templates import is_made_from
from mcptest.core.visible import shorten
from mcptest.docgen.contents import Chapter, Code, Guide
from mcptest.docgen.contract import calls_in, seen_offer, unit_kind
from mcptest.docgen.offers import MAX_TEXT_CHARS, build_offer, text_at
from mcptest.docgen.scenes import build_legend, build_scene
from mcptest.docgen.speech import dialogue_of
from mcptest.explore.features import feature_name
from mcptest.matching.shown import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mcptest.core.plan import Suite
    from mcptest.docgen.contents import Described, Message, Offer, Scene, Words
    from mcptest.docgen.contract import Call

__all__ = ["build_guide"]

MAX_OFFERS = 1_000
MAX_CAPABILITIES = 50
MAX_NAME_CHARS = 200

_NAMELESS = "MCP server"
_ENDINGS = r"(_test|\.cases)\.ya?ml$"


def build_guide(described: Described, suites: Sequence[Suite], title: str = "") -> Guide:
    """The guide to a server; without a `title` it is called what the server calls itself."""
    listed, left_out = _listed_offers(described)
    cases = [case for suite in suites for case in suite.cases]
    calls = [calls_in(dialogue_of(case)) for case in cases]
    every_call = [call for each in calls for call in each]
    index = _Index(_with_undescribed(listed, every_call, described.source))
    scenes = [
        build_scene(case, number, index.places(calls[number], number))
        for number, case in enumerate(cases)
    ]
    return Guide(
        title=shorten(title.strip(), MAX_NAME_CHARS) or _title(described, suites),
        description=text_at(described.info, "description"),
        facts=tuple(_facts(described)),
        instructions=shorten(described.instructions.strip(), MAX_TEXT_CHARS),
        capabilities=tuple(_capabilities(described.capabilities)),
        offers=index.finished(),
        chapters=tuple(_chapters(suites, scenes)),
        legend=build_legend(cases),
        left_out=left_out,
    )


def _chapters(suites: Sequence[Suite], scenes: list[Scene]) -> Iterator[Chapter]:
    at = 0
    for suite in suites:
        own = tuple(scenes[at : at + len(suite.cases)])
        at += len(own)
        yield Chapter(name=shorten(suite.name or suite.file, MAX_NAME_CHARS), scenes=own)


# What it says of itself


def _title(described: Described, suites: Sequence[Suite]) -> str:
    name = text_at(described.info, "title") or text_at(described.info, "name")
    if not name and len(suites) == 1:
        name = re.sub(_ENDINGS, "", suites[0].name)
    return shorten(name, MAX_NAME_CHARS) or _NAMELESS


def _facts(described: Described) -> Iterator[Words]:
    info = described.info
    name, version = text_at(info, "name"), text_at(info, "version")
    if name:
        yield "Server", Code(shorten(f"{name} {version}".strip(), MAX_NAME_CHARS))
    if described.protocol_version:
        yield "Protocol revision", Code(shorten(described.protocol_version, MAX_NAME_CHARS))
    if text_at(info, "websiteUrl"):
        yield "Website", Code(shorten(text_at(info, "websiteUrl"), MAX_NAME_CHARS))


def _capabilities(capabilities: Message) -> Iterator[Words]:
    """Each capability, and the parts of it that are there."""
    for name, details in list(capabilities.items())[:MAX_CAPABILITIES]:
        parts = details if isinstance(details, dict) else {}
        there = [key for key, value in parts.items() if value is not False][:MAX_CAPABILITIES]
        words: list[str] = [Code(shorten(name, MAX_NAME_CHARS))]
        for number, part in enumerate(there):
            words += [", " if number else ": ", Code(shorten(part, MAX_NAME_CHARS))]
        yield tuple(words)
    if len(capabilities) > MAX_CAPABILITIES:
        yield (f"… {len(capabilities) - MAX_CAPABILITIES:,} more",)


# What it offers


def _listed_offers(described: Described) -> tuple[list[Offer], tuple[Words, ...]]:
    """All offers that are described, and a word about those that are too many."""
    offers: list[Offer] = []
    left_out: list[Words] = []
    for kind in KINDS.values():
        named: dict[str, Message] = {}
        for each in described.offers.get(kind.name, ()):
            named.setdefault(feature_name(each, kind), each)
        named.pop("", None)
        offers += [build_offer(kind, each) for each in list(named.values())[:MAX_OFFERS]]
        if len(named) > MAX_OFFERS:
            left_out.append((f"… {counted(len(named) - MAX_OFFERS, f'more {kind.noun}')}",))
    return offers, tuple(left_out)


def _with_undescribed(listed: list[Offer], calls: Iterable[Call], source: str) -> list[Offer]:
    """The offers, and among each kind those that are used and that nobody describes."""
    index = _Index(listed)
    unknown: dict[tuple[str, str], list[Call]] = {}
    for call in calls:
        if not index.found(call):
            unknown.setdefault(call.use[:2], []).append(call)
    seen = []
    for (unit, name), uses in list(unknown.items())[:MAX_OFFERS]:
        kind = unit_kind(unit)
        note = f"Not described by {source}: what is known of this {kind.noun} is how it is used."
        seen.append(seen_offer(kind, name, uses, note))
    order = list(KINDS)
    return sorted([*listed, *seen], key=lambda offer: order.index(offer.kind.name))


class _Index:
    """The offers of a guide, found by what a dialogue calls them."""

    def __init__(self, offers: list[Offer]) -> None:
        self._offers = offers
        self._scenes: dict[int, list[int]] = {}
        self._by_name = {(each.kind.unit, each.name): at for at, each in enumerate(offers)}
        self._templates = [
            (each.name, at)
            for at, each in enumerate(offers)
            if each.kind.unit == "resourceTemplate"
        ]

    def found(self, call: Call) -> list[int]:
        """Where the offers are that a call uses: the one of its name, else templates it fits."""
        unit, name, _ = call.use
        at = self._by_name.get((unit, name))
        if at is not None:
            return [at]
        if unit != "resource":
            return []
        return [at for template, at in self._templates if is_made_from(name, template)]

    def places(self, calls: Iterable[Call], scene: int) -> tuple[int, ...]:
        """The places of the offers that a scene uses, each once; they are told of it."""
        found = dict.fromkeys(at for call in calls for at in self.found(call))
        for at in found:
            self._scenes.setdefault(at, []).append(scene)
        return tuple(found)

    def finished(self) -> tuple[Offer, ...]:
        """All offers, each with the scenes that use it."""
        return tuple(
            offer.but(scenes=tuple(self._scenes.get(at, ())))
            for at, offer in enumerate(self._offers)
        )
