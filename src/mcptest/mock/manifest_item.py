"""One tool, resource or prompt of a manifest: what reading the three of them has in common."""

from __future__ import annotations

from mcptest.core.strict_json import dump_json
from mcptest.core.suggest import closest
from mcptest.formats.fields import Fields, kind_of
from mcptest.formats.templates import references
from mcptest.mock.manifest_texts import argument_references, unclosed_references
from mcptest.mock.offers import Offer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from mcptest.matching.expectation import Compiler
    from mcptest.mock.offers import CannedAnswer, Kind

    Check = Callable[[Mapping[str, object]], str]
    Body = dict[str, Any]

__all__ = ["ENTRY_KEYS", "Item"]

# What a list may say of everything that is offered.
ENTRY_KEYS = ("name", "title", "description", "icons", "_meta")
_TEXTS = ("name", "uri", "title", "description", "mimeType")


class Item:
    """One item of a manifest, and where it stands in its file."""

    def __init__(self, fields: Fields, compiler: Compiler, file: str, line: int) -> None:
        self.fields = fields
        self.compiler = compiler
        self._file = file
        self._line = line

    def begin(self, kind: Kind, keys: Sequence[str], key: str) -> str:
        """Refuse what is unknown; what it is told by, which stands under `key`."""
        fields = self.fields
        fields.refuse_unknown(keys, (), f"a {kind}")
        fields.require((key,), f"a {kind}")
        for each in _TEXTS:
            fields.text(each)
        if fields.mapping.get(key) == "":
            fields.complain(key, "F009", f'"{key}" is empty', on_key=False)
        return fields.text(key)

    def entry(self, keys: Iterable[str]) -> Body:
        """What the list of its kind says of it: the words of the protocol, as they are."""
        return {key: self.fields.mapping[key] for key in keys if key in self.fields.mapping}

    def offer(
        self, kind: Kind, name: str, entry: Body, answers: Iterable[CannedAnswer], check: Check
    ) -> Offer:
        """The offer, all of which must be JSON."""
        answers = tuple(answers)
        try:
            dump_json([entry, [[answer.body, answer.as_is] for answer in answers]])
        except (TypeError, ValueError):
            self.fields.complain("", "F009", f"this {kind} holds what JSON has no word for")
        return Offer(
            kind=kind,
            name=name,
            file=self._file,
            line=self._line,
            entry=entry,
            answers=answers,
            check=check,
        )

    def one_of(self, fields: Fields, keys: Sequence[str], what: str) -> str:
        """Which of these keys is there; a complaint, and "", when it is not exactly one."""
        given = [key for key in keys if key in fields.mapping]
        if len(given) == 1:
            return given[0]
        seen = " and ".join(given) or "none of them"
        message = f"{what} has one of the keys {', '.join(keys)}; here is {seen}"
        fields.complain("", "F007", message)
        return ""

    def inner_items(self, fields: Fields, key: str, what: str, example: str) -> Iterator[Fields]:
        """The mappings in the list at a key; a complaint about everything else in it."""
        for index, item in enumerate(fields.list_at(key)):
            steps = (*fields.steps, key, index)
            if isinstance(item, dict):
                yield Fields(item, steps, self.compiler.complaints)
            else:
                here = Fields({}, steps, self.compiler.complaints)
                message = f"{what} must be a mapping and is {kind_of(item)}"
                here.complain("", "F008", message, f"for example {example}", on_key=False)

    def names_in(self, fields: Fields, key: str, known: Sequence[str] | None) -> tuple[str, ...]:
        """The names to fill in at a key; what can never be filled in is a mistake.

        `known` are the arguments there are, None when there may be any.
        """
        found: dict[str, None] = {}
        value = fields.mapping.get(key)
        unclosed = self._refuse_unclosed(fields.at((key,)), value)
        for name, steps in references(value):
            if steps in unclosed:
                continue
            found[name] = None
            root, _, rest = name.partition(".")
            first = rest.partition(".")[0]
            here = fields.at((key, *steps))
            if root != "args" or (name != root and not first):
                message = f"${{{name}}} cannot be filled in; there is ${{args.NAME}}"
                help = f"the text itself is written $${{{name}}}"
                here.complain("", "F009", message, help, on_key=False)
            elif first and known is not None and first not in known:
                meant = closest(first, known)
                question = f"; did you mean {meant}?" if meant else ""
                help = f"there are: {', '.join(known) or 'none'}"
                message = f"there is no argument {first}{question}"
                here.complain("", "F009", message, help, on_key=False)
        return tuple(found)

    def _refuse_unclosed(self, fields: Fields, value: object) -> set[tuple[str | int, ...]]:
        """A complaint about every `${args.…` without an end; where they are."""
        unclosed = list(unclosed_references(value))
        for steps, text in unclosed:
            message = f"{text} is not closed: there is no }} that ends it"
            help = "write it as ${args.NAME}"
            fields.at(steps).complain("", "F009", message, help, on_key=False)
        return {steps for steps, _ in unclosed}

    def refuse_arguments(self, fields: Fields, key: str, where: str) -> None:
        """A complaint about every `${args.…}` at a key that is never called with any."""
        for steps, text in argument_references(fields.mapping.get(key)):
            message = f"{where} is read without arguments, and {text} cannot be filled in"
            help = f"the text itself is written ${text}"
            fields.at((key, *steps)).complain("", "F009", message, help, on_key=False)
