"""`snapshot`: a value that equals the one that was last accepted.

Snapshots are read and reported through `SnapshotBook`; where they are stored, and when they are
written, is not known here. Secrets are blanked and varying parts are normalised before a value is
compared or stored.

To normalise is to make a value the same in every run: parts that vary by nature become
placeholders. Equal ids get equal numbers (`<uuid-1>`, `<uuid-2>`), in the order of the result,
where the keys of every object are sorted. Times get no number: whether two of them are equal is
chance. Only what can hardly be content is replaced: a time of this century, a path below a folder
that belongs to a machine, an id that looks random. Every expression here takes time proportional
to the text.
"""

from __future__ import annotations

import re
from functools import partial
from itertools import islice

from mcptest.core.diagnostics import suggest
from mcptest.core.secrets import split_words
from mcptest.core.text import EVERY, parse_path, plural, steps_of, visible
from mcptest.core.value_class import ABSENT, Record
from mcptest.matching.compare import compare, is_met
from mcptest.matching.json_values import parse_field_path, type_name
from mcptest.matching.patterns import Pattern
from mcptest.matching.regex import compile_expression
from mcptest.matching.registry import BadExpressionError, Matcher, Miss, ParameterError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Protocol

    from mcptest.core.results import Mismatch, SnapshotMode
    from mcptest.core.text import Trail
    from mcptest.matching.json_values import Steps
    from mcptest.matching.regex import Expression

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

        def record(
            self, key: str, value: object, *, is_same: bool, place: tuple[str | int, ...]
        ) -> None:
            """This value was received; `is_same` says that it is the one that is stored.

            `place` is where in the file it is asked for.
            """

    # From where to where, and what is written there; a word without brackets gets a number.
    Span = tuple[int, int, str]

__all__ = [
    "IGNORED",
    "Replacement",
    "Rules",
    "SnapshotBook",
    "normalise",
    "snapshot_pattern",
]


_MAX_SHOWN = 3
# More differences than this are only counted so far.
_MAX_COUNTED = 100
_MAX_NAME = 60

_ACCEPT = "run with --update-snapshots to accept it"
_WRITE = "run it outside CI, and commit what is written"
_NARROW = "point the target at a part of it, or ignore what is large"


def snapshot_pattern(book: SnapshotBook, key: str, options: object, place: Trail = None) -> Pattern:
    """The pattern for the options of `snapshot`; ParameterError when they make no sense.

    `key` is the name of the snapshot, unless the options give it another. `place` is where
    it is in the file.
    """
    name, rules = _read_options(options)
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


class _Use(Record):
    """Which snapshot a value is compared with, and what is done to the value before."""

    key: str
    rules: Rules
    place: tuple[str | int, ...] = ()


class _Difference(Miss):
    """The snapshot and the value that is not it."""

    stored: object
    value: object


def _check_snapshot(book: SnapshotBook, use: _Use, actual: object, path: str = "") -> Miss | None:
    if actual is ABSENT:
        return Miss(why="there is nothing")
    kept = _drop_paths(actual, _from_here(use.rules.ignored, path))
    too_large = _why_too_large(kept)
    if too_large:
        return Miss(why=too_large, hint=lambda: _NARROW)
    # A replacement may hold a secret, too.
    value = book.redacted(normalise(book.redacted(kept), use.rules.but(ignored=())))
    stored = book.stored(use.key)
    is_same = stored is not ABSENT and is_met(stored, value)
    book.record(use.key, value, is_same=is_same, place=use.place)
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


# Larger snapshots could not be reviewed, and would take too long to normalise.
MAX_CHARS = 1024 * 1024
MAX_NODES = 100_000
_MAX_LEVELS = 200


def _why_too_large(value: object) -> str:
    """Why the value is too large for a snapshot; "" when it is not."""
    level = [value]
    chars = nodes = 0
    for _ in range(_MAX_LEVELS + 1):
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
    return f"it is nested deeper than {_MAX_LEVELS} levels"


