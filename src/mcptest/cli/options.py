"""Parse a command line with a table of options, and render the help from the same table.

`argparse` is not used: importing it takes half as long as the interpreter needs to start
(docs/decisions/0001-start-up.md).
"""

from __future__ import annotations

from mcptest.core.diagnostics import closest, suggest
from mcptest.core.errors import UsageError
from mcptest.core.text import join_words, visible
from mcptest.core.value_class import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

__all__ = [
    "COLOR_OPTIONS",
    "HELP",
    "Arguments",
    "Command",
    "Option",
    "check_choice",
    "parse_arguments",
    "parse_choice",
    "parse_color",
    "parse_number",
    "render_help",
]


class Option(Record):
    """One option. Without `value` it is a flag.

    `choices` are the values that there are, or what they begin with (`json` of `json=FILE`).
    """

    names: tuple[str, ...]
    help: str
    value: str = ""
    repeatable: bool = False
    choices: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        return self.names[-1]


class Command(Record):
    """One command: its name, help, options and function.

    With `takes_command`, the words after `--` are the command of a server: `Arguments.command`.
    `subcommands` are commands with a help and options of their own, by the word that names them.
    `words` are fixed words that it takes beside paths, such as the names of formats.
    """

    name: str
    summary: str
    usage: str
    options: tuple[Option, ...]
    examples: tuple[str, ...]
    run: Callable[[Arguments], int]
    takes_paths: bool = True
    takes_command: bool = False
    details: str = ""
    words: tuple[str, ...] = ()
    subcommands: dict[str, Command] = {}  # noqa: RUF012  # nothing of a record changes


class Arguments(Record):
    """A parsed command line."""

    paths: tuple[str, ...]
    given: dict[str, list[str]]
    command: tuple[str, ...] = ()

    def has(self, key: str) -> bool:
        return key in self.given

    def last(self, key: str, default: str = "") -> str:
        return self.given[key][-1] if key in self.given else default

    def all(self, key: str) -> list[str]:
        return self.given.get(key, [])

    def words(self, keys: Iterable[str]) -> list[str]:
        """The words that give these options once more, in this order, as far as they are given."""
        found: list[str] = []
        for key in filter(self.has, keys):
            found += [word for value in self.given[key] for word in (key, value)] or [key]
        return found


HELP = Option(names=("-h", "--help"), help="show this help and exit")
COLOR_OPTIONS = (
    Option(
        names=("--color",),
        value="auto|always|never",
        choices=("auto", "always", "never"),
        help="colour (default: auto, on a terminal, unless NO_COLOR, FORCE_COLOR or "
        "CLICOLOR_FORCE in the environment says otherwise)",
    ),
    Option(names=("--no-color",), help="--color never"),
)


def parse_arguments(command: Command, argv: Sequence[str]) -> Arguments:
    """Parse a command line; raise a `UsageError` that says what is wrong with it."""
    by_name = {name: option for option in (*command.options, HELP) for name in option.names}
    given: dict[str, list[str]] = {}
    paths: list[str] = []
    rest = list(argv)
    inner: tuple[str, ...] = ()
    while rest:
        word = rest.pop(0)
        if word == "--":
            if not command.takes_command:
                paths += rest
            elif not rest:
                help = "the command that starts the server comes there"
                raise UsageError("nothing follows --", help)
            else:
                inner = tuple(rest)
            break
        if not word.startswith("-") or word == "-":
            paths.append(word)
            continue
        name, value = _split(word, by_name)
        option = by_name.get(name)
        if option is None:
            raise _unknown_option(name, command, by_name)
        _add_value(option, name, value, rest, given)
    if paths and not command.takes_paths:
        raise UsageError(f"{command.name} takes no {visible(paths[0])!r}")
    return Arguments(paths=tuple(paths), given=given, command=inner)


