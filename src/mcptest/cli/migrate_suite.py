"""A suite as the files of another format: one for each server, named after it."""

from __future__ import annotations

import json
import os
import re

from mcptest.cli.migrate_files import Place, setting_for
from mcptest.cli.migrate_writing import SOURCE, Migrated, needed_by_server
from mcptest.core.errors import UsageError
from mcptest.core.record import Record
from mcptest.core.text import visible
from mcptest.formats.suite_parts import read_parts
from mcptest.migrate.cases_writing import write_cases
from mcptest.migrate.conductor_writing import write_conductor
from mcptest.migrate.config_servers import config_server
from mcptest.migrate.remarks import LeftBehindError, Remark
from mcptest.migrate.suite_reading import read_entries
from mcptest.runner.discovery import (
    CASE_ENDINGS,
    CONDUCTOR_ENDINGS,
    CONFIG_NAMES,
    find_config,
    read_text,
)
from mcptest.runner.quoting import SuiteFolders

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcptest.formats.suite_parts import Parts
    from mcptest.migrate.drafts import Draft
    from mcptest.migrate.pattern_words import Setting
    from mcptest.migrate.suite_reading import SuiteEntries

    Mapping = dict[str, object]

__all__ = ["file_names", "suite_files"]

_ENDINGS = {"conductor": CONDUCTOR_ENDINGS, "cases": CASE_ENDINGS}
# A name of a file has 255 bytes, and others want some of them.
_MOST_MARK_CHARS = 80
_USUAL = {"conductor": CONDUCTOR_ENDINGS[0], "cases": CASE_ENDINGS[2]}


class _Job(Record):
    """What all files of one migration have in common.

    `config` is the config to write beside the only file, "" when its server stands in it;
    `sources` are the files of the suite.
    """

    to: str
    target: str
    place: Place
    entries: SuiteEntries
    config: str
    plugins: Mapping
    sources: dict[str, str]


def suite_files(file: str, to: str, target: str) -> Migrated:
    """The new files, one for each server that has tests."""
    if target and not target.endswith(_ENDINGS[to]):
        message = f"{visible(target)} would not be read in this format"
        raise UsageError(message, f"for example -o server{_USUAL[to]}")
    parts = _parts(file)
    entries = read_entries(parts)
    config = _config_beside(target) if to == "conductor" and len(entries.by_server) == 1 else ""
    folder = os.path.dirname(target)
    # A plugin runs in the folder of the file that declares it.
    is_same = os.path.abspath(folder) == parts.files[0].folder and len(parts.files) == 1
    main = parts.files[0] if config and is_same else None
    imports = main.top.mapping.get("imports") if main else None
    job = _Job(
        to=to,
        target=target,
        place=Place(folder, main.plugins if main else ()),
        entries=entries,
        config=config,
        plugins=imports if isinstance(imports, dict) else {},
        sources={
            os.path.join(part.folder, os.path.basename(part.file)): SOURCE for part in parts.files
        },
    )
    return _files(job)


def _parts(file: str) -> Parts:
    home = os.path.abspath(os.path.dirname(file))
    read_beside = SuiteFolders((file,)).reader_beside(file)
    return read_parts(read_text(file), file, home, read_beside, os.path.realpath)


def _config_beside(target: str) -> str:
    """The config to write; "" without a folder for it, or where there is one already."""
    folder = os.path.dirname(target)
    if not target or find_config(folder or "."):
        return ""
    return os.path.join(folder, CONFIG_NAMES[0])


def _files(job: _Job) -> Migrated:
    by_server = job.entries.by_server
    if len(by_server) > 1 and not job.target:
        names = ", ".join(map(visible, by_server))
        message = f"the suite has {len(by_server)} servers ({names}), so it becomes several files"
        raise UsageError(message, f"-o NAME{_USUAL[job.to]} says what they are called")
    texts: dict[str, str] = {}
    needed = dict(job.sources)
    remarks = list(job.entries.remarks)
    paths = file_names(job.target, tuple(by_server), _ENDINGS[job.to])
    for name, drafts in by_server.items():
        try:
            server = config_server(name, job.entries, job.place.folder)
        except LeftBehindError as error:
            file = job.entries.owners[name].file
            remarks.append(Remark(file=file, line=0, what=name, reason=error.reason))
            continue
        needed.update(_needed(job, server.keys))
        remarks += server.remarks
        made, told = _of_server(job, paths[name], server.keys, drafts)
        texts.update(made)
        remarks += told
    # What is true of a whole file is said by each server that has tests in it.
    return Migrated(texts=texts, remarks=tuple(dict.fromkeys(remarks)), needed=needed)


def _needed(job: _Job, keys: Mapping) -> dict[str, str]:
    words = keys["args"]
    named = [keys["command"], *(words if isinstance(words, list) else [])]
    return needed_by_server(named, [os.path.join(job.place.folder, str(keys.get("cwd") or "."))])


def _of_server(
    job: _Job, path: str, keys: Mapping, drafts: Sequence[Draft]
) -> tuple[dict[str, str], Sequence[Remark]]:
    place = job.place

    def settings(file: str) -> Setting:
        return setting_for(file, place)

    if job.to == "cases":
        contract = write_cases(keys, drafts, settings, place.mistake_in_cases)
        return ({path: contract.text} if contract.text else {}), contract.remarks
    inline = {} if job.config else keys
    title = job.entries.title or str(keys["name"])
    made = write_conductor(title, inline, drafts, settings, place.mistake_in_conductor)
    texts = {path: made.text} if made.text else {}
    if texts and job.config:
        texts[job.config] = _config_text(job, keys)
    return texts, made.remarks


def _config_text(job: _Job, keys: Mapping) -> str:
    matchers = job.plugins.get("subprocess_matchers")
    imports = {"imports": {"subprocess_matchers": matchers}} if matchers else {}
    return json.dumps({**keys, **imports}, indent=2, ensure_ascii=False) + "\n"


def file_names(target: str, servers: Sequence[str], endings: Sequence[str]) -> dict[str, str]:
    """The name of the file for each server: `target` for the only one.

    No two of them are the same, not on a disk either that takes a and A for equal.
    """
    if len(servers) == 1:
        return {servers[0]: target}
    ending = next((each for each in endings if target.endswith(each)), "")
    taken: set[str] = set()
    found: dict[str, str] = {}
    for server in servers:
        mark = _unused(_mark(server), taken)
        taken.add(mark.lower())
        found[server] = f"{target.removesuffix(ending)}.{mark}{ending}"
    return found


def _mark(server: str) -> str:
    """What of the name of a server can stand in the name of a file."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", server)[:_MOST_MARK_CHARS].strip("-") or "server"


def _unused(mark: str, taken: set[str]) -> str:
    found, number = mark, 1
    while found.lower() in taken:
        number += 1
        found = f"{mark}-{number}"
    return found
