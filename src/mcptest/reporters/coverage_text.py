"""Coverage in words: how much of what a server offers was exercised, and what never was."""

from __future__ import annotations

from mcptest.core.text import shorten, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcptest.core.coverage import ServerCoverage

__all__ = ["coverage_lines", "never_exercised", "percent_shown", "percent_text"]

MAX_NAME_CHARS = 60
# What is left of 80 columns beside the label, and beside the count of the rest as well.
LINE_CHARS = 56
LIST_CHARS = 42

_NEVER = {
    "tool": "tools never called",
    "resource": "resources never read",
    "resourceTemplate": "templates never used",
    "prompt": "prompts never used",
}
_NEVER_GIVEN = "inputs never given"


def percent_shown(coverage: Iterable[ServerCoverage]) -> float | None:
    """The exercised part in percent, to a tenth; None when nothing is offered.

    Rounded down: 100 means that nothing at all is left.
    """
    points = [server.points for server in coverage]
    whole = sum(total for _, total in points)
    return sum(hit for hit, _ in points) * 1000 // whole / 10 if whole else None


def percent_text(coverage: Iterable[ServerCoverage]) -> str:
    percent = percent_shown(coverage)
    return "nothing is offered" if percent is None else f"{percent:g} %"


def coverage_lines(coverage: Sequence[ServerCoverage], *, whole: bool = False) -> list[str]:
    """One line a server that offers something, and below it what was never exercised.

    With `whole` every name is there, on as many lines as it takes. All of it is safe to print.
    """
    lines: list[str] = []
    for server in coverage:
        hit, total = server.points
        if not total:
            continue
        name = visible(shorten(server.server, MAX_NAME_CHARS)) or "the server"
        lines.append(f"coverage of {name}: {percent_text([server])} ({hit:,} of {total:,})")
        for label, names in never_exercised(server):
            texts = [visible(shorten(name, MAX_NAME_CHARS)) for name in names]
            for part in _wrapped(texts) if whole else [_listed(texts)]:
                lines.append(f"  {label:<20}  {part}")
                label = ""  # it stands before the first line alone
    return lines


def never_exercised(server: ServerCoverage) -> list[tuple[str, list[str]]]:
    """What no test touched, by kind. Inputs count only where the tool itself was called."""
    never: dict[str, list[str]] = {}
    for offer in server.offers:
        if not offer.calls:
            never.setdefault(_NEVER[offer.kind], []).append(offer.name)
            continue
        for part in offer.properties:
            if not part.calls:
                never.setdefault(_NEVER_GIVEN, []).append(f"{offer.name}.{part.name}")
    return [(label, never[label]) for label in (*_NEVER.values(), _NEVER_GIVEN) if label in never]


def _wrapped(names: Sequence[str]) -> list[str]:
    """All names, on as many lines as they need."""
    lines = [""]
    for number, name in enumerate(names, 1):
        text = name if number == len(names) else f"{name},"
        if lines[-1] and len(lines[-1]) + 1 + len(text) > LINE_CHARS:
            lines.append("")
        lines[-1] += f" {text}" if lines[-1] else text
    return lines


def _listed(names: Sequence[str]) -> str:
    """As many names as fit in a line beside the label, and how many more there are."""
    everything = ", ".join(names)
    # The count of the rest must not take the room of the rest.
    if len(everything) <= LINE_CHARS:
        return everything
    shown: list[str] = []
    room = LIST_CHARS
    for name in names:
        room -= len(name) + 2
        if shown and room < 0:
            break
        shown.append(name)
    hidden = len(names) - len(shown)
    return ", ".join(shown) + (f", … and {hidden:,} more" if hidden else "")
