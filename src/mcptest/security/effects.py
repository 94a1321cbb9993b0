"""Tools that do more than they should: SEC-030 to SEC-033, for tools that the user names.

The proof is an effect, never an answer: the content of a file outside the root comes back, a file
appears, a server on this machine is asked, a folder changes. What a tool is given and what would
prove something are different random words, so that an echo proves nothing. All files that are
made for this are removed at the end.
"""

from __future__ import annotations

import base64
import contextlib
import os
import shutil
import stat
import tempfile
import time

from mcptest.core.schema_walk import SchemaWalker, dict_at
from mcptest.core.secrets import split_words
from mcptest.core.strict_json import dump_json
from mcptest.core.text import excerpt, join_words, render_path, visible
from mcptest.core.value_class import Record
from mcptest.explore.arguments import sample_arguments
from mcptest.security.rules import make_finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, Self

    from mcptest.core.security import SecurityFinding
    from mcptest.security.rules import Definition

    # Arguments of the tool → its whole answer, or a sentence that says why there is none.
    Call = Callable[[dict[str, Any]], dict[str, Any] | str]

__all__ = ["Canaries", "find_changes", "probe_tool"]

_PATH_WORDS = frozenset(
    [
        *("path", "paths", "file", "files", "filename", "filenames", "filepath", "dir"),
        *("directory", "folder", "uri", "src", "source", "location", "document", "image"),
    ]
)
_URL_WORDS = frozenset(
    [
        *("url", "urls", "uri", "uris", "link", "links", "href", "endpoint", "webhook", "callback"),
        *("site", "website", "feed", "page", "host", "hostname", "address", "src", "source"),
    ]
)
# An argument that takes a URL without its scheme.
_HOST_WORDS = frozenset(["host", "hostname", "address"])
# An argument that takes a program runs it on purpose.
_PROGRAM_WORDS = frozenset(["cmd", "command", "commands", "code", "script", "shell", "program"])

_MAX_ARGUMENTS = 8
# How long all probes of one tool may take.
_TOOL_S = 120.0
# How long a file may need to appear after the answer.
_SETTLE_S = 0.3
_MAX_SNAPSHOT_ENTRIES = 20_000


class Canaries:
    """Files outside the root, while it is entered; `root` is where tools may read.

    `notes` says which of them could not be made.
    """

    def __init__(self, root: str) -> None:
        self.root = os.path.realpath(root)
        self.notes: list[str] = []
        # What was made and is removed at the end.
        self._paths: list[str] = []
        self.word = os.urandom(12).hex()
        self.file_word = os.urandom(8).hex()
        # Where a shell would make files.
        self.scratch = ""
        # How each path leads out of the root, and the path of a folder with a canary in it.
        self.ways: list[tuple[str, str]] = []

    def __enter__(self) -> Self:
        try:
            self._make_files()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for path in reversed(self._paths):
            with contextlib.suppress(OSError):
                if os.path.islink(path):
                    os.unlink(path)
                else:
                    shutil.rmtree(path)

    @property
    def file_name(self) -> str:
        """The name of a canary; it holds a word that no argument has unless it names the file."""
        return f"{self.file_word}.txt"

    def _make_files(self) -> None:
        self.scratch = os.path.realpath(tempfile.mkdtemp(prefix="mcptest-security-"))
        self._paths.append(self.scratch)
        outside = os.path.join(self.scratch, "outside")
        if os.path.commonpath([self.root, outside]) == self.root:
            return
        self._write(outside)
        relative = os.path.relpath(outside, self.root)
        self.ways += [
            ("..", relative),
            (".. below the root", os.path.join(self.root, relative)),
            ("an absolute path", outside),
            ("%2e%2e", relative.replace("..", "%2e%2e")),
            ("..%2f", relative.replace("../", "..%2f")),
            ("a file URI", f"file://{outside}"),
        ]
        # A folder whose name begins with that of the root.
        sibling = f"{self.root}-mcptest-{os.urandom(4).hex()}"
        # Also if its file cannot be written; what does not exist is not removed.
        self._paths.append(sibling)
        if self._try(lambda: self._write(sibling), "a folder beside the root"):
            self.ways.append(("a folder beside the root whose name begins like it", sibling))
        link = os.path.join(self.root, f"mcptest-{os.urandom(4).hex()}")
        if self._try(lambda: os.symlink(outside, link), "a link inside the root"):
            self._paths.append(link)
            self.ways += [
                ("a symbolic link", link),
                ("a symbolic link", os.path.relpath(link, self.root)),
            ]

    def _write(self, folder: str) -> None:
        os.mkdir(folder)
        with open(os.path.join(folder, self.file_name), "w", encoding="ascii") as file:
            file.write(f"{self.word}\n")

    def _try(self, make: Callable[[], object], what: str) -> bool:
        try:
            make()
        except OSError as error:
            self.notes.append(f"SEC-030: {what} could not be made: {error.strerror}")
            return False
        return True

    def is_revealed_in(self, answer: object, value: str) -> bool:
        """True if an answer holds what only a canary holds; `value` is the argument."""
        text = dump_json(answer)
        encoded = base64.b64encode(f"{self.word}\n".encode()).decode()[:-4]
        is_listed = self.file_word in text and self.file_word not in value
        return self.word in text or encoded in text or is_listed


