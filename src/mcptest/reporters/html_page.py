"""The page around a report: one file that loads nothing, and runs one script of ours.

Markup goes in, a document comes out. Style and script are files beside this module
(`assets/`), part of the package like its code; they are all that is ever read here. The
policy in the head allows exactly these two texts, by their hashes, and no request at all.
"""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from string import Template

from mcptest.reporters.html_markup import cut, element, joined

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.reporters.html_markup import Markup

__all__ = ["render_page"]

MAX_TITLE_CHARS = 200


def render_page(title: str, body: Markup, tool_version: str) -> str:
    """The whole document. Nothing in `body` is looked at: it is put in place once."""
    style, script = _asset("page.css"), _asset("page.js")
    return Template(_asset("page.html")).substitute(
        title=cut(title, MAX_TITLE_CHARS),
        style=style,
        style_hash=_hash(style),
        script=script,
        script_hash=_hash(script),
        body=body,
        footer=joined(["made by mcptest ", element("span", tool_version, class_="version")]),
    )


def _asset(name: str) -> str:
    return files("mcptest.reporters").joinpath("assets", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"