# The options of a snapshot

_KEYS = ("name", "ignore", "normalize")
_REPLACEMENT_KEYS = ("pattern", "as")
_EXAMPLE = 'for example snapshot: {ignore: ["meta.took"], normalize: [{pattern: "v\\d+", as: v}]}'


def _read_options(options: object) -> tuple[str, Rules]:
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


# Normalising: ignored parts are left out, parts that vary become placeholders

IGNORED = "<ignored>"


class Rules(Record):
    """What an author wants for one value, in addition to the built-in rules.

    `ignored` are paths into the value: a member is removed, an element becomes a placeholder.
    """

    ignored: tuple[Steps, ...] = ()
    replaced: tuple[Replacement, ...] = ()


class Replacement(Record):
    """An expression for a part of strings that varies, and its replacement."""

    expression: Expression
    text: str

    def applied(self, text: str) -> str:
        # An empty match is not replaced.
        return self.expression.compiled.sub(lambda found: self.text if found[0] else "", text)


def normalise(value: object, rules: Rules) -> object:
    """The value without ignored parts, and with placeholders for parts that vary."""
    return _Normaliser(rules.replaced).value(_drop_paths(value, rules.ignored), "")


def _drop_paths(value: object, ignored: Iterable[Steps]) -> object:
    """The value without these places; only what leads to them is copied."""
    for steps in ignored:
        value = _remove_at(value, steps)
    return value


def _remove_at(value: object, steps: Steps) -> object:
    step, rest = steps[0], steps[1:]
    if isinstance(value, dict):
        named = value if step is EVERY else [step] if step in value else []
        if not rest:
            return {key: inner for key, inner in value.items() if key not in named}
        return value | {key: _remove_at(value[key], rest) for key in named}
    if isinstance(value, list):
        copy = list(value)
        for index in _indexes(step, len(value)):
            copy[index] = _remove_at(value[index], rest) if rest else IGNORED
        return copy
    return value


def _indexes(step: str | int, count: int) -> Iterable[int]:
    if step is EVERY:
        return range(count)
    is_index = isinstance(step, int) or (step.isdecimal() and step.isascii() and len(step) < 10)
    return [int(step)] if is_index and int(step) < count else []


class _Normaliser:
    """Normalises one value; equal originals get the same number."""

    def __init__(self, replaced: tuple[Replacement, ...]) -> None:
        self._replaced = replaced
        self._numbers: dict[str, dict[str, int]] = {}

    def value(self, value: object, key: str) -> object:
        if isinstance(value, str):
            return self._text(self._with_replacements(value), key)
        if isinstance(value, dict):
            return self._mapping(value)
        if isinstance(value, list):
            return [self.value(inner, key) for inner in value]
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return _number_placeholder(value, key) or value
        return value

    def _mapping(self, mapping: dict[str, object]) -> dict[str, object]:
        """Sorted by key; keys that vary come last, in their own order."""
        varying = [key for key in mapping if _spans_in(key)]
        written: dict[str, object] = {}
        for key in (*sorted(mapping.keys() - {*varying}), *varying):
            name = self._text(key, "")
            # Two keys may have the same placeholder, and neither may get lost.
            if name in written or (name != key and name in mapping):
                name = key
            written[name] = self.value(mapping[key], key)
        return written

    def _with_replacements(self, text: str) -> str:
        for each in self._replaced:
            text = each.applied(text)
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            # Replacements may have brought the halves of a surrogate pair together.
            return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
        return text

    def _text(self, text: str, key: str) -> str:
        pieces: list[str] = []
        at = 0
        for start, end, shown in _spans_in(text, key):
            placeholder, original = shown, text[start:end]
            if not shown.startswith("<"):
                numbers = self._numbers.setdefault(shown, {})
                known = original.lower() if shown == "uuid" else original
                placeholder = f"<{shown}-{numbers.setdefault(known, len(numbers) + 1)}>"
            pieces += (text[at:start], placeholder)
            at = end
        return "".join(pieces) + text[at:]


