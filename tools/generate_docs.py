"""Write the pages that come from code: `python -m tools.generate_docs [--check]`."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

from mcptest.cli.commands.registry import COMMANDS, load_command
from mcptest.cli.commands.run import CONDUCTOR_COMMAND as CONDUCTOR
from mcptest.cli.options import render_help
from mcptest.compliance.check import Check
from mcptest.compliance.checks import CHECKS
from mcptest.compliance.report import find_reference
from mcptest.core.strict_json import dump_json
from mcptest.matching.matchers import NAMES_BY_MODULE
from mcptest.matching.registry import DIRECTIVES, Directive, Matcher, Registry
from mcptest.protocol.revisions import REVISIONS
from mcptest.reporters.registry import REPORTERS
from mcptest.rules.all_rules import RULES
from mcptest.rules.rule import Rule
from tools.man_page import man_page

ROOT = Path(__file__).resolve().parent.parent
NOTE = "<!-- Made from the code by `python -m tools.generate_docs`; do not edit. -->\n"


def command_page() -> str:
    """Every command with its help."""
    parts = [NOTE, "# Commands\n", "This is the output of `mcptest COMMAND --help`.\n"]
    for command in (*map(load_command, COMMANDS), CONDUCTOR):
        for each in (command, *command.subcommands.values()):
            parts.append(f"## {each.name}\n\n```text\n{render_help(each)}```\n")
    return "\n".join(parts)


FAMILIES = {
    "Values": "Types and equality.",
    "Text": "Numbers and booleans are compared as written in JSON, unless stated otherwise.",
    "Sizes": "Lengths and counts of any value.",
    "Arrays": "",
    "Numbers": "Numeric strings count as numbers. Calculation is decimal: 0.3 is a multiple of "
    "0.1.",
    "Dates": "A time without a zone is UTC. Four digits in a string are a year; a number "
    "above 10,000,000,000 counts milliseconds, any other seconds.",
    "Formats": "Strings of a certain format. Nothing is looked up and nothing is fetched.",
    "Objects": "",
    "Plugins": "For other checks, write a program in any language.",
}


MATCHER_MODULES = "src/mcptest/matching/matchers"


def matcher_modules() -> list[str]:
    """The modules of matchers in their order; new ones come last."""
    found = (path.stem for path in sorted((ROOT / MATCHER_MODULES).glob("[a-z]*.py")))
    return list(dict.fromkeys([*NAMES_BY_MODULE, *found]))


def matchers_of(module: str) -> tuple[Matcher, ...]:
    found: tuple[Matcher, ...] = import_module(f"mcptest.matching.matchers.{module}").MATCHERS
    return found


def matcher_names() -> str:
    """The module that lists the names of all matchers."""
    lines = []
    for module in matcher_modules():
        names = [f'"{matcher.name}",' for matcher in matchers_of(module)]
        if len(names) == 1:
            lines.append(f'    "{module}": ({names[0]}),')
        else:
            lines += [f'    "{module}": (', *(f"        {name}" for name in names), "    ),"]
    text = (ROOT / MATCHER_MODULES / "__init__.py").read_text(encoding="utf-8")
    head = text[: text.index("= {") + len("= {")]
    return "\n".join([head, *lines, "}"]) + "\n"


def matcher_page() -> str:
    """Every matcher and directive of the registry, by family."""
    names = {each: tuple(m.name for m in matchers_of(each)) for each in matcher_modules()}
    registry = Registry((), DIRECTIVES, names)
    assert {entry.family for entry in registry} == set(FAMILIES)
    parts = [
        NOTE,
        "# Matchers\n",
        "A string that begins with `match:` is a pattern. `match:not:…` negates any of them;\n"
        "it fails if there is no value, at an absent key or a path that does not exist.\n"
        "`match:TEXT` without a known name searches for a regular expression.\n"
        "A misspelt name is an error when the file is loaded; so is a pattern without `match:`\n"
        "and one that no value can match.\n"
        "Values may contain colons: parameters are split only at the first ones.\n",
        "Regular expressions mean what they mean in JavaScript without flags: `\\d`, `\\w` and\n"
        "`\\b` are ASCII only, `.` matches no line break, `$` is the very end, `(?<name>…)` and\n"
        "`\\k<name>` work. Slashes around an expression are part of it. A search has a time\n"
        "limit. On purpose it differs in these points:\n",
        "- `(?i)`, `(?m)` and `(?s)` at the beginning set the flags of these names;\n"
        "- Python's own `(?P<name>…)`, `(?#…)`, `(?>…)` and possessive `a++` are accepted too;\n"
        "- a character beyond U+FFFF is one character, and `\\u{1F600}` names one, as with `u`;\n"
        "- what a look-behind looks for must have one length in each alternative, and `\\p{…}`\n"
        "  is not supported: both are errors when the file is loaded;\n"
        "- a group inside a repetition keeps what it matched in an earlier round: "
        "`(?:(a)|b)*\\1`;\n"
        "- in the tags of [contracts](cases.md), which come from a tool written in Go, `\\A` and\n"
        "  `\\z` are the beginning and the end of the text.\n",
    ]
    for family, words in FAMILIES.items():
        parts += [f"## {family}\n", *([f"{words}\n"] if words else [])]
        parts.append(
            "| pattern | passes when | for example | passes | fails |\n|---|---|---|---|---|"
        )
        parts += [_row(entry) for entry in registry if entry.family == family]
        parts.append("")
    parts += [
        "## Directives, as keys\n",
        "| key | meaning | for example | passes | fails |\n|---|---|---|---|---|",
        *map(_row, registry.directives.values()),
        "\nKeys beside a directive are checked too; the value may have other keys.",
    ]
    return "\n".join(parts) + "\n"


def _row(entry: Matcher | Directive) -> str:
    if isinstance(entry, Matcher):
        name = ":".join([entry.name, *entry.parameters])
    else:
        name = f"match:{entry.name}"
    cells = (f"`{_cell(name)}`", _cell(entry.summary), f"`{_cell(entry.example)}`")
    values = (", ".join(map(_value, each)) for each in (entry.passes, entry.fails))
    return f"| {' | '.join((*cells, *values))} |"


def _value(value: object) -> str:
    return f"`{_cell(dump_json(value))}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def rule_page() -> str:
    """Every rule about sessions and every active check, by family."""
    parts = [
        NOTE,
        "# Rules and checks, by id\n",
        "What [a server is checked for](compliance.md), the revisions of the protocol that have\n"
        "it, and the page and section of the newest of them. Breaking a MUST is a failure,\n"
        "breaking a SHOULD a warning.\n",
        "*Passive* rules look at messages: in every run, in captures, and while a server is\n"
        "checked. *Active* checks send something: `mcptest compliance run` makes them. Some need\n"
        "a [hint](compliance.md#hints). *Shared* are checks that servers with any SDK fail: they\n"
        "give a warning, which does not count. *Covers* names the rules that stay silent about a\n"
        "message if this rule reports it.\n",
    ]
    entries: list[Rule | Check] = [*CHECKS, *RULES]
    entries.sort(key=lambda each: each.id)
    order = dict.fromkeys(rule.id.partition("-")[0] for rule in RULES)
    families = dict.fromkeys([*order, *(each.id.partition("-")[0] for each in entries)])
    for family in families:
        parts.append(
            f"## {family}\n\n"
            "| id | name | what holds | level | revisions | how | section | covers |\n"
            "|---|---|---|---|---|---|---|---|"
        )
        parts += [_rule_row(each) for each in entries if each.id.partition("-")[0] == family]
        parts.append("")
    return "\n".join(parts)


def _rule_row(entry: Rule | Check) -> str:
    level = f"MUST since {entry.must_since}" if entry.must_since else entry.level
    how = "passive"
    if isinstance(entry, Check):
        words = ("active", f"needs `{entry.hint}`" if entry.hint else "")
        how = ", ".join(word for word in (*words, "shared" if entry.is_shared else "") if word)
    place = find_reference(entry, entry.until or [*REVISIONS][-1])
    link = f"[{place.page}, {place.section}]({place.url})" if place.page else ""
    covers = ", ".join(entry.covers) if isinstance(entry, Rule) else ""
    rest = (level, _revisions(entry), how, link, covers)
    cells = (entry.id, entry.name, _cell(entry.property), *rest)
    return f"| {' | '.join(cells)} |"


def _revisions(rule: Rule | Check) -> str:
    if rule.since == rule.until:
        return f"only {rule.since}" if rule.since else "all"
    bounds = (("since", rule.since), ("until", rule.until))
    return " ".join(f"{word} {version}" for word, version in bounds if version)


def report_page() -> str:
    """The page about reports as it is, with a fresh table of reporters between its two marks."""
    page = (ROOT / "docs/reports.md").read_text(encoding="utf-8")
    begin, end = "<!-- reporters: made from the code -->\n", "<!-- end of reporters -->\n"
    before, rest = page.split(begin)
    rows = [f"| [{name}](#{name}) | {entry.purpose} |" for name, entry in REPORTERS.items()]
    table = "\n".join(["| reporter | for |", "|---|---|", *rows])
    return f"{before}{begin}\n{table}\n\n{end}{rest.partition(end)[2]}"


def running_page() -> str:
    """The page about running as it is, with the table of exit codes of the README."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    start = readme.index("| exit code | meaning |\n")
    table = readme[start : readme.index("\n\n", start)]
    page = (ROOT / "docs/running.md").read_text(encoding="utf-8")
    begin, end = "<!-- exit codes: from README.md -->\n", "<!-- end of exit codes -->\n"
    before, rest = page.split(begin)
    return f"{before}{begin}\n{table}\n\n{end}{rest.partition(end)[2]}"


PAGES = {
    f"{MATCHER_MODULES}/__init__.py": matcher_names,
    "docs/commands.md": command_page,
    "docs/matchers.md": matcher_page,
    "docs/mcptest.1": man_page,
    "docs/reports.md": report_page,
    "docs/rules.md": rule_page,
    "docs/running.md": running_page,
}


def main() -> int:
    stale = []
    for name, build in PAGES.items():
        path = ROOT / name
        fresh = build()
        if not path.exists() or path.read_text(encoding="utf-8") != fresh:
            stale.append(name)
            if "--check" not in sys.argv:
                path.write_text(fresh, encoding="utf-8")
    print("\n".join(stale) or "up to date")
    return 1 if stale and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
