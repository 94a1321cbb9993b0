"""Parse a command line with a table of options, and render the help from the same table.

`argparse` is not used: importing it takes half as long as the interpreter needs to start
(docs/decisions/0001-start-up.md).
"""

from __future__ import annotations

from mcptest.core.diagnostics import closest
from mcptest.core.errors import UsageError
from mcptest.core.record import Record
from mcptest.core.text import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["NO_COLOR_OPTION", "Arguments", "Command", "Option", "parse_arguments", "render_help"]


class Option(Record):
    """One option. Without `value` it is a flag."""

    names: tuple[str, ...]
    help: str
    value: str = ""
    repeatable: bool = False

    @property
    def key(self) -> str:
        return self.names[-1]


class Command(Record):
    """One command: its name, help, options and function.

    With `takes_command`, the words after `--` are the command of a server: `Arguments.command`.
    `subcommands` are commands with a help and options of their own, by the word that names them.
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


HELP = Option(names=("-h", "--help"), help="show this help and exit")
NO_COLOR_OPTION = Option(
    names=("--no-color",), help="disable colour, as NO_COLOR in the environment does"
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
            inner = _parse_inner_command(command, rest, paths)
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


def _parse_inner_command(command: Command, rest: list[str], paths: list[str]) -> tuple[str, ...]:
    """Return the command after `--`; add the words to the paths if none is expected."""
    if not command.takes_command:
        paths += rest
        return ()
    if not rest:
        raise UsageError("nothing follows --", "the command that starts the server comes there")
    return tuple(rest)


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
        lines += _option_lines(option)
    lines += ["", "examples:" if len(command.examples) > 1 else "example:"]
    lines += [f"  {example}" for example in command.examples]
    return "\n".join(lines) + "\n"


_HELP_COLUMN = 30


def _option_lines(option: Option) -> list[str]:
    head = "  " + ", ".join(option.names) + (f" {option.value}" if option.value else "")
    lines = _wrap(option.help, 80 - _HELP_COLUMN)
    indent = " " * _HELP_COLUMN
    body = [indent + line for line in lines]
    if len(head) < _HELP_COLUMN - 1:
        return [head.ljust(_HELP_COLUMN) + lines[0], *body[1:]]
    return [head, *body]


def _wrap(text: str, width: int) -> list[str]:
    """Wrap a text into lines shorter than `width`."""
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + len(word) >= width:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    return lines
