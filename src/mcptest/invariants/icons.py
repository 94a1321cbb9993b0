"""Whether clients may fetch the icons that a server names, and can tell their sizes."""

from __future__ import annotations

from mcptest.invariants.results import objects_in
from mcptest.invariants.sentences import gathered, member_faults, must_be
from mcptest.invariants.wording import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from mcptest.invariants.facts import Facts
    from mcptest.invariants.rule import Breaches
    from mcptest.invariants.said import Said

    Members = dict[str, Any]

__all__ = ["icon_breaches"]

_SERVER_INFO = "io.modelcontextprotocol/serverInfo"
_SERVERS = ("initialize", "server/discover")


def icon_breaches(said: Said, facts: Facts) -> Breaches:
    """What is wrong with the icons of everything that is listed, or of the server itself."""
    holders = _servers(said) if said.method in _SERVERS else objects_in(said, facts)
    return gathered(_icons(path, holder) for path, holder in holders if "icons" in holder)


def _servers(said: Said) -> Iterator[tuple[str, Members]]:
    meta = said.result.get("_meta")
    for path, info in (
        ("result.serverInfo", said.result.get("serverInfo")),
        (f'result._meta["{_SERVER_INFO}"]', isinstance(meta, dict) and meta.get(_SERVER_INFO)),
    ):
        if isinstance(info, dict):
            yield path, info


def _icons(path: str, holder: Members) -> Iterator[str]:
    icons = holder["icons"]
    if not isinstance(icons, list):
        yield must_be(f"{path}.icons", "an array", icons)
        return
    for index, icon in enumerate(icons):
        place = f"{path}.icons[{index}]"
        if isinstance(icon, dict):
            yield from _icon(place, icon)
        else:
            yield must_be(place, "an object", icon)


def _icon(path: str, icon: Members) -> Iterator[str]:
    yield from member_faults(icon, path, {"src": "text"}, {"sizes": "an array"})
    source, sizes = icon.get("src"), icon.get("sizes")
    if isinstance(source, str) and not source[:8].lower().startswith(("https://", "data:")):
        yield f"{path}.src should be an https: or data: address and is {shown(source)}"
    for index, size in enumerate(sizes if isinstance(sizes, list) else ()):
        if not _is_size(size):
            yield f'{path}.sizes[{index}] should be WxH or "any" and is {shown(size)}'


def _is_size(size: object) -> bool:
    if not isinstance(size, str) or not size.isascii():
        return False
    width, _, height = size.lower().partition("x")
    return size.lower() == "any" or (width.isdigit() and height.isdigit())
