"""`mcptest completion`: scripts that complete command lines, made from the table of options."""

from __future__ import annotations

import re

from mcptest.cli.commands.registry import COMMANDS, load_command
from mcptest.cli.commands.run import CONDUCTOR_COMMAND
from mcptest.cli.options import HELP, Command, Option
from mcptest.cli.output import StandardOutput
from mcptest.core.diagnostics import suggest
from mcptest.core.errors import UsageError
from mcptest.core.results import ExitCode
from mcptest.core.text import visible
from mcptest.core.value_class import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcptest.cli.options import Arguments

__all__ = ["COMMAND", "completion"]


def completion(arguments: Arguments) -> int:
    """Write the script for a shell."""
    if len(arguments.paths) != 1 or arguments.paths[0] not in _SHELLS:
        shells = ", ".join(_SHELLS)
        if not arguments.paths:
            raise UsageError("mcptest completion needs the name of a shell", f"there are: {shells}")
        word = arguments.paths[0] if arguments.paths[0] not in _SHELLS else arguments.paths[1]
        message = f"mcptest completion takes one of {shells}, not {visible(word)!r}"
        raise UsageError(f"{message}{suggest(word, _SHELLS)}")
    StandardOutput().write(_SHELLS[arguments.paths[0]](list(_entries())))
    return ExitCode.PASSED


class _Entry(Record):
    """What can be completed after the words `name`; "" is mcptest itself."""

    name: str
    options: tuple[Option, ...]
    # Words with their descriptions.
    words: dict[str, str]
    takes_paths: bool = False


# Options of mcptest itself.
_VERSION = Option(names=("-V", "--version"), help="show the version")

# Values that are files or folders.
_FILE = re.compile(r"FILE|DIR|OUT|PATH")


def _entries() -> Iterator[_Entry]:
    commands = {name: load_command(name) for name in COMMANDS}
    yield _Entry(name="", options=(_VERSION, HELP), words={**COMMANDS, "help": "show the help"})
    yield _Entry(name="help", options=(), words=COMMANDS)
    for name, command in commands.items():
        yield _entry(name, command)
        for word, inner in command.subcommands.items():
            yield _entry(f"{name} {word}", inner)
    yield _entry("conductor", CONDUCTOR_COMMAND)


def _entry(name: str, command: Command) -> _Entry:
    words = dict.fromkeys(command.words, "")
    words |= {word: inner.summary for word, inner in command.subcommands.items()}
    # Fixed words are all that such a command takes, except `report merge FILE` and `cases from`.
    takes_paths = command.takes_paths and (not words or name in ("report", "cases"))
    return _Entry(name=name, options=(*command.options, HELP), words=words, takes_paths=takes_paths)


def _is_file(option: Option) -> bool:
    return not option.choices and bool(_FILE.search(option.value))


def _summary(option: Option) -> str:
    """The help of an option in a few words."""
    return re.split(r"[;(:]", option.help)[0].strip()


# bash


_BASH = """\
# Completes mcptest and conductor in bash. In ~/.bashrc: eval "$(mcptest completion bash)"
_mcptest() {{
    local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}}
    local command= options= words= choices= files= word i
    # bash splits words at "=".
    if [[ $cur == "=" ]]; then
        cur=
    elif [[ $prev == "=" ]]; then
        prev=${{COMP_WORDS[COMP_CWORD-2]}}
    fi
    [[ ${{COMP_WORDS[0]##*/}} == conductor ]] && command=conductor
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${{COMP_WORDS[i]}}
        # What follows is the command of a server.
        [[ $word == -- ]] && return
        case "$command${{command:+ }}$word" in
            {names}) command="$command${{command:+ }}$word" ;;
        esac
    done
    case "$command" in
{commands}
    esac
    case "$command:$prev" in
{values}
    esac
    if [[ -n $choices ]]; then
        compopt +o default
        COMPREPLY=($(compgen -W "$choices" -- "$cur"))
    elif [[ $cur == -* ]]; then
        compopt +o default
        COMPREPLY=($(compgen -W "$options" -- "$cur"))
    else
        [[ -n $files ]] || compopt +o default
        COMPREPLY=($(compgen -W "$words" -- "$cur"))
    fi
}}
complete -o default -F _mcptest mcptest conductor
"""


