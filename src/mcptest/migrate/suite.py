"""Write the tests of one or more files as one suite."""

from __future__ import annotations

import posixpath
import re

from mcptest.core.project import schema_comment
from mcptest.core.strict_json import dump_json
from mcptest.core.value_class import Record
from mcptest.formats.config import (
    AUTH_KEYS,
    GRANT_KEYS,
    HTTP_KEYS,
    SETTINGS,
    camel_case,
    fill_argument_secrets,
)
from mcptest.formats.fields import NAME
from mcptest.formats.yaml.writer import render_compact
from mcptest.migrate.drafts import Note, drop_empty, escape_references
from mcptest.migrate.matchers import is_plain
from mcptest.protocol.revisions import REVISIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mcptest.migrate.drafts import Draft, Source

    Mapping = dict[str, object]
    # Returns what is wrong with the text of a suite, "" if nothing is.
    Check = Callable[[str], str]

__all__ = ["ServerConfig", "SuiteServer", "convert_server", "write_suite"]

# The key of a call, and the section of a suite that lists such calls.
_SECTION_OF = {"tool": "tools", "uri": "resources", "prompt": "prompts"}
_SECTIONS = tuple(_SECTION_OF.values())
_STEP_ORDER = ("name", *_SECTION_OF, "args", "capture", "expect")
# How the text is laid out.
_BLOCKS = ("expect", "assertions")
_ENTRIES = ("servers", "steps", *_SECTIONS)


def write_suite(
    files: Sequence[tuple[Source, SuiteServer]], check: Check
) -> tuple[str, tuple[Note, ...]]:
    """Return the text of one suite with the tests of all files, and all notes.

    The text is "" if no test can be carried over. A test that `check` finds a mistake in is
    left behind.
    """
    writer = _Writer(files)
    text = writer.render()
    if text and check(text):
        writer.drop_mistakes(check)
        text = writer.render()
    return text, tuple(writer.notes)


class _Writer:
    """Collects the tests of all files as entries, each with the name of its server."""

    def __init__(self, files: Sequence[tuple[Source, SuiteServer]]) -> None:
        self.notes: list[Note] = []
        self._title = ", ".join(dict.fromkeys(file.title for file, _ in files if file.title))
        self._servers: Mapping = {}
        self._variables: Mapping = {}
        self._entries: list[tuple[str, Draft]] = []
        for source, server in files:
            self._add(source, server, is_alone=len(files) == 1)

    def _add(self, source: Source, server: SuiteServer, *, is_alone: bool) -> None:
        drafts, losses = _join_dependent(source.drafts)
        self.notes += [*source.notes, *losses]
        if server.value.get("isolation") == "test":
            joined = [draft for draft in drafts if _is_joined(draft)]
            drafts = [draft for draft in drafts if not _is_joined(draft)]
            reason = "its tests share a value, but each runs in a process of its own"
            self.notes += [draft.lose(reason) for draft in joined]
        if not drafts:
            return
        self.notes += server.notes
        self._variables.update(server.variables)
        # An equal server is shared if possible.
        name, number = server.name, 1
        while name in self._servers and (
            server.is_for_one_file or self._servers[name] != server.value
        ):
            number += 1
            name = f"{server.name}-{number}"
        self._servers[name] = server.value
        for draft in drafts:
            marks = dict(draft.marks)
            if not is_alone and marks.pop("only", False):
                reason = "only: it would also exclude the tests of the other files"
                self.notes.append(draft.lose(reason))
            self._entries.append((name, draft.but(marks=marks)))

    def render(self) -> str:
        """Return the text of the suite, "" if it has no tests."""
        if not self._entries:
            return ""
        used = {server for server, _ in self._entries}
        servers = {name: value for name, value in self._servers.items() if name in used}
        sections: dict[str, list[object]] = {section: [] for section in _SECTIONS}
        for server in servers:
            drafts = [draft for name, draft in self._entries if name == server]
            for draft, section in zip(drafts, _choose_sections(drafts), strict=True):
                entry = _render_entry(draft, section, server if len(servers) > 1 else "")
                sections[section].append(entry)
        document = {"name": self._title, "servers": servers, "variables": self._variables}
        text = render_compact(
            drop_empty({**document, **sections}), blocks=_BLOCKS, entries=_ENTRIES
        )
        return schema_comment("suite") + text

    def drop_mistakes(self, check: Check) -> None:
        """Leave behind each test that has a mistake even in a suite of its own."""
        entries, kept = self._entries, []
        for entry in entries:
            self._entries = [entry]
            reason = check(self.render())
            if reason:
                self.notes.append(entry[1].lose(reason))
            else:
                kept.append(entry)
        self._entries = kept


