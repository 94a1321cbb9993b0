"""URLs, as far as the rules look into them. `urllib` takes longer to load than all of them."""

from __future__ import annotations

from mcptest.core.record import Record

__all__ = ["Url", "is_url", "split_url"]

_WITH_HOST = ("http", "https")


class Url(Record):
    """The parts of a URL. `query` and `fragment` come without their marks."""

    scheme: str
    authority: str
    path: str
    query: str
    fragment: str


def split_url(text: str) -> Url:
    """The parts of a text as if it were a URL."""
    front, _, fragment = text.partition("#")
    front, _, query = front.partition("?")
    scheme, colon, rest = front.partition(":")
    if not colon:
        scheme, rest = "", front
    authority, path = "", rest
    if rest.startswith("//"):
        authority, slash, tail = rest[2:].partition("/")
        path = slash + tail
    return Url(
        scheme=scheme.lower(), authority=authority, path=path, query=query, fragment=fragment
    )


def is_url(text: str) -> bool:
    """Whether it has a scheme and something after it, and nothing that no URL has."""
    url = split_url(text)
    if not url.scheme[:1].isalpha() or not url.scheme.isascii():
        return False
    if not all(char.isalnum() or char in "+-." for char in url.scheme):
        return False
    if any(char.isspace() or not char.isprintable() for char in text):
        return False
    if url.scheme in _WITH_HOST:
        host = url.authority.rpartition("@")[2]
        return bool(host) and not host.startswith(":")
    return bool(url.authority or url.path)