def _bash(entries: list[_Entry]) -> str:
    commands, values = [], []
    for entry in entries:
        names = " ".join(name for option in entry.options for name in option.names)
        words = " ".join(entry.words)
        files = "yes" if entry.takes_paths else ""
        commands.append(
            f"        '{entry.name}') options='{names}' words='{words}' files={files} ;;"
        )
        for option in entry.options:
            if option.value:
                places = "|".join(f"'{entry.name}:{name}'" for name in option.names)
                if option.choices:
                    act = f"choices='{' '.join(option.choices)}'"
                elif _is_file(option):
                    act = "return"
                else:
                    act = "compopt +o default; return"
                values.append(f"        {places}) {act} ;;")
    names = "|".join(f"'{entry.name}'" for entry in entries if entry.name not in ("", "conductor"))
    return _BASH.format(names=names, commands="\n".join(commands), values="\n".join(values))


# zsh


_ZSH = """\
#compdef mcptest conductor
# Completes mcptest and conductor in zsh. In ~/.zshrc, after compinit:
#   eval "$(mcptest completion zsh)"
_mcptest() {{
    local command= prev=${{words[CURRENT-1]}} word i files=
    local -a options names choices
    if [[ $PREFIX == --*=* ]]; then
        prev=${{PREFIX%%=*}}
        compset -P '*='
    fi
    [[ ${{words[1]:t}} == conductor ]] && command=conductor
    for ((i = 2; i < CURRENT; i++)); do
        word=${{words[i]}}
        # What follows is the command of a server.
        if [[ $word == -- ]]; then
            _files
            return
        fi
        case "$command${{command:+ }}$word" in
            ({names}) command="$command${{command:+ }}$word" ;;
        esac
    done
    case "$command" in
{commands}
    esac
    case "$command:$prev" in
{values}
    esac
    if (( $#choices )); then
        compadd -S '' -a choices
    elif [[ $PREFIX == -* ]]; then
        _describe -o option options
    else
        (( $#names )) && _describe word names
        [[ -n $files ]] && _files
    fi
}}
if [[ $funcstack[1] == _mcptest ]]; then
    _mcptest "$@"
else
    compdef _mcptest mcptest conductor
fi
"""


def _zsh(entries: list[_Entry]) -> str:
    commands, values = [], []
    for entry in entries:
        options = [
            _quote(f"{name}:{_summary(option)}")
            for option in entry.options
            for name in option.names
        ]
        names = [_quote(f"{word}:{text}" if text else word) for word, text in entry.words.items()]
        files = "yes" if entry.takes_paths else ""
        body = f"options=({' '.join(options)}); names=({' '.join(names)}); files={files}"
        commands.append(f"        ('{entry.name}') {body} ;;")
        for option in entry.options:
            if option.value:
                places = "|".join(f"'{entry.name}:{name}'" for name in option.names)
                act = "_files; return" if _is_file(option) else "return"
                if option.choices:
                    act = f"choices=({' '.join(map(_quote, option.choices))})"
                values.append(f"        ({places}) {act} ;;")
    known = "|".join(f"'{entry.name}'" for entry in entries if entry.name not in ("", "conductor"))
    return _ZSH.format(names=known, commands="\n".join(commands), values="\n".join(values))


def _quote(text: str) -> str:
    """A text as one word of a shell."""
    return "'" + text.replace("'", "'\\''") + "'"


# fish


_FISH = """\
# Completes mcptest and conductor in fish. In config.fish: mcptest completion fish | source
function __mcptest_in
    set -l words (commandline -opc)
    set -l command
    if string match -q '*conductor' -- $words[1]
        set command conductor
    end
    for word in $words[2..-1]
        if test "$word" = --
            return 1
        end
        set -l longer (string trim -- "$command $word")
        if contains -- "$longer" {names}
            set command $longer
        end
    end
    test "$command" = "$argv[1]"
end
"""