def _render_entry(draft: Draft, section: str, server: str) -> Mapping:
    head: Mapping = {"name": draft.name, **({"server": server} if server else {})}
    if "each" in draft.marks:
        head["each"] = draft.marks["each"]
        draft = draft.but(marks={key: draft.marks[key] for key in draft.marks if key != "each"})
    steps = [{key: step[key] for key in _STEP_ORDER if key in step} for step in draft.steps]
    if len(steps) > 1 or _section_of(draft) != section:
        return {**head, **draft.marks, "steps": steps}
    expect = {"expect": steps[0].pop("expect")} if "expect" in steps[0] else {}
    return {**head, **steps[0], **draft.marks, **expect}


def _choose_sections(drafts: list[Draft]) -> list[str]:
    """Return a section for each test, so that they run in the order of the list.

    A suite runs all tools, then all resources, then all prompts. A test that follows one of a
    later section has to move to that section; as few tests as possible are moved.
    """
    best: list[tuple[int, list[str]]] = [(0, [])] * len(_SECTIONS)
    for draft in drafts:
        own = _section_of(draft)
        longer: list[tuple[int, list[str]]] = []
        for index, section in enumerate(_SECTIONS):
            moved, chosen = min(best[: index + 1], key=lambda found: found[0])
            longer.append((moved + (own not in ("", section)), [*chosen, section]))
        best = longer
    return min(best, key=lambda found: found[0])[1]


def _section_of(draft: Draft) -> str:
    """Return the section of a single call, "" for several steps, which fit in any."""
    if len(draft.steps) > 1:
        return ""
    return next(section for key, section in _SECTION_OF.items() if key in draft.steps[0])


# Tests that share captured values


def _join_dependent(drafts: Sequence[Draft]) -> tuple[list[Draft], list[Note]]:
    """Return the tests, those that share captured values joined as steps, and what is lost.

    In a Conductor file all later tests know a captured value, in a suite only the steps of the
    same entry. So all tests from the one that captures to the last that uses it become one entry.
    """
    waiting, notes = _with_known_values(drafts)
    found: list[Draft] = []
    while waiting:
        count = _count_dependent(waiting)
        group, waiting = waiting[:count], waiting[count:]
        if count == 1:
            found += group
            continue
        found += [draft for draft in group if "skip" in draft.marks]
        joined, losses = _join([draft for draft in group if "skip" not in draft.marks])
        found.append(joined)
        notes += losses
    return found, notes


def _with_known_values(drafts: Sequence[Draft]) -> tuple[list[Draft], list[Note]]:
    """Return the tests whose values are captured by an earlier one of them."""
    known: set[str] = set()
    usable: list[Draft] = []
    notes: list[Note] = []
    for draft in drafts:
        missing = [name for name in draft.needs if name not in known]
        if missing:
            reason = f"it uses {missing[0]}, and the test that captures it is left behind"
            notes.append(draft.lose(reason))
        elif "skip" in draft.marks and draft.needs:
            reason = f"it is skipped, and a single step that uses {draft.needs[0]} cannot be"
            notes.append(draft.lose(reason))
        else:
            usable.append(draft)
            known |= set(draft.captures) if "skip" not in draft.marks else set()
    return usable, notes


def _count_dependent(drafts: list[Draft]) -> int:
    """Return how many tests, from the first one on, belong together."""
    end, index = 1, 0
    while index < end:
        names = set(drafts[index].captures) if "skip" not in drafts[index].marks else set()
        uses = [at for at, draft in enumerate(drafts) if names & set(draft.needs)]
        end = max([end, *(at + 1 for at in uses if at > index)])
        index += 1
    return end


def _join(drafts: list[Draft]) -> tuple[Draft, list[Note]]:
    """Return one test with the others as steps; marks that not all have are lost."""
    first = drafts[0]
    shared = {
        key: value
        for key, value in first.marks.items()
        if all(draft.marks.get(key) == value for draft in drafts) and key != "retries"
    }
    losses = [
        draft.lose(f"{key}: a step cannot have its own")
        for draft in drafts
        for key in draft.marks
        if key not in shared
    ]
    steps = tuple({"name": draft.name, **step} for draft in drafts for step in draft.steps)
    count = len(drafts) - 1
    more = f"and {count} more that build" if count > 1 else "and one more that builds"
    return first.but(name=f"{first.name} ({more} on it)", steps=steps, marks=shared), losses


def _is_joined(draft: Draft) -> bool:
    return "name" in draft.steps[0]


# Servers

