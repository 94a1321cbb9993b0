"""One message of a case file, compiled: tags become patterns, and what is wrong is complained of.

A value with `Tagged` scalars goes in, a `Draft` comes out: the compiled value, what it binds
and refers to, and where. What the message means beside others is not known here.
"""

from __future__ import annotations

from contextlib import nullcontext

from mcptest.core.dialogue import Bind, Ref
from mcptest.core.errors import PatternTimeoutError
from mcptest.core.record import Record
from mcptest.core.text import trail_of
from mcptest.formats.stream import Tagged
from mcptest.matching.patterns import PREFIX, Pattern
from mcptest.matching.registry import ParameterError
from mcptest.matching.tags import TAGS, bound_name, make_value, read_tag

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from mcptest.formats.fields import Fields
    from mcptest.matching.expectation import Compiler

    Steps = tuple[str | int, ...]
    # While entered, computing too long raises PatternTimeoutError.
    Bounded = AbstractContextManager[None]

__all__ = ["Draft", "MessageReader"]


class Draft(Record):
    """A compiled message. `refs` are names and where they stand."""

    value: object
    binds: tuple[Bind, ...]
    refs: tuple[tuple[str, Steps], ...]
    has_regex: bool
    has_foreign_check: bool = False
    has_remote_check: bool = False
    may_check_nothing: bool = False


class MessageReader:
    """Reads the messages of one case.

    Without a compiler, `match:` is a text like any other. `is_sent` says that somebody will
    have to send such messages: what cannot be made up is a mistake then.
    """

    def __init__(
        self, fields: Fields, compiler: Compiler | None, bounded: Bounded, *, is_sent: bool
    ) -> None:
        self._fields = fields
        self._compiler = compiler
        self._bounded = bounded
        self._is_sent = is_sent
        self._binds: list[Bind] = []
        self._refs: list[tuple[str, Steps]] = []
        self._has_regex = False

    def read(self, key: str, value: object) -> Draft:
        """The message under a key of the case."""
        compiled = self._compiled(key, value, ())
        compiler = self._compiler
        if compiler:
            compiler.has_seen_regex = compiler.may_check_nothing = False
            compiler.has_seen_foreign = compiler.has_seen_remote = False
            compiled = compiler.compile(compiled, trail_of((*self._fields.steps, key)))
        return Draft(
            value=compiled,
            binds=tuple(self._binds),
            refs=tuple(self._refs),
            has_regex=self._has_regex or bool(compiler and compiler.has_seen_regex),
            has_foreign_check=bool(compiler and compiler.has_seen_foreign),
            has_remote_check=bool(compiler and compiler.has_seen_remote),
            may_check_nothing=bool(compiler and compiler.may_check_nothing),
        )

    def _compiled(self, key: str, value: object, steps: Steps) -> object:
        if isinstance(value, dict):
            return {
                name: self._compiled(key, inner, (*steps, name)) for name, inner in value.items()
            }
        if isinstance(value, list):
            return [
                self._compiled(key, inner, (*steps, index)) for index, inner in enumerate(value)
            ]
        return self._tag(key, value, steps) if isinstance(value, Tagged) else value

    def _tag(self, key: str, tagged: Tagged, steps: Steps) -> object:
        here = self._fields.at((key, *steps))
        try:
            read = read_tag(tagged.tag, tagged.text)
        except ParameterError as error:
            message, help = f"!!{tagged.tag} {error}", f"for example {_example(tagged.tag)}"
            here.complain("", error.code, message, help, on_key=False)
            return None
        if isinstance(read, Ref):
            if any(bind.name == read.name for bind in self._binds):
                return read.but(is_own=True)
            self._refs.append((read.name, steps))
        elif name := bound_name(read):
            self._binds.append(Bind(name=name, steps=steps))
        self._refuse_misplaced(read, steps, here)
        if isinstance(read, Pattern):
            self._has_regex |= read.matcher.is_slow
            self._refuse_unsendable(read, steps, here)
        return read

    def _refuse_misplaced(self, read: Pattern | Ref, steps: Steps, here: Fields) -> None:
        is_name = isinstance(read, Ref) or bound_name(read)
        is_under_directive = any(str(step).startswith(PREFIX) for step in steps)
        if self._compiler and is_name and is_under_directive:
            message = "!!bind and !!ref cannot stand under a match: directive"
            here.complain("", "F014", message, on_key=False)

    def _refuse_unsendable(self, pattern: Pattern, steps: Steps, here: Fields) -> None:
        if not self._is_sent:
            return
        try:
            with self._bounded if pattern.matcher.is_slow else nullcontext():
                make_value(pattern, str(steps[-1]) if steps else "")
        except (ValueError, PatternTimeoutError) as error:
            message = f"this message is to be sent, and {error}"
            here.complain("", "F013", message, "write a value, or a simpler pattern", on_key=False)


def _example(tag: str) -> str:
    # The matcher of this one is shared with the other format, whose examples look different.
    others = {"type": "!!type string", "ref": "!!ref session"}
    return others.get(tag) or TAGS[tag].example
