"""Build the documentation of a server from its description and the cases that use it.

What a server lists is read with care: any member may be missing, or of the wrong type.
"""

from __future__ import annotations

import re

from mcptest.core.coverage import KINDS, matches_template
from mcptest.core.text import plural, shorten, show_json
from mcptest.docgen.cases import (
    MAX_NAME_CHARS,
    MAX_TEXT_CHARS,
    MAX_VALUE_CHARS,
    build_case,
    build_legend,
    build_undescribed,
    calls_in,
    dialogue_of,
)
from mcptest.docgen.model import Code, FeatureDoc, FileDoc, Row, ServerDoc, Table
from mcptest.docgen.schema import schema_table
from mcptest.explore.features import feature_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mcptest.core.coverage import Kind
    from mcptest.core.plan import Suite
    from mcptest.docgen.cases import Call
    from mcptest.docgen.model import Inline, Message, ServerDescription

__all__ = ["build_docs"]

MAX_FEATURES = 1_000
MAX_CAPABILITIES = 50
MAX_ARGUMENTS = 200
MAX_TITLE_CHARS = 200


def build_docs(
    description: ServerDescription, suites: Sequence[Suite], title: str = ""
) -> ServerDoc:
    """The documentation; without a `title` it has the name of the server."""
    listed, left_out = _listed_features(description)
    cases = [case for suite in suites for case in suite.cases]
    calls = [calls_in(dialogue_of(case)) for case in cases]
    features = _add_undescribed(listed, [call for each in calls for call in each], description)
    finder = _Finder(features)
    used = [tuple(dict.fromkeys(at for call in each for at in finder.find(call))) for each in calls]
    users: dict[int, list[int]] = {}
    for number, positions in enumerate(used):
        for at in positions:
            users.setdefault(at, []).append(number)
    docs = [build_case(case, number, used[number]) for number, case in enumerate(cases)]
    files = []
    for suite in suites:
        own, docs = docs[: len(suite.cases)], docs[len(suite.cases) :]
        name = shorten(suite.name or suite.file, MAX_TITLE_CHARS)
        files.append(FileDoc(name=name, cases=tuple(own)))
    return ServerDoc(
        title=shorten(title.strip(), MAX_TITLE_CHARS) or _title(description, suites),
        description=_string_at(description.info, "description"),
        facts=tuple(_server_facts(description)),
        instructions=shorten(description.instructions.strip(), MAX_TEXT_CHARS),
        capabilities=tuple(_capabilities(description.capabilities)),
        features=tuple(
            feature.but(cases=tuple(users.get(at, ()))) for at, feature in enumerate(features)
        ),
        files=tuple(files),
        legend=build_legend(cases),
        left_out=left_out,
    )


def _title(description: ServerDescription, suites: Sequence[Suite]) -> str:
    name = _string_at(description.info, "title") or _string_at(description.info, "name")
    if not name and len(suites) == 1:
        name = re.sub(r"(_test|\.cases)\.ya?ml$", "", suites[0].name)
    return shorten(name, MAX_TITLE_CHARS) or "MCP server"


def _server_facts(description: ServerDescription) -> Iterator[Inline]:
    name, version = _string_at(description.info, "name"), _string_at(description.info, "version")
    facts = {
        "Server": f"{name} {version}".strip() if name else "",
        "Protocol revision": description.protocol_version,
        "Website": _string_at(description.info, "websiteUrl"),
    }
    for label, value in facts.items():
        if value:
            yield label, Code(shorten(value, MAX_TITLE_CHARS))


def _capabilities(capabilities: Message) -> Iterator[Inline]:
    """Each capability with its parts."""
    for name, details in list(capabilities.items())[:MAX_CAPABILITIES]:
        parts = details.items() if isinstance(details, dict) else ()
        words: list[str] = [Code(shorten(name, MAX_TITLE_CHARS))]
        for part in [key for key, value in parts if value is not False][:MAX_CAPABILITIES]:
            between = ", " if len(words) > 1 else ": "
            words += [between, Code(shorten(part, MAX_TITLE_CHARS))]
        yield tuple(words)
    if len(capabilities) > MAX_CAPABILITIES:
        yield (f"… {len(capabilities) - MAX_CAPABILITIES:,} more",)


def _listed_features(
    description: ServerDescription,
) -> tuple[list[FeatureDoc], tuple[Inline, ...]]:
    """The features that are described, and how many of each kind are left out."""
    features: list[FeatureDoc] = []
    left_out: list[Inline] = []
    for kind in KINDS.values():
        named: dict[str, Message] = {}
        for each in description.features.get(kind.name, ()):
            named.setdefault(feature_name(each, kind), each)
        named.pop("", None)
        features += [_build_feature(kind, each) for each in list(named.values())[:MAX_FEATURES]]
        if len(named) > MAX_FEATURES:
            left_out.append((f"… {plural(len(named) - MAX_FEATURES, f'more {kind.noun}')}",))
    return features, tuple(left_out)


