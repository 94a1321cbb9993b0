"""`snapshot`: a value that equals the one that was last accepted.

Snapshots are read and reported through `SnapshotBook`; where they are stored, and when they are
written, is not known here. Secrets are blanked and varying parts are normalised before a value is
compared or stored.
"""

from __future__ import annotations

from functools import partial
from itertools import islice

from mcptest.core.diagnostics import suggest
from mcptest.core.record import ABSENT, Record
from mcptest.core.text import EVERY, parse_path, plural, steps_of, visible
from mcptest.matching.compare import compare, is_met
from mcptest.matching.normalise import Replacement, Rules, drop_paths, normalise
from mcptest.matching.patterns import Pattern
from mcptest.matching.regex import compile_expression
from mcptest.matching.registry import BadExpressionError, Matcher, Miss, ParameterError
from mcptest.matching.values import parse_field_path, type_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Protocol

    from mcptest.core.results import Mismatch, SnapshotMode
    from mcptest.core.text import Trail
    from mcptest.matching.values import Steps

    class SnapshotBook(Protocol):
        """The snapshots of one file."""

        @property
        def mode(self) -> SnapshotMode:
            """What happens to a value that has no snapshot, or another one."""

        def declare(self, key: str, place: Trail, *, is_given: bool) -> None:
            """A test uses a snapshot of this name, whether it will run or not.

            `is_given` says that its author gave the name; otherwise it was made for this
            place. ParameterError when something else has it.
            """

        def redacted(self, value: object) -> object:
            """The value without any secret."""

        def stored(self, key: str) -> object:
            """The snapshot of this name, or ABSENT."""

        def saw(
            self, key: str, value: object, *, is_same: bool, place: tuple[str | int, ...]
        ) -> None:
            """This value was received; `is_same` says that it is the one that is stored.

            `place` is where in the file it is asked for.
            """


__all__ = ["SnapshotBook", "snapshot_pattern"]

# Larger snapshots could not be reviewed, and would take too long to normalise.
MAX_CHARS = 1024 * 1024
MAX_NODES = 100_000
MAX_LEVELS = 200

_MAX_SHOWN = 3
# More differences than this are only counted so far.
_MAX_COUNTED = 100
_MAX_NAME = 60

_ACCEPT = "run with --update-snapshots to accept it"
_WRITE = "run it outside CI, and commit what is written"
_NARROW = "point the target at a part of it, or ignore what is large"


class _Use(Record):
    """Which snapshot a value is compared with, and what is done to the value before."""

    key: str
    rules: Rules
    place: tuple[str | int, ...] = ()


class _Difference(Miss):
    """The snapshot and the value that is not it."""

    stored: object
    value: object


class _SnapshotPattern(Pattern):
    """A pattern that shows the first difference inside of the value, and names the next ones."""

    def describe(self, miss: Miss, actual: object, trail: Trail) -> Mismatch:
        if not isinstance(miss, _Difference):
            return super().describe(miss, actual, trail)
        found = list(islice(compare(miss.stored, miss.value, trail), _MAX_COUNTED))
        first = found[0]
        message = f"snapshot {_quote_name(self.parameter.key)}: {first.message}"
        if len(found) > 1:
            message += f"; it also differs at {_list_places(found[1:])}"
        return first.but(message=message, hint=f"{first.hint}; {_ACCEPT}".removeprefix("; "))


def snapshot_pattern(book: SnapshotBook, key: str, options: object, place: Trail = None) -> Pattern:
    """The pattern for the options of `snapshot`; ParameterError when they make no sense.

    `key` is the name of the snapshot, unless the options give it another. `place` is where
    it is in the file.
    """
    name, rules = read_options(options)
    use = _Use(key=name or key, rules=rules, place=steps_of(place))
    book.declare(use.key, place, is_given=bool(name))
    matcher = Matcher(
        name="snapshot",
        family="Snapshots",
        summary="The value is what it was when it was last accepted.",
        example="snapshot: true",
        passes=(),
        fails=(),
        parse=lambda: use,
        wants=lambda use: f"what the snapshot {_quote_name(use.key)} holds",
        check=partial(_check_snapshot, book),
        is_slow=True,
        # The book records each check, so a value is checked once and in this process.
        is_remote=True,
    )
    source = f"match:snapshot:{use.key}"
    return _SnapshotPattern(source=source, matcher=matcher, parameter=use, negated=False)


def _check_snapshot(book: SnapshotBook, use: _Use, actual: object, path: str = "") -> Miss | None:
    if actual is ABSENT:
        return Miss(why="there is nothing")
    kept = drop_paths(actual, _from_here(use.rules.ignored, path))
    too_large = _why_too_large(kept)
    if too_large:
        return Miss(why=too_large, hint=lambda: _NARROW)
    # A replacement may hold a secret, too.
    value = book.redacted(normalise(book.redacted(kept), use.rules.but(ignored=())))
    stored = book.stored(use.key)
    is_same = stored is not ABSENT and is_met(stored, value)
    book.saw(use.key, value, is_same=is_same, place=use.place)
    is_written = book.mode == "update" or (book.mode == "write_new" and stored is ABSENT)
    if is_same or is_written:
        return None
    if stored is ABSENT:
        return Miss(why="there is none of that name yet", hint=lambda: _WRITE)
    found = list(islice(compare(stored, value), _MAX_COUNTED))
    return _Difference(
        why=f"it differs at {_list_places(found)}", hint=lambda: _ACCEPT, stored=stored, value=value
    )