class _Argument(Record):
    """A string argument of a tool; `is_list` if it takes several."""

    name: str
    is_list: bool
    is_uri: bool

    @property
    def words(self) -> frozenset[str]:
        return frozenset(split_words(self.name))

    def put(self, value: str) -> object:
        return [value] if self.is_list else value


def probe_tool(
    tool: Definition,
    call: Call,
    canaries: Canaries,
    wants: Callable[[str], bool],
    notes: list[str],
    deadline: float,
) -> Iterator[SecurityFinding]:
    """SEC-030 to SEC-032 for one tool, by a deadline; `wants` says which of them are asked for."""
    schema = tool.value.get("inputSchema")
    sample = sample_arguments(schema).arguments
    arguments = list(_list_string_arguments(schema))
    began = time.monotonic()
    deadline = min(began + _TOOL_S, deadline)

    def attempt(argument: _Argument, value: str) -> object:
        if time.monotonic() > deadline:
            raise _OutOfTimeError
        return call({**sample, argument.name: argument.put(value)})

    paths = [each for each in arguments if each.words & _PATH_WORDS] or arguments
    plain = [each for each in arguments if not each.words & _PROGRAM_WORDS]
    urls = [each for each in arguments if each.is_uri or each.words & _URL_WORDS]
    for id, chosen in (("SEC-030", paths), ("SEC-031", plain), ("SEC-032", urls)):
        if wants(id) and len(chosen) > _MAX_ARGUMENTS:
            notes.append(
                f"{id} for {tool.label}: only the first {_MAX_ARGUMENTS} arguments are probed"
            )
    try:
        for argument in paths[:_MAX_ARGUMENTS] if wants("SEC-030") else ():
            yield from _find_escape(tool, argument, canaries, attempt)
        for argument in plain[:_MAX_ARGUMENTS] if wants("SEC-031") else ():
            yield from _find_shell(tool, argument, canaries, attempt, sample)
        if urls and wants("SEC-032"):
            yield from _find_requests(tool, urls[:_MAX_ARGUMENTS], attempt)
    except _OutOfTimeError:
        taken_s = time.monotonic() - began
        notes.append(f"{tool.label}: not all probes were made: {taken_s:.0f} s were over")


class _OutOfTimeError(Exception):
    """There is no time for further calls."""


def _list_string_arguments(schema: object) -> Iterator[_Argument]:
    walker = SchemaWalker(schema)
    for name, part in dict_at(walker.root().schema, "properties").items():
        for branch in walker.branches(part):
            kind, is_list = branch.get("type"), False
            if kind == "array":
                branch, is_list = walker.resolve(branch.get("items")).schema, True
                kind = branch.get("type")
            if kind == "string" and "enum" not in branch and "const" not in branch:
                is_uri = branch.get("format") in ("uri", "url", "iri")
                yield _Argument(name=name, is_list=is_list, is_uri=is_uri)
                break


def _make_finding(
    id: str, tool: Definition, argument: _Argument, message: str, evidence: str
) -> SecurityFinding:
    said = f'{tool.label}: the argument "{excerpt(argument.name, 80)}" {message}'
    path = render_path((*tool.steps, "inputSchema", "properties", argument.name))
    return make_finding(id, path, said, tool.fingerprint, evidence=evidence)


# SEC-030: paths


def _find_escape(
    tool: Definition,
    argument: _Argument,
    canaries: Canaries,
    attempt: Callable[[_Argument, str], object],
) -> Iterator[SecurityFinding]:
    worked: dict[str, str] = {}
    for how, folder in canaries.ways:
        for value in (f"{folder}/{canaries.file_name}", folder):
            answer = attempt(argument, value)
            if canaries.is_revealed_in(answer, value):
                worked.setdefault(how, value)
                break
    if worked:
        message = f"leads out of the root {visible(canaries.root)}: {join_words(list(worked))}"
        how, value = next(iter(worked.items()))
        evidence = f"with {how}, {value}, the content of a file outside came back"
        yield _make_finding("SEC-030", tool, argument, message, evidence)


# SEC-031: a shell