def _add_undescribed(
    listed: list[FeatureDoc], calls: Iterable[Call], description: ServerDescription
) -> list[FeatureDoc]:
    """The features, and after each kind those that are used and not described."""
    finder = _Finder(listed)
    unknown: dict[tuple[str, str], list[Call]] = {}
    for call in calls:
        if not finder.find(call):
            unknown.setdefault(call.use[:2], []).append(call)
    by_unit: dict[str, Kind] = {kind.unit: kind for kind in KINDS.values()}
    features = list(listed)
    for (unit, name), uses in list(unknown.items())[:MAX_FEATURES]:
        kind = by_unit[unit]
        known = f"what is known of this {kind.noun} is how it is used."
        note = f"Not described by {description.source}: {known}"
        features.append(build_undescribed(kind, name, uses, note))
    order = list(KINDS)
    return sorted(features, key=lambda feature: order.index(feature.kind.name))


class _Finder:
    """Finds the features that a call uses."""

    def __init__(self, features: list[FeatureDoc]) -> None:
        self._by_name = {(each.kind.unit, each.name): at for at, each in enumerate(features)}

    def find(self, call: Call) -> list[int]:
        """The position of the feature of this name, else those of the templates that fit."""
        unit, name, _ = call.use
        if (unit, name) in self._by_name:
            return [self._by_name[unit, name]]
        return [
            at
            for (other, template), at in self._by_name.items()
            if unit == "resource"
            and other == "resourceTemplate"
            and matches_template(name, template)
        ]


# One feature

# What each hint of a tool means if it is true, and if it is false.
_HINTS = {
    "readOnlyHint": ("read-only", "not read-only"),
    "destructiveHint": ("destructive", "not destructive"),
    "idempotentHint": ("idempotent", "not idempotent"),
    "openWorldHint": ("open world", "closed world"),
}
_FACTS = {"mimeType": "Type: ", "size": "Size in bytes: "}
_ANNOTATIONS = {
    "audience": "Meant for: ",
    "priority": "Priority: ",
    "lastModified": "Last changed: ",
}
_NO_ARGUMENTS = "none are named"


def _build_feature(kind: Kind, listed: Message) -> FeatureDoc:
    name, found = feature_name(listed, kind), listed.get("annotations")
    annotations: Message = found if isinstance(found, dict) else {}
    titles = [_string_at(listed, "title"), _string_at(annotations, "title")]
    titles += [_string_at(listed, "name")] if kind.key != "name" else []
    hints = []
    for key, (yes, no) in _HINTS.items():
        # What only reads cannot be destructive, so that it is not needs no word.
        is_implied = key == "destructiveHint" and annotations.get("readOnlyHint") is True
        if annotations.get(key) is True:
            hints.append(yes)
        elif annotations.get(key) is False and not is_implied:
            hints.append(no)
    return FeatureDoc(
        kind=kind,
        name=name,
        title=shorten(
            next((each for each in titles if each not in ("", name)), ""), MAX_NAME_CHARS
        ),
        description=_string_at(listed, "description"),
        hints=tuple(hints),
        facts=tuple(_facts(listed, annotations)) if kind.capability == "resources" else (),
        tables=tuple(_tables(kind, listed)),
    )


def _string_at(members: Message, key: str) -> str:
    """The string under a key, shortened if it is very long; "" if there is none."""
    value = members.get(key)
    return shorten(value.strip(), MAX_TEXT_CHARS) if isinstance(value, str) else ""


def _facts(listed: Message, annotations: Message) -> Iterator[Inline]:
    for members, labels in ((listed, _FACTS), (annotations, _ANNOTATIONS)):
        for key, label in labels.items():
            if key in members:
                value = members[key]
                text = value if isinstance(value, str) else show_json(value, MAX_VALUE_CHARS)
                yield label, Code(shorten(text, MAX_VALUE_CHARS))


def _tables(kind: Kind, listed: Message) -> Iterator[Table]:
    if kind.unit == "tool":
        if "inputSchema" in listed:
            yield schema_table("Arguments", listed["inputSchema"], _NO_ARGUMENTS)
        else:
            yield Table(title="Arguments", notes=(("no schema describes them",),))
        if "outputSchema" in listed:
            yield schema_table("Result", listed["outputSchema"], _NO_ARGUMENTS)
    elif kind.unit == "prompt":
        yield _prompt_arguments(listed.get("arguments", []))


def _prompt_arguments(arguments: object) -> Table:
    """The arguments of a prompt, which have no schema."""
    if not isinstance(arguments, list):
        value = Code(show_json(arguments, MAX_VALUE_CHARS))
        return Table(title="Arguments", notes=(("The arguments are not a list: ", value, "."),))
    rows = [
        Row(
            name=_string_at(each, "name") or "(no name)",
            required="yes" if each.get("required") is True else "no",
            description=_string_at(each, "description") or _string_at(each, "title"),
        )
        for each in arguments[:MAX_ARGUMENTS]
        if isinstance(each, dict)
    ]
    if len(arguments) > MAX_ARGUMENTS:
        rows.append(Row(name="…", description="There is more than is shown here."))
    notes = () if rows else ((_NO_ARGUMENTS,),)
    return Table(title="Arguments", rows=tuple(rows), notes=notes)