def _split(word: str, by_name: dict[str, Option]) -> tuple[str, str | None]:
    """Split `--name=value` and `-kvalue`; the value is None if there is none."""
    if word.startswith("--"):
        name, equals, value = word.partition("=")
        return name, value if equals else None
    short = by_name.get(word[:2])
    if short and short.value and len(word) > 2:
        return word[:2], word[2:]
    return word, None


def _add_value(
    option: Option, name: str, value: str | None, rest: list[str], given: dict[str, list[str]]
) -> None:
    if not option.value:
        if value is not None:
            raise UsageError(f"{name} is a flag and takes no value")
        given[option.key] = []
        return
    if value is None:
        if not rest:
            raise UsageError(f"{name} needs a value: {name} {option.value}")
        value = rest.pop(0)
    if option.key in given and not option.repeatable:
        raise UsageError(f"{name} is given twice")
    given.setdefault(option.key, []).append(value)


def parse_choice(arguments: Arguments, option: Option) -> str:
    """Return the value of an option with fixed choices, "" if it is not given."""
    text = arguments.last(option.key)
    if arguments.has(option.key) and text not in option.choices:
        meant = closest(text, option.choices)
        question = f"; did you mean {meant}?" if meant else ""
        known = join_words(option.choices, "or")
        raise UsageError(f"{option.key} takes {known}, not {visible(text)!r}{question}")
    return text


def check_choice(option: str, text: str, choices: Collection[str]) -> str:
    """Return the value of an option if it is one of these; a `UsageError` lists them."""
    if text not in choices:
        message = f"{option} has no {visible(text)!r}{suggest(text, choices)}"
        raise UsageError(message, f"there are: {', '.join(choices)}")
    return text


def parse_color(arguments: Arguments) -> str:
    """Return "always", "never" or, if the environment decides, ""."""
    wish = parse_choice(arguments, COLOR_OPTIONS[0])
    if arguments.has("--no-color"):
        if wish not in ("", "never"):
            raise UsageError(f"--no-color and --color {wish} contradict each other; give one")
        return "never"
    return "" if wish == "auto" else wish


def parse_number(arguments: Arguments, option: str, least: int, most: int) -> int | None:
    """Return the whole number that an option gives, None if it is not given."""
    if not arguments.has(option):
        return None
    text = arguments.last(option)
    is_number = text.isascii() and text.isdigit() and len(text) <= 9
    if not is_number or not least <= int(text) <= most:
        message = f"{option} takes a number from {least} to {most:,}"
        raise UsageError(f"{message}, not {visible(text)!r}")
    return int(text)


def _unknown_option(name: str, command: Command, by_name: dict[str, Option]) -> UsageError:
    # Any two letters are similar, so only long names are suggested.
    meant = closest(name, (known for known in by_name if known.startswith("--")))
    question = f"; did you mean {meant}?" if meant else ""
    message = f"{command.name} has no option {visible(name)}{question}"
    return UsageError(message, f"{command.name} --help lists them")


def render_help(command: Command) -> str:
    """Render the help of a command: usage, options, examples."""
    lines = [command.summary, "", f"usage: {command.usage}"]
    if command.details:
        lines += ["", *_wrap(command.details, 80)]
    lines += ["", "options:"]
    for option in (*command.options, HELP):
        head = "  " + ", ".join(option.names) + (f" {option.value}" if option.value else "")
        about = _wrap(option.help, 80 - _HELP_COLUMN)
        if len(head) < _HELP_COLUMN - 1:
            lines.append(head.ljust(_HELP_COLUMN) + about.pop(0))
        else:
            lines.append(head)
        lines += [" " * _HELP_COLUMN + line for line in about]
    lines += ["", "examples:" if len(command.examples) > 1 else "example:"]
    lines += [f"  {example}" for example in command.examples]
    return "\n".join(lines) + "\n"


_HELP_COLUMN = 30


def _wrap(text: str, width: int) -> list[str]:
    """Wrap a text into lines shorter than `width`."""
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + len(word) >= width:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    return lines