_PAYLOADS = (
    "{0}; touch {1}",
    "{0} | touch {1}",
    "{0} && touch {1}",
    "{0} || touch {1}",
    "$(touch {1})",
    "`touch {1}`",
    '{0}"; touch {1}; "',
    "{0}'; touch {1}; '",
    "{0}\ntouch {1}\n",
)


def _find_shell(
    tool: Definition,
    argument: _Argument,
    canaries: Canaries,
    attempt: Callable[[_Argument, str], object],
    sample: dict[str, Any],
) -> Iterator[SecurityFinding]:
    usual = sample.get(argument.name)
    usual = usual if isinstance(usual, str) else "example"
    tried: dict[str, str] = {}
    for payload in _PAYLOADS:
        file = os.path.join(canaries.scratch, os.urandom(6).hex())
        value = payload.format(usual, file)
        tried[file] = value
        attempt(argument, value)
        if os.path.exists(file):
            break
    else:
        # A command may run on after the answer.
        time.sleep(_SETTLE_S)
    for file, value in tried.items():
        if os.path.exists(file):
            evidence = f"given {value!r}, the file was made"
            yield _make_finding("SEC-031", tool, argument, "is run by a shell", evidence)
            return


# SEC-032: URLs

# This machine, in forms that careless filters do not know.
_HOSTS = ("127.0.0.1", "localhost", "127.1", "2130706433", "0.0.0.0", "[::ffff:127.0.0.1]")


def _find_requests(
    tool: Definition, arguments: list[_Argument], attempt: Callable[[_Argument, str], object]
) -> Iterator[SecurityFinding]:
    # Sockets and threads, which no other rule needs.
    from mcptest.transport.http.probe import CanaryServer  # noqa: PLC0415

    with CanaryServer() as server:
        for argument in arguments:
            # No one else knows the port, and a polite client asks for robots.txt first.
            server.targets.clear()
            urls = [f"http://{host}:{server.port}/{os.urandom(8).hex()}" for host in _HOSTS]
            if argument.words & _HOST_WORDS:
                urls.append(f"{_HOSTS[0]}:{server.port}")
            url = ""
            for url in urls:
                attempt(argument, url)
                if server.targets:
                    break
            else:
                time.sleep(_SETTLE_S)
            if server.targets:
                evidence = f"given {url}, it sent: {server.targets[0]}"
                yield _make_finding("SEC-032", tool, argument, "reaches this machine", evidence)


# SEC-033: changes


def find_changes(
    tool: Definition, call: Call, root: str, left_out: dict[str, str]
) -> Iterator[SecurityFinding]:
    """SEC-033 for one tool; `left_out` gets the reason if it cannot be judged.

    It must be the first call of the tool: some change something only once.
    """
    hints = tool.value.get("annotations")
    if not isinstance(hints, dict) or hints.get("readOnlyHint") is not True:
        return
    root = os.path.realpath(root)
    before = _take_snapshot(root)
    time.sleep(_SETTLE_S)
    # A folder that changes by itself proves nothing.
    if before is None or _take_snapshot(root) != before:
        why = "is too large" if before is None else "changes by itself"
        left_out["SEC-033"] = f"{tool.label}: the folder {visible(root)} {why}"
        return
    call(sample_arguments(tool.value.get("inputSchema")).arguments)
    time.sleep(_SETTLE_S)
    after = _take_snapshot(root)
    if after is None or after == before:
        return
    changed = sorted(
        path for path in before.keys() | after.keys() if before.get(path) != after.get(path)
    )
    message = f"{tool.label}: readOnlyHint is true, and a call of it changed the folder {root}"
    evidence = "changed: " + ", ".join(excerpt(path, 80) for path in changed[:5])
    path = render_path((*tool.steps, "annotations", "readOnlyHint"))
    yield make_finding("SEC-033", path, message, tool.fingerprint, evidence=evidence)


def _take_snapshot(root: str) -> dict[str, tuple[int, ...]] | None:
    """Kind, size and time of change of everything in a folder; None if that is too much."""
    found: dict[str, tuple[int, ...]] = {}
    pending = [root]
    while pending:
        try:
            entries = list(os.scandir(pending.pop()))
        except OSError:
            continue
        for entry in entries:
            with contextlib.suppress(OSError):
                status = entry.stat(follow_symlinks=False)
                is_folder = stat.S_ISDIR(status.st_mode)
                times = () if is_folder else (status.st_size, status.st_mtime_ns)
                found[os.path.relpath(entry.path, root)] = (stat.S_IFMT(status.st_mode), *times)
                # Compiled by the interpreter of the server, not by the tool.
                if is_folder and entry.name not in ("__pycache__", ".git", "node_modules"):
                    pending.append(entry.path)
        if len(found) > _MAX_SNAPSHOT_ENTRIES:
            return None
    return found