# The key of a config, and the key of a server in a suite.
_KEYS = {camel_case(key): key for key in ("inherit_env", *SETTINGS)}
_HTTP_KEYS = {camel_case(key): key for key in (*HTTP_KEYS, *AUTH_KEYS, *GRANT_KEYS)}


class ServerConfig(Record):
    """The keys of a config, the file they are from ("" for none), and the absolute `cwd`."""

    keys: Mapping
    file: str
    cwd: str


class SuiteServer(Record):
    """A server of a suite and the variables that its `env` refers to.

    One `is_for_one_file` is not shared with another file that names the same server.
    """

    name: str
    value: Mapping
    variables: Mapping
    notes: tuple[Note, ...]
    is_for_one_file: bool


def convert_server(
    config: ServerConfig, folder: str, *, handshake: Mapping | None = None
) -> SuiteServer:
    """Return the server for a suite in this folder.

    For a contract, `handshake` are the params of its own `initialize` request, {} without one.
    """
    keys = config.keys
    arguments = keys.get("args")
    command = [keys["command"]] if "command" in keys else []
    command += arguments if isinstance(arguments, list) else []
    cwd = posixpath.relpath(config.cwd, folder) if command else "."
    variables: Mapping = {}
    losses: list[str] = []
    env = _convert_env("env", keys.get("env"), variables, losses)

    def refer(_: int, name: str) -> str:
        variables[name] = {"secret_env": name}
        # What is before it escapes the reference, "$${NAME}".
        return f"{{{name}}}"

    escaped = [str(escape_references(word)) for word in command]
    words = fill_argument_secrets(str(keys.get("command", "")), escaped, refer)
    value: Mapping = {"command": list(words)} if words else {}
    if "url" in keys:
        value["url"] = _refer_to_variables(str(keys["url"]), variables)
        headers = _convert_env("header", keys.get("headers"), variables, losses)
        value |= drop_empty({"headers": headers})
        own = ("url", "headers")
        value |= _rename_http({key: keys[key] for key in _HTTP_KEYS if key in keys.keys() - own})
    value |= drop_empty({"cwd": "" if cwd == "." else escape_references(cwd), "env": env})
    for key, name in _KEYS.items():
        if keys.get(key) is not None:
            value[name] = escape_references(keys[key])
    if handshake is not None:
        _add_handshake(value, handshake)
    if keys.get("strictInvariants"):
        losses.insert(0, "strictInvariants: run the suite with --strict-invariants instead")
    return SuiteServer(
        name=str(keys.get("name") or "server"),
        value=value,
        variables=variables,
        notes=tuple(Note(file=config.file, line=0, test="", reason=why) for why in losses),
        is_for_one_file=value.get("isolation") == "file",
    )


def _add_handshake(server: Mapping, handshake: Mapping) -> None:
    """Give a server the process and the handshake that it has in a contract."""
    if server.get("isolation", "run") == "run":
        server["isolation"] = "file"
    version, capabilities = handshake.get("protocolVersion"), handshake.get("capabilities")
    if version in REVISIONS:
        server.setdefault("protocol_version", version)
    if isinstance(capabilities, dict) and capabilities and is_plain(capabilities):
        client = server.get("client")
        known = client if isinstance(client, dict) else {}
        server["client"] = {**known, "capabilities": escape_references(capabilities)}


def _rename_http(written: Mapping) -> Mapping:
    """Return the keys about HTTP, and those below them, as suites spell them."""
    return {
        _HTTP_KEYS.get(key, key): _rename_http(value)
        if isinstance(value, dict)
        else escape_references(value)
        for key, value in written.items()
    }


def _refer_to_variables(text: str, variables: Mapping) -> str:
    """Return a string whose `${NAME}` refer to variables of the suite, which are added."""

    def add_variable(found: re.Match[str]) -> str:
        name = found[1]
        known = name if re.fullmatch(NAME, name) else "v_" + re.sub(r"\W", "_", name)
        variables[known] = {"secret_env": name}
        return f"${{{known}}}"

    return re.sub(r"\$\{([^}]*)\}", add_variable, text)


def _convert_env(what: str, written: object, variables: Mapping, losses: list[str]) -> Mapping:
    """Return the `env` or the headers of a server; add the variables and what is lost.

    `${NAME}` alone is `secret_env`; inside a longer string it refers to a variable of the suite.
    """
    env: Mapping = {}
    for key, value in (written if isinstance(written, dict) else {}).items():
        text = str(value)
        whole = re.fullmatch(r"\$\{([^}]*)\}", text)
        if whole:
            env[key] = {"secret_env": whole[1]}
        elif "$${" in text:
            losses.append(f"{what} {key}: {dump_json(text)} would be read as an escaped reference")
        else:
            env[key] = _refer_to_variables(text, variables)
    return env