# Parts that vary


def _spans_in(text: str, key: str = "") -> list[Span]:
    """The parts of a string that vary, in order and without overlaps."""
    by_key = list(_spans_by_key(text, key))
    if by_key and by_key[0][:2] == (0, len(text)):
        return by_key
    found = [*by_key, *_path_spans(text), *_other_spans(text)]
    found += ((*each.span(), "uuid") for each in _UUID.finditer(text) if len({*each[0]}) > 2)
    found += _member_spans(text)
    # Of those that overlap, the one that begins first is kept, or the longer one.
    kept: list[Span] = []
    for span in sorted(found, key=lambda span: (span[0], -span[1])):
        if not kept or span[0] >= kept[-1][1]:
            kept.append(span)
    return kept


def _number_placeholder(value: float, key: str) -> str:
    """The placeholder for a number that varies, "" if it does not."""
    words = _key_words(key)
    if words[-1:] == ("pid",) or words[-1:] == ("ppid",):
        return "<pid>"
    if words[-1:] and words[-1] in _MEASURED_WORDS:
        return "<duration>"
    if not words or words[-1] not in _TIME_WORDS:
        return ""
    return next((shown for shown, epoch in _EPOCHS if int(value) in epoch), "")


_ID_WORDS = frozenset(["guid", "id", "ids", "nonce", "ulid", "uuid"])
_TIME_WORDS = frozenset(
    [
        *("at", "atime", "birthtime", "created", "ctime", "date", "datetime", "epoch", "exp"),
        *("expiration", "expires", "expiry", "finished", "iat", "modified", "mtime", "nbf"),
        *("now", "since", "started", "time", "timestamp", "ts", "until", "updated"),
    ]
)
_MEASURED_WORDS = frozenset(["elapsed", "latency", "took", "uptime"])
_UNIT_WORDS = frozenset(
    [
        *("micros", "millis", "milliseconds", "ms", "nanos", "ns", "s", "sec", "seconds", "secs"),
        *("unix", "us", "utc"),
    ]
)

# Between the years 2001 and 2065.
_EPOCHS = (
    ("<epoch>", range(10**9, 3 * 10**9)),
    ("<epoch-ms>", range(10**12, 3 * 10**12)),
    ("<epoch-us>", range(10**15, 3 * 10**15)),
    ("<epoch-ns>", range(10**18, 3 * 10**18)),
)


def _key_words(key: str) -> tuple[str, ...]:
    """The words of a key without a unit at its end."""
    words = split_words(key)
    while len(words) > 1 and words[-1] in _UNIT_WORDS:
        words = words[:-1]
    return words


# Parts that vary according to their key

_FOLDER_WORDS = frozenset(
    ["cwd", "dir", "directory", "filename", "filepath", "folder", "workdir", "workspace"]
)
_PATH_WORDS = frozenset(["file", "path"])
_WHOLE_PATH = re.compile(r"(?:/|[A-Za-z]:[\\/])[^\n\"<>|*?]*[\\/]")


def _spans_by_key(text: str, key: str) -> Iterator[Span]:
    words = _key_words(key)
    if not words or not text or len(text) > 1000:
        return
    if words[-1] in _ID_WORDS:
        # A prefix such as `user_` is kept.
        prefix = re.match("[a-z]{2,10}[_-]", text)
        start = prefix.end() if prefix else 0
        if _is_random(text[start:], least=14 if prefix else 16):
            yield start, len(text), "id"
    elif words[-1] in _TIME_WORDS:
        shown = _number_placeholder(int(text), key) if re.fullmatch("[0-9]{10,19}", text) else ""
        if shown:
            yield 0, len(text), f"{shown[:-1]}-text>"
    elif words[-1] in _MEASURED_WORDS:
        if re.fullmatch(rf"\d+(?:\.\d+)? ?{_UNIT}", text, re.ASCII):
            yield 0, len(text), "<duration>"
    elif words[-1] in _FOLDER_WORDS or words[-1] in _PATH_WORDS:
        folder = _WHOLE_PATH.match(text)
        is_known = _POSIX.match(text) or _WINDOWS.match(text)
        if not folder or is_known or folder.end() == 1:
            return
        # Under `path` it needs a file extension: it may be a route.
        if words[-1] in _FOLDER_WORDS or re.search(r"\.\w{1,8}\Z", text[folder.end() :]):
            yield 0, folder.end(), "<path>/"


