"""What a server offers, for a person: names, parameters, descriptions cut to the width."""

from __future__ import annotations

from mcptest.core.schema_walk import SchemaWalker, dict_at, required_names
from mcptest.core.text import visible
from mcptest.explore.arguments import describe_type
from mcptest.explore.features import feature_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mcptest.explore.features import Listing, Message
    from mcptest.reporters.style import Paint

    # Name, type, description; whether it is required.
    Parameter = tuple[str, str, str, bool]

__all__ = ["render_listings"]

_MAX_COLUMN = 28


def render_listings(listings: Iterable[Listing], paint: Paint, width: int) -> list[str]:
    """All kinds, each under its heading."""
    lines: list[str] = []
    has_required = False
    for listing in listings:
        lines += ["", paint.bold(f"{listing.kind.name} ({len(listing.features):,})")]
        for feature in listing.features:
            parameters = list(_parameters(listing.kind.name, feature))
            has_required |= any(required for *_, required in parameters)
            lines += _feature_lines(feature_name(feature, listing.kind), feature, paint, width)
            lines += _parameter_lines(parameters, paint, width)
    if has_required:
        lines += ["", paint.dim("* required")]
    return lines[1:]


def _feature_lines(name: str, feature: Message, paint: Paint, width: int) -> Iterator[str]:
    # Whole, however long: it is there to be copied.
    yield f"  {paint.green(visible(name))}"
    about = feature.get("description") or feature.get("title") or feature.get("name")
    if isinstance(about, str) and about != name:
        yield f"    {_cut(about, width - 4)}"


def _parameters(kind: str, feature: Message) -> Iterator[Parameter]:
    if kind == "tools":
        walker = SchemaWalker(feature.get("inputSchema"))
        schema = walker.root().schema
        required = required_names(schema)
        for name, part in dict_at(schema, "properties").items():
            about = walker.resolve(part).schema.get("description")
            yield name, describe_type(part, walker), _text(about), name in required
    elif kind == "prompts" and isinstance(feature.get("arguments"), list):
        for argument in feature["arguments"]:
            if isinstance(argument, dict) and isinstance(argument.get("name"), str):
                is_required = argument.get("required") is True
                yield argument["name"], "", _text(argument.get("description")), is_required


def _parameter_lines(parameters: list[Parameter], paint: Paint, width: int) -> Iterator[str]:
    """One line each, in columns; the last takes what is left of the width."""
    names = [
        _cut(name, _MAX_COLUMN) + ("*" if required else "") for name, *_, required in parameters
    ]
    kinds = [_cut(kind, _MAX_COLUMN) for _, kind, *_ in parameters]
    name_width = max(map(len, names), default=0)
    kind_width = max(map(len, kinds), default=0)
    room = width - 6 - name_width - 2 - kind_width - 2
    for name, kind, (*_, about, _) in zip(names, kinds, parameters, strict=True):
        rest = _cut(about, room) if room > 8 else ""
        columns = f"{name.ljust(name_width)}  {paint.dim(kind.ljust(kind_width))}  {rest}"
        yield f"      {columns}".rstrip()


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _cut(text: str, width: int) -> str:
    """Text of a server on one line of at most this many characters."""
    line = visible(" ".join(text[: 4 * width + 40].split()))
    return line if len(line) <= width else f"{line[: max(1, width - 1)]}…"
