"""A manifest: a file that lists tools, resources and prompts with canned answers.

    tools:
      - name: greet
        inputSchema: {type: object, properties: {who: {type: string}}, required: [who]}
        answer: "Hello ${args.who}"

Text goes in, a `Manifest` comes out, or a `FormatError` with every mistake in it.
"""

from __future__ import annotations

import posixpath

from mcptest.core.diagnostics import Diagnostic
from mcptest.core.errors import FormatError
from mcptest.formats.document import read_document
from mcptest.formats.fields import Fields, diagnose, kind_of
from mcptest.matching.expectation import Compiler
from mcptest.mock.manifest_item import Item
from mcptest.mock.manifest_prompts import read_prompt, read_resource
from mcptest.mock.manifest_tools import read_tool
from mcptest.mock.offers import Manifest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcptest.formats.document import Document
    from mcptest.matching.registry import Registry
    from mcptest.mock.offers import Offer

__all__ = ["SECTIONS", "load_manifest", "merged_manifests"]

SECTIONS = ("tools", "resources", "prompts")
_READERS = {"tools": read_tool, "resources": read_resource, "prompts": read_prompt}
_KEYS = ("name", "version", "instructions", *SECTIONS)


def load_manifest(
    text: str, file: str, registry: Registry
) -> tuple[Manifest, tuple[Diagnostic, ...]]:
    """The manifest in a file, and warnings. FormatError lists every mistake."""
    document = read_document(text, file)
    compiler = Compiler(registry)
    manifest = _manifest(document, compiler)
    diagnostics = diagnose(document, compiler.complaints)
    if manifest is None or any(found.severity == "error" for found in diagnostics):
        raise FormatError(diagnostics)
    return manifest, diagnostics


def _manifest(document: Document, compiler: Compiler) -> Manifest | None:
    complaints = compiler.complaints
    if not isinstance(document.value, dict):
        message = f"a manifest must be a mapping and is {kind_of(document.value)}"
        Fields({}, (), complaints).complain("", "F005", message)
        return None
    fields = Fields(document.value, (), complaints)
    fields.refuse_unknown(_KEYS, (), "a manifest")
    kinds = tuple(section for section in SECTIONS if section in document.value)
    stem = posixpath.basename(document.file).partition(".")[0]
    return Manifest(
        name=fields.text("name") or stem or "mock",
        version=fields.text("version"),
        instructions=fields.text("instructions"),
        kinds=kinds,
        offers=tuple(_offers(fields, document, compiler)),
    )


def _offers(fields: Fields, document: Document, compiler: Compiler) -> Iterator[Offer]:
    for section in SECTIONS:
        items = fields.list_at(section)
        seen: set[str] = set()
        for index, item in enumerate(items):
            if not isinstance(item, dict):
                message = f"a {section[:-1]} must be a mapping and is {kind_of(item)}"
                fields.at((section, index)).complain("", "F008", message, on_key=False)
                continue
            inner = Fields(item, (section, index), compiler.complaints)
            line = document.item_line(items, index)
            offer = _READERS[section](Item(inner, compiler, document.file, line))
            if offer.name in seen:
                inner.complain("", "F003", _twice(offer))
            seen.add(offer.name)
            yield offer


def _twice(offer: Offer) -> str:
    return f'there is a {offer.kind} "{offer.name}" already'


def merged_manifests(manifests: Sequence[Manifest]) -> Manifest:
    """Several manifests as one server: what the first says of itself, and what all offer.

    FormatError when two offer the same.
    """
    offers: dict[tuple[str, str], Offer] = {}
    twins = []
    for offer in (offer for manifest in manifests for offer in manifest.offers):
        if (offer.kind, offer.name) in offers:
            help = f"the other is in {offers[offer.kind, offer.name].file}"
            twins.append(
                Diagnostic(
                    code="F003",
                    file=offer.file,
                    line=offer.line,
                    column=1,
                    message=_twice(offer),
                    help=help,
                )
            )
        offers[offer.kind, offer.name] = offer
    if twins:
        raise FormatError(twins)
    kinds = {kind: None for manifest in manifests for kind in manifest.kinds}
    return manifests[0].but(kinds=tuple(kinds), offers=tuple(offers.values()))