def _is_random(text: str, least: int) -> bool:
    """True if a string looks random: too long and too mixed to be words."""
    words = split_words(text)
    is_possible = words and re.fullmatch("[A-Za-z0-9+/_-]+={0,2}", text)
    if len(text) < least or not is_possible or _UUID.fullmatch(text):
        return False
    if re.fullmatch("[0-9a-f]{16,}|[0-9A-F]{16,}", text):
        return not text.isdecimal() and not text.isalpha()
    if re.fullmatch("[0-7][0-9A-HJKMNP-TV-Z]{25}", text):
        return True
    if text in (text.lower(), text.upper()):
        runs = len(re.findall("[0-9]+", text))
        return text.isalnum() and (runs >= 2 if len(text) >= 24 else runs >= 3 and len(text) >= 20)
    is_named = all(re.fullmatch(_NAMED, piece) for piece in re.split("[_-]", text))
    return not is_named and sum(map(len, words)) <= 4 * len(words)


# One word after the other, each with a capital, and a number at the end; or one of both.
_NAMED = "(?:[A-Z]?[a-z]++)*+[0-9]*|[A-Z]+[0-9]*"


# Parts that vary anywhere in a string

_UUID = re.compile(
    r"(?<![0-9A-Za-z])[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}(?![0-9A-Za-z])"
)
_CLOCK = r"(?:[01]\d|2[0-3]):[0-5]\d"
_TIMES = (
    re.compile(
        rf"(?<!\d)(?<!\d-)20\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])[Tt ]{_CLOCK}"
        r"(?::[0-6]\d(?:[.,]\d{1,9})?)?(?:[Zz]| ?[+-]\d\d:?\d\d| (?:UTC|GMT|Z))?(?![\w:])",
        re.ASCII,
    ),
    re.compile(r"(?<!\w)20\d{6}T\d{6}(?:\.\d{1,9})?(?:Z|[+-]\d{4})?(?!\w)", re.ASCII),
    # As in mail and HTTP, and as `date` prints it.
    re.compile(
        r"\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? (?:\d{1,2} [A-Z][a-z]{2} 20\d\d"
        rf" {_CLOCK}:\d\d(?: (?:GMT|UTC|[+-]\d{{4}}))?"
        rf"|[A-Z][a-z]{{2}} [ \d]\d {_CLOCK}:\d\d(?: [A-Z]{{3,4}})? 20\d\d)\b",
        re.ASCII,
    ),
)
_UNIT = r"(?:ns|µs|us|ms|s|secs?|seconds?|milliseconds?)"
_DURATION = re.compile(
    r"\b(?:took|elapsed|(?:finished|completed|done) in)[ :=]{1,3}"
    rf"(\d{{1,18}}(?:\.\d{{1,18}})? ?{_UNIT})\b",
    re.ASCII | re.IGNORECASE,
)
_ADDRESS = re.compile(r"(?<= at )0x[0-9a-fA-F]{6,16}\b")
_PORT = re.compile(
    r"(?<![\w.-])(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1?\]):(\d{5})(?![\w.])", re.ASCII
)
# Ports that the system assigns; lower ones were chosen by someone.
_ANY_PORT = range(32768, 65536)