def _fish(entries: list[_Entry]) -> str:
    known = [_fish_quote(each.name) for each in entries if each.name not in ("", "conductor")]
    lines = [_FISH.format(names=" ".join(known))]
    for entry in entries:
        program = "conductor" if entry.name == "conductor" else "mcptest"
        lead = f"complete -c {program} -n {_fish_quote(f'__mcptest_in {_fish_quote(entry.name)}')}"
        lines.append(f"{lead} {'-F' if entry.takes_paths else '-f'}")
        for word, text in entry.words.items():
            lines.append(f"{lead} -a {_fish_quote(word)} -d {_fish_quote(text)}")
        for option in entry.options:
            names = " ".join(
                f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
                for name in option.names
            )
            value = ""
            if option.choices:
                value = f" -x -a {_fish_quote(' '.join(option.choices))}"
            elif option.value:
                value = " -r -F" if _is_file(option) else " -x"
            lines.append(f"{lead} {names}{value} -d {_fish_quote(_summary(option))}")
    return "\n".join(lines) + "\n"


def _fish_quote(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


# PowerShell


_POWERSHELL = """\
# Completes mcptest and conductor in PowerShell. In $PROFILE:
#   mcptest completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName mcptest, conductor -ScriptBlock {{
    param($wordToComplete, $commandAst, $cursorPosition)
    $table = @{{
{commands}
    }}
    $values = @{{
{values}
    }}
    $words = @($commandAst.CommandElements | Where-Object {{
        $_.Extent.EndOffset -lt $cursorPosition
    }} | ForEach-Object {{ $_.ToString() }})
    $command = ''
    if ($words.Count -and $words[0] -like '*conductor*') {{ $command = 'conductor' }}
    foreach ($word in ($words | Select-Object -Skip 1)) {{
        if ($word -eq '--') {{ return }}
        $longer = "$command $word".Trim()
        if ($table.ContainsKey($longer)) {{ $command = $longer }}
    }}
    $prev = if ($words.Count) {{ $words[-1] }} else {{ '' }}
    $found = $values["${{command}}:$prev"]
    if ($null -eq $found) {{
        $found = @($table[$command] | Where-Object {{
            ($_ -like '-*') -eq ($wordToComplete -like '-*')
        }})
    }}
    $found | Where-Object {{ $_ -like "$wordToComplete*" }} | ForEach-Object {{
        [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
    }}
}}
"""


def _powershell(entries: list[_Entry]) -> str:
    commands, values = [], []
    for entry in entries:
        names = [name for option in entry.options for name in option.names]
        known = ", ".join(f"'{word}'" for word in (*entry.words, *names))
        commands.append(f"        '{entry.name}' = @({known})")
        for option in entry.options:
            if option.choices:
                choices = ", ".join(f"'{choice}'" for choice in option.choices)
                values += [f"        '{entry.name}:{name}' = @({choices})" for name in option.names]
    return _POWERSHELL.format(commands="\n".join(commands), values="\n".join(values))


_SHELLS: dict[str, Callable[[list[_Entry]], str]] = {
    "bash": _bash,
    "zsh": _zsh,
    "fish": _fish,
    "powershell": _powershell,
}

COMMAND = Command(
    name="mcptest completion",
    summary="Print a script that completes the words of mcptest and conductor in a shell.",
    usage="mcptest completion bash|zsh|fish|powershell",
    details="Commands, options, values with fixed choices, and files are completed.",
    options=(),
    examples=(
        'eval "$(mcptest completion bash)"         # in ~/.bashrc',
        'eval "$(mcptest completion zsh)"          # in ~/.zshrc, after compinit',
        "mcptest completion fish | source          # in config.fish",
        "mcptest completion powershell | Out-String | Invoke-Expression",
    ),
    run=completion,
    words=("bash", "zsh", "fish", "powershell"),
)