def _list_places(found: Sequence[Mismatch]) -> str:
    """The first few paths, and how many there are beside them."""
    shown = [visible(each.path) or "the top" for each in found[:_MAX_SHOWN]]
    rest = len(found) - len(shown)
    if not rest:
        return ", ".join(shown)
    is_all = len(found) < _MAX_COUNTED - 1
    return f"{', '.join(shown)} and {plural(rest, 'more place') if is_all else 'many more places'}"


def _quote_name(key: str) -> str:
    return f'"{visible(key if len(key) <= _MAX_NAME else f"{key[:_MAX_NAME]}…")}"'


def _from_here(ignored: tuple[Steps, ...], path: str) -> tuple[Steps, ...]:
    """Paths into the value; those that begin with the value's own place lead into it, too."""
    own = parse_path(path) or ()
    inside = (
        steps[len(own) :]
        for steps in ignored
        if own
        and len(steps) > len(own)
        and all(step is EVERY or step == each for step, each in zip(steps, own, strict=False))
    )
    return (*ignored, *inside)


def _why_too_large(value: object) -> str:
    """Why the value is too large for a snapshot; "" when it is not."""
    level = [value]
    chars = nodes = 0
    for _ in range(MAX_LEVELS + 1):
        nodes += len(level)
        below: list[object] = []
        for node in level:
            if isinstance(node, dict):
                chars += sum(map(len, node))
                below += node.values()
            elif isinstance(node, list):
                below += node
            elif isinstance(node, str):
                chars += len(node)
        if chars > MAX_CHARS:
            return f"its strings have more than {MAX_CHARS:,} characters"
        if nodes > MAX_NODES:
            return f"it has more than {MAX_NODES:,} values in it"
        if not below:
            return ""
        level = below
    return f"it is nested deeper than {MAX_LEVELS} levels"


_KEYS = ("name", "ignore", "normalize")
_REPLACEMENT_KEYS = ("pattern", "as")
_EXAMPLE = 'for example snapshot: {ignore: ["meta.took"], normalize: [{pattern: "v\\d+", as: v}]}'


def read_options(options: object) -> tuple[str, Rules]:
    """The name, "" when none is given, and the rules. ParameterError says what is wrong."""
    if options is True:
        return "", Rules()
    if isinstance(options, str):
        return _read_name(options), Rules()
    if options is False:
        raise ParameterError("is never false", "leave it out, or write snapshot: true")
    if not isinstance(options, dict):
        takes = "takes true, the name of a snapshot or a mapping"
        raise ParameterError(f"{takes}, not {type_name(options)}", _EXAMPLE)
    _refuse_unknown(options, _KEYS, "has no option")
    name = _read_name(options["name"]) if "name" in options else ""
    ignored = tuple(map(_read_path, _read_list(options, "ignore")))
    replaced = tuple(map(_read_replacement, _read_list(options, "normalize")))
    return name, Rules(ignored=ignored, replaced=replaced)


def _refuse_unknown(mapping: dict[str, object], known: Sequence[str], message: str) -> None:
    for key in mapping:
        if key not in known:
            question = suggest(key, known, "{!r}")
            help = f"there are: {', '.join(known)}"
            raise ParameterError(f"{message} {visible(key)!r}{question}", help)


def _read_name(name: object) -> str:
    if not isinstance(name, str) or not name.strip():
        shown = "an empty string" if isinstance(name, str) else type_name(name)
        raise ParameterError(f"needs a string as the name of the snapshot, not {shown}", _EXAMPLE)
    return name


def _read_list(options: dict[str, object], key: str) -> list[object]:
    value = options.get(key, [])
    if not isinstance(value, list):
        raise ParameterError(f'takes a list under "{key}", not {type_name(value)}', _EXAMPLE)
    return value


def _read_path(path: object) -> Steps:
    if not isinstance(path, str) or not path:
        shown = "an empty string" if path == "" else type_name(path)
        raise ParameterError(f'takes paths under "ignore", not {shown}', _EXAMPLE)
    steps = parse_field_path(path)
    if steps is None:
        message = f'cannot read the path {visible(path)!r} under "ignore"'
        raise ParameterError(message, 'write it like result.items[*].id or meta["a key"]')
    return steps


def _read_replacement(entry: object) -> Replacement:
    if not isinstance(entry, dict):
        message = f'takes mappings under "normalize", not {type_name(entry)}'
        raise ParameterError(message, _EXAMPLE)
    _refuse_unknown(entry, _REPLACEMENT_KEYS, 'takes "pattern" and "as" under "normalize", not')
    for key in _REPLACEMENT_KEYS:
        if not isinstance(entry.get(key), str):
            seen = f"it is {type_name(entry[key])}" if key in entry else "it is missing"
            raise ParameterError(f'needs a string as "{key}" under "normalize"; {seen}', _EXAMPLE)
    source = entry["pattern"]
    try:
        expression = compile_expression(source)
    except ValueError as error:
        raise BadExpressionError(f"has a pattern {visible(source)!r} that {error}") from None
    if expression.compiled.search(""):
        help = "let it match at least one character"
        raise ParameterError(f"has a pattern {visible(source)!r} that matches nothing at all", help)
    return Replacement(expression=expression, text=entry["as"])