# A folder or a name in a path, without characters that end a path in prose.
_NAME = r"""[^\s/\\:"'`<>|*?,;()\[\]{}]++"""
_BEFORE_PATH = r"(?<![\w./~@<>-])"
_HOMES = r"(?:home|Users)"
_ROOTS = (
    r"(?:tmp|private|root|mnt|media|Volumes|workspaces?|builds|github|__w|nix/store"
    r"|var/(?:folders|tmp|lib|task)|opt/hostedtoolcache|usr/(?:local|lib))"
)
_POSIX = re.compile(
    rf"{_BEFORE_PATH}/(?:{_HOMES}/{_NAME}(?:/(?:{_NAME}/)*)?|{_ROOTS}/(?:{_NAME}/)*)"
)
# In JSON inside a string, each backslash is doubled.
_SLASH = r"(?:\\{1,2}|/)"
_WINDOWS = re.compile(
    rf"(?<![A-Za-z0-9])[A-Za-z]:(?:{_SLASH}Users{_SLASH}{_NAME}(?:{_SLASH}(?:{_NAME}{_SLASH})*)?"
    rf"|{_SLASH}(?:{_NAME}{_SLASH})+)"
)
_URI_NAME = r"""[^\s/\\"'`<>|*?,;()\[\]{}]++"""
_FILE_URI = re.compile(
    rf"(?i)\bfile://(/?{_HOMES}/{_URI_NAME}(?:/(?:{_URI_NAME}/)*)?|/?(?:{_URI_NAME}/)+)"
)
# Names that programs give to temporary files and folders.
_TEMPORARY = re.compile(
    r"tmp[a-z0-9_]{8}(?!\w)|tmp\.[A-Za-z0-9]{10}(?!\w)|pytest-(?:of-\w+|\d+)(?!\w)"
    r"|[A-Za-z][\w.]{0,40}-(?=[A-Za-z]*(?:[0-9]|[a-z][A-Z]))[A-Za-z0-9]{6}(?![\w.-])",
    re.ASCII,
)
_IN_TEMPORARY = re.compile(r"(?i)/tmp/|/var/folders/|[\\/]temp[\\/]")

# A member of JSON inside a string.
_MEMBER = re.compile(
    r'"([A-Za-z_][\w.-]{0,63})"\s{0,8}:\s{0,8}(?:"([^"\\\n]{1,500})"|(-?\d{1,19}(?:\.\d{1,9})?)(?![\w.]))',
    re.ASCII,
)


def _path_spans(text: str) -> Iterator[Span]:
    """The folders of paths, and their names if these are temporary ones."""
    if "/" not in text and "\\" not in text:
        return
    places = [found.span() for each in (_POSIX, _WINDOWS) for found in each.finditer(text)]
    places += (found.span(1) for found in _FILE_URI.finditer(text))
    for start, end in places:
        has_name = text[end - 1] in "/\\"
        yield start, end, "<path>/" if has_name else "<path>"
        if has_name and _IN_TEMPORARY.search(text, start, end):
            name = _TEMPORARY.match(text, end)
            if name:
                yield (*name.span(), "<temp>")


def _other_spans(text: str) -> Iterator[Span]:
    """Times, ports, addresses in memory and durations."""
    for expression in _TIMES if ":" in text or "T" in text else ():
        for found in expression.finditer(text):
            yield (*found.span(), "<time>")
    for found in _PORT.finditer(text) if ":" in text else ():
        if int(found[1]) in _ANY_PORT:
            yield (*found.span(1), "port")
    for found in _ADDRESS.finditer(text) if "0x" in text else ():
        yield (*found.span(), "<address>")
    for found in _DURATION.finditer(text):
        yield (*found.span(1), "<duration>")


def _member_spans(text: str) -> Iterator[Span]:
    for found in _MEMBER.finditer(text) if '"' in text else ():
        key, inner, digits = found.groups()
        if inner is not None:
            first = found.start(2)
            for start, end, shown in _spans_by_key(inner, key):
                yield first + start, first + end, shown
        elif shown := _number_placeholder(float(digits), key):
            yield (*found.span(3), shown)
