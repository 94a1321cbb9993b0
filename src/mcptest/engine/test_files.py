"""Find test files by paths, folders and globs, read them, and recognise their format."""

from __future__ import annotations

import errno
import os
import re
import stat
from itertools import dropwhile, islice, takewhile

from mcptest.core.diagnostics import CODES, UNQUOTED, Diagnostic, UnquotedText, closest
from mcptest.core.errors import FormatError, NothingSelectedError, UsageError
from mcptest.core.text import visible
from mcptest.transport import OPEN_FLAGS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from io import BufferedReader
    from typing import Self

__all__ = [
    "CASE_ENDINGS",
    "CONDUCTOR_ENDINGS",
    "CONFIG_NAMES",
    "FORMATS",
    "RECOGNISED_BYTES",
    "SUITE_ENDINGS",
    "SUITE_NAMES",
    "SuiteFolders",
    "begins_like_test_file",
    "find_client_config",
    "find_config",
    "find_test_files",
    "format_of",
    "glob_root",
    "is_client_config",
    "is_suite_name",
    "is_test_name",
    "open_regular",
    "read_now",
    "read_regular",
    "read_text",
    "resolve_inside",
    "resolve_target",
    "suggest_name",
    "why_not",
    "write_all",
]


CONDUCTOR_ENDINGS = (".test.mcp.yml", ".test.mcp.yaml")
CASE_ENDINGS = ("_test.yaml", "_test.yml", ".cases.yaml", ".cases.yml")
SUITE_NAMES = ("mcptest.yaml", "mcptest.yml")
SUITE_ENDINGS = CONDUCTOR_ENDINGS + CASE_ENDINGS + SUITE_NAMES
# Names that other tools use as well.
_SHARED_ENDINGS = ("_test.yaml", "_test.yml")
CONFIG_NAMES = ("conductor.config.json", "mcptest.config.json", "aegis.config.json")
# Where other programs have their servers, and what the file must contain: other files have some
# of these names, too.
_CLIENT_CONFIGS = {
    ".mcp.json": "",
    "claude_desktop_config.json": "",
    ".cursor/mcp.json": "",
    ".vscode/mcp.json": "",
    ".zed/settings.json": "context_servers",
    "server.json": "modelcontextprotocol",
}
_CLIENT_KEYS = ("mcpServers", "servers", "context_servers", "packages", "remotes")
# Comments, keys and other strings, brackets.
_JSON_TOKEN = r'//[^\r\n]*|/\*.*?\*/|"(?:[^"\\]|\\.)*"(?:\s*:)?|[{}\[\]]'

_KNOWN_ENDINGS = f"{CONDUCTOR_ENDINGS[0]}, {CASE_ENDINGS[0]}, {CASE_ENDINGS[2]} or {SUITE_NAMES[0]}"

# Folders that never hold a user's own suites.
_SKIPPED_FOLDERS = frozenset(["node_modules", "__pycache__"])

# How much of a file is read to recognise its format.
RECOGNISED_BYTES = 64 * 1024

# How many folders behind a symbolic link are searched for test files that are not run.
_MAX_LINKED_FOLDERS = 1_000
_MAX_LEFT_OUT = 5


def find_test_files(
    arguments: Iterable[str],
    note: Callable[[str], None] | None = None,
    *,
    has_format: bool = False,
) -> list[str]:
    """The suite files that the arguments name, sorted, each once.

    A `NothingSelectedError` when one of the arguments names no file, or when a folder or a glob
    has something like a test file that would not run; whatever the others name. `note` is called
    with a sentence about each file of a folder or a glob that belongs to another tool, unless the
    format of all files is given, and about what is not a file although it has the name of one.
    """
    found: set[str] = set()
    empty: list[str] = []
    foreign: set[str] = set()
    left_out = _LeftOut()
    for argument in arguments or _default_paths():
        files = set(_files_of(argument, left_out))
        if not has_format and (os.path.isdir(argument) or not os.path.lexists(argument)):
            others = set(filter(_is_foreign, files))
            files -= others
            foreign |= others
        found |= files
        empty += () if files else (argument,)
    mistakes = left_out.describe(found)
    why = "it is not a test file of mcptest (no message under in or out); name it to check it"
    notes = _describe_skipped(dict.fromkeys(foreign - found, why))
    notes += _describe_skipped(left_out.no_files)
    if empty:
        mistakes += [_describe_empty(empty if arguments else []), *notes]
    if mistakes:
        raise NothingSelectedError("; ".join(mistakes))
    for each in notes if note else ():
        assert note
        note(each)
    return sorted(found)


def _describe_empty(named: Sequence[str]) -> str:
    """The sentence that there is no test file in what the user named, or in this folder."""
    shown = []
    for path in named:
        root = glob_root(path)
        missing = "" if os.path.isdir(root) else f" (there is no folder {visible(root)!r})"
        shown.append(f"{visible(path)}{missing}")
    advice = "" if shown else "; mcptest init and mcptest discover write a first one"
    where = ", ".join(shown) or "this folder"
    return f"no test file found in {where}; test files end in {_KNOWN_ENDINGS}{advice}"


def _is_foreign(path: str) -> bool:
    """Whether a file only has the name of a test file: helm, for example, has `*_test.yaml` too.

    The other names are ours, so a file with one of them is checked whatever it contains.
    """
    if not path.endswith(_SHARED_ENDINGS):
        return False
    try:
        with open(open_regular(path), "rb") as file:
            return not begins_like_test_file(path, read_now(file, RECOGNISED_BYTES))
    except OSError:
        # Reported when it is read.
        return False


def _describe_skipped(files: dict[str, str]) -> list[str]:
    """A sentence about each of these files, given with the reasons."""
    notes = [f"skipped {visible(each)}: {why}" for each, why in sorted(files.items())]
    more = len(notes) - _MAX_LEFT_OUT
    return notes[:_MAX_LEFT_OUT] + ([f"skipped {more:,} more of the kind"] if more > 0 else [])


def _files_of(argument: str, left_out: _LeftOut) -> Iterable[str]:
    """The suite files that one argument names."""
    if os.path.isdir(argument):
        return _suites_below(argument, left_out)
    if os.path.lexists(argument):
        if not os.path.exists(argument):
            raise UsageError(_why_broken(argument))
        _refuse_other_files(argument)
        return [os.path.normpath(argument)]
    if re.search(_BRACES, argument):
        raise _braces_error(argument)
    if not _is_glob(argument):
        question = suggest_name(argument)
        raise UsageError(f"there is no file or folder {visible(argument)!r}{question}")
    return _expand(argument, left_out)


class _LeftOut:
    """Files in folders and globs that look like tests and are not run.

    `no_files` are pipes, devices and links in a circle, with the reason: whatever is in them is not
    a test of the user. `broken` are files that cannot be read; `linked` are folders behind
    symbolic links, with the test files in them.
    """

    def __init__(self) -> None:
        self.no_files: dict[str, str] = {}
        self._broken: dict[str, str] = {}
        self._linked: dict[str, list[str]] = {}

    def add_file(self, path: str) -> None:
        try:
            os.stat(path)
            self.no_files[path] = _NOT_REGULAR
        except OSError as error:
            if error.errno == errno.ELOOP:
                self.no_files[path] = "it is a symbolic link that leads in a circle"
            else:
                self._broken[path] = _why_broken(path)

    def add_folder(self, link: str, is_wanted: Callable[[str], object]) -> None:
        """Look for test files behind a link, without following further ones."""
        real = os.path.realpath(link)
        parent = os.path.realpath(os.path.dirname(link))
        if os.path.commonpath([real, parent]) == real:
            # The link leads to a folder that contains it.
            return
        walked = _walk(link, _SKIPPED_FOLDERS, is_strict=False)
        paths = (
            os.path.normpath(os.path.join(parent, name))
            for parent, _, files in islice(walked, _MAX_LINKED_FOLDERS)
            for name in files
        )
        tests = [path for path in paths if is_wanted(path) and os.path.isfile(path)]
        if tests:
            self._linked[link] = tests

    def describe(self, found: Iterable[str]) -> list[str]:
        """A sentence for each of them, except folders whose tests are found in another way."""
        mistakes = list(self._broken.values())
        known = set(map(os.path.realpath, found)) if self._linked else set()
        for link, tests in self._linked.items():
            missed = [path for path in tests if os.path.realpath(path) not in known]
            if missed:
                mistakes.append(
                    f"{visible(link)} is a symbolic link to a folder, which is not followed, and "
                    f"{visible(missed[0])} is in it: name the folder itself too, or remove the link"
                )
        more = len(mistakes) - _MAX_LEFT_OUT
        return mistakes[:_MAX_LEFT_OUT] + ([f"and {more:,} more of the kind"] if more > 0 else [])


def _why_broken(path: str) -> str:
    """Why this is not a file that can be read, in a sentence."""
    try:
        os.stat(path)
    except OSError as error:
        if isinstance(error, FileNotFoundError) and os.path.islink(path):
            target = visible(os.readlink(path))
            return f"{visible(path)} is a symbolic link to {target}, which does not exist"
        return f"{visible(path)} cannot be read: {error.strerror}"
    return f"{visible(path)} is not a regular file"


def _default_paths() -> tuple[str, ...]:
    """The suite of this folder; where there is none, every test file below it."""
    suites = tuple(name for name in SUITE_NAMES if os.path.isfile(name))
    if len(suites) > 1:
        message = f"there are both {' and '.join(suites)}; which one is meant?"
        raise UsageError(message, f"name it: mcptest run {suites[0]}")
    return suites or (".",)


def is_suite_name(path: str) -> bool:
    """Whether a file is called `mcptest.yaml`, or `weather.mcptest.yaml` beside others."""
    name = os.path.basename(path)
    return name in SUITE_NAMES or name.endswith(tuple(f".{each}" for each in SUITE_NAMES))


def is_test_name(path: str) -> bool:
    """Whether a file has a name that test files have."""
    return path.endswith(CONDUCTOR_ENDINGS + CASE_ENDINGS) or is_suite_name(path)


def suggest_name(path: str) -> str:
    """The name that was probably meant, among those beside it, as a question."""
    folder, name = os.path.split(path)
    try:
        names = os.listdir(folder or ".")
    except OSError:
        return ""
    meant = closest(name, names)
    return f"; did you mean {visible(os.path.join(folder, meant))!r}?" if meant else ""


def _refuse_other_files(path: str) -> None:
    """Refuse files that are given instead of test files by mistake."""
    name = os.path.basename(path)
    if name in CONFIG_NAMES:
        raise UsageError(
            f"{visible(path)} is a config, not a test file", f"give it as --config {path}"
        )
    if os.path.isfile(path) and not name.endswith((".yml", ".yaml", ".json")):
        raise UsageError(
            f"{visible(path)} is not a test file; test files end in {_KNOWN_ENDINGS}",
            "rows run with the test that names their file; -k TEXT selects some of them"
            if name.endswith(".csv")
            else "a server is started with --server-command",
        )


def _suites_below(folder: str, left_out: _LeftOut) -> Iterable[str]:
    for parent, folders, files in _walk(folder, _SKIPPED_FOLDERS):
        for name in files:
            if is_test_name(name):
                path = os.path.normpath(os.path.join(parent, name))
                if os.path.isfile(path):
                    yield path
                else:
                    left_out.add_file(path)
        for name in folders:
            path = os.path.normpath(os.path.join(parent, name))
            if os.path.islink(path):
                left_out.add_folder(path, is_test_name)


def _walk(
    folder: str, skipped: frozenset[str], *, is_strict: bool = True
) -> Iterable[tuple[str, list[str], list[str]]]:
    """Every folder below this one. Links are not followed: they can lead in circles."""

    def refuse(error: OSError) -> None:
        raise UsageError(f"cannot look into {visible(str(error.filename))!r}: {error.strerror}")

    for parent, folders, files in os.walk(folder, onerror=refuse if is_strict else None):
        folders[:] = sorted(
            name for name in folders if name not in skipped and not name.startswith(".")
        )
        yield parent, folders, files


def _is_glob(argument: str) -> bool:
    return any(mark in argument for mark in "*?[")


def glob_root(argument: str) -> str:
    """The folder in which a glob searches; a plain path is returned unchanged."""
    if os.path.lexists(argument) or not _is_glob(argument):
        return argument
    segments = os.path.normpath(argument).split(os.sep)
    plain = list(takewhile(lambda segment: not _is_glob(segment), segments))
    return os.sep.join(plain) or (os.sep if argument.startswith(os.sep) else ".")


_BRACES = r"\{([^{}]*,[^{}]*)\}"

# How many suggestions are shown.
_MAX_SPELT_OUT = 4


def _braces_error(pattern: str) -> UsageError:
    """The error for braces in a quoted glob, which only a shell expands."""
    each = [f'"{word}"' for word in islice(_expand_braces(pattern), _MAX_SPELT_OUT + 1)]
    more = " …" if len(each) > _MAX_SPELT_OUT else ""
    words = visible(" ".join(dict.fromkeys(each[:_MAX_SPELT_OUT])))
    return UsageError(
        f"braces are not supported in {visible(pattern)!r}",
        f"name each of them, quoted separately: {words}{more}",
    )


def _expand_braces(pattern: str) -> Iterator[str]:
    """The words to which a shell expands braces."""
    group = re.search(_BRACES, pattern)
    if group is None:
        yield pattern
        return
    for word in group[1].split(","):
        yield from _expand_braces(pattern[: group.start()] + word + pattern[group.end() :])


def _expand(pattern: str, left_out: _LeftOut) -> Iterable[str]:
    """The files that a glob matches, and the suites below the folders that it matches."""
    segments = os.path.normpath(pattern).split(os.sep)
    base = glob_root(pattern)
    wanted = _compile_glob(pattern, list(dropwhile(lambda part: not _is_glob(part), segments)))
    # Such folders are searched only if they are named.
    skipped = _SKIPPED_FOLDERS.difference(segments)
    # `tests/*` means `tests/`; a glob with more about names matches those only.
    is_any = segments[-1] not in ("*", "**")

    def is_wanted(path: str) -> bool:
        return is_matched(path) and (is_any or is_test_name(path))

    def is_matched(path: str) -> bool:
        return wanted.fullmatch(os.path.relpath(path, base)) is not None

    for parent, folders, files in _walk(base, skipped) if os.path.isdir(base) else ():
        for name in folders:
            path = os.path.normpath(os.path.join(parent, name))
            if is_matched(path):
                yield from _suites_below(path, left_out)
            elif os.path.islink(path):
                left_out.add_folder(path, is_wanted)
        # A slash at the end matches folders only.
        for name in () if pattern.endswith(os.sep) else files:
            path = os.path.normpath(os.path.join(parent, name))
            if not is_wanted(path):
                continue
            if os.path.isfile(path):
                yield path
            else:
                left_out.add_file(path)


def _compile_glob(pattern: str, segments: list[str]) -> re.Pattern[str]:
    """A regular expression for the paths that these segments of a glob match."""
    *parents, last = segments
    lead = "".join(
        "(?:[^/]+/)*" if each == "**" else _segment_regex(each) + "/" for each in parents
    )
    try:
        return re.compile(lead + (".*" if last == "**" else _segment_regex(last)))
    except re.error as error:
        # Such as [z-a], a range that runs backwards.
        message = f"{visible(pattern)!r} is not a pattern for file names: {visible(error.msg)}"
        raise UsageError(message, "in [ ] are single characters and ranges such as a-z") from None


_GLOB_MARK = r"\*+|\?|\[[!^]?+(?:\][^\]]*|[^\]]+)\]|[^*?\[]+|\["


def _segment_regex(segment: str) -> str:
    parts = []
    for mark in re.findall(_GLOB_MARK, segment):
        if mark.startswith("*"):
            parts.append("[^/]*")
        elif mark == "?":
            parts.append("[^/]")
        elif len(mark) > 2 and mark.startswith("["):
            inner = re.sub(r"[\\\[&|~]", r"\\\g<0>", mark[1:-1])
            parts.append(f"[^{inner[1:]}]" if inner.startswith("!") else f"[{inner}]")
        else:
            parts.append(re.escape(mark))
    return "".join(parts)


def find_config(folder: str) -> str:
    """The config file in a folder, or ""."""
    for name in CONFIG_NAMES:
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            return os.path.normpath(path)
    return ""


def find_client_config(folder: str) -> str:
    """The config of another program in a folder, or ""."""
    for name, content in _CLIENT_CONFIGS.items():
        path = os.path.normpath(os.path.join(folder, name))
        if os.path.isfile(path) and (not content or content in read_text(path)):
            return path
    return ""


def is_client_config(path: str, text: str) -> bool:
    """Whether a file is the config of another program, which may describe several servers."""
    name = os.path.basename(path)
    if name in CONFIG_NAMES or is_suite_name(path):
        return False
    if _CLIENT_CONFIGS.get(name) == "":
        return True
    depth = 0
    for token in re.findall(_JSON_TOKEN, text, re.DOTALL):
        if token in "{[":
            depth += 1
        elif token in "}]":
            depth -= 1
        elif depth == 1 and token.endswith(":") and token[1:-1].rstrip(' "') in _CLIENT_KEYS:
            return True
    return False


# A larger file is certainly not a test file.
_MAX_FILE_BYTES = 64 * 1024 * 1024

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


_NOT_REGULAR = "it is not a regular file"
_REGULAR_HELP = "pipes, devices and files in /proc are not read: copy what is needed into a file"


def open_regular(path: str | bytes, flags: int = os.O_RDONLY) -> int:
    """A descriptor of a regular file; OSError when it is something else, or cannot be opened.

    Never waits, and checks what was opened: the path may be a pipe by then.
    """
    try:
        fd = os.open(path, flags | OPEN_FLAGS, 0o666)
    except ValueError:
        # A NUL in the path, or half a surrogate pair.
        raise OSError(errno.EINVAL, "no file can have this name") from None
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, _NOT_REGULAR)
    return fd


def read_now(file: BufferedReader, size: int) -> bytes:
    """So much of a file that does not block. OSError for one in /proc that has nothing yet."""
    raw: bytes | None = file.read(size)
    if raw is None:
        raise OSError(errno.EAGAIN, _NOT_REGULAR)
    return raw


def read_text(path: str) -> str:
    """The text of a file the user named. FormatError when it cannot be read as text."""
    if os.path.isdir(path):
        config = find_config(path)
        help = f"the config in it is {config}" if config else ""
        raise _unreadable(path, "it is a folder", help=help)
    try:
        with open(open_regular(path), "rb") as file:
            raw = read_now(file, _MAX_FILE_BYTES + 1)
            # Files in /proc claim to be regular and empty.
            if raw and os.fstat(file.fileno()).st_size == 0:
                raise OSError(errno.EINVAL, _NOT_REGULAR)
    except OSError as error:
        if error.strerror == _NOT_REGULAR:
            raise _unreadable(path, _NOT_REGULAR, help=_REGULAR_HELP) from None
        raise _unreadable(path, f"cannot read it: {error.strerror}") from None
    if len(raw) > _MAX_FILE_BYTES:
        raise _unreadable(path, f"it is larger than {_MAX_FILE_BYTES:,} bytes")
    # Checked in the bytes: the codec for byte order marks would have to be imported.
    raw = raw.removeprefix(_BYTE_ORDER_MARK)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        column = error.start - raw.rfind(b"\n", 0, error.start)
        reason = f"it is not UTF-8: byte {raw[error.start]:#04x}"
        raise _unreadable(path, reason, line, column) from None


def _unreadable(
    path: str, reason: str, line: int = 0, column: int = 0, help: str = ""
) -> FormatError:
    return FormatError(
        [Diagnostic(code="F001", file=path, message=reason, line=line, column=column, help=help)]
    )


# Formats, recognised by the name of a file or by its text

FORMATS = ("conductor", "cases", "suite")

# A key of a case at the beginning of a line, and the keys that only a Conductor file has there.
_CASE_KEY = r"(?m)^[\"']?(?:case|in|out|in_\w*|out_\w*|_server)[\"']?[ ]*:"
_CONDUCTOR_KEY = r"(?m)^[\"']?(?:tests|description)[\"']?[ ]*:"
# No other format names several servers, and no suite has tests under this key.
_SERVERS = r"(?m)^(?:\s*\{\s*)?[\"']?servers[\"']?[ ]*:"
_TESTS = r"(?m)^[\"']?tests[\"']?[ ]*:"


def format_of(file: str, text: str) -> str:
    """The format of a file; Conductor if it looks like none of the others."""
    if file.endswith(CONDUCTOR_ENDINGS):
        return "conductor"
    if file.endswith(CASE_ENDINGS):
        return "cases"
    if is_suite_name(file):
        return "suite"
    if re.search(_SERVERS, text) and not re.search(_TESTS, text):
        return "suite"
    looks_like_cases = re.search(_CASE_KEY, text) and not re.search(_CONDUCTOR_KEY, text)
    return "cases" if looks_like_cases else "conductor"


# What a file of each format contains, even with mistakes. The keys of a case are common words, so a
# message must be there too, or the key that only a contract has.
_CASE_WORDS = r"case|in|out|in_\w*|out_\w*"
_MESSAGE = (
    r"[\"']?\b(?:jsonrpc|params|result|error)[\"']?\s*:"
    r"|[\"']?method[\"']?\s*:\s*[\"']?(?:initialize|ping|[a-z]+/[A-Za-z_/]+)\b"
)
_SUITE_WORDS = "servers|imports|tools|resources|prompts|agents|evals|compliance|security"
_IT = r"(?m)^[ \t]*(?:-[ \t]+)?[\"']?it[\"']?[ \t]*:"
_BRACE = r"(?m)^(?:---)?[ \t]*[{\[]"


def begins_like_test_file(file: str, beginning: bytes) -> bool:
    """Whether a file with the name of a test file begins like one, even if it has mistakes.

    Nothing is parsed: a file that is broken is recognised by its keys, and one that
    belongs to another program costs next to nothing.
    """
    if b"\0" in beginning:
        return False
    text = beginning.decode("utf-8", "replace").removeprefix("\ufeff")
    if file.endswith(CONDUCTOR_ENDINGS):
        return _has_key(text, "tests|description") or re.search(_IT, text) is not None
    if file.endswith(CASE_ENDINGS):
        has_message = _has_key(text, _CASE_WORDS) and re.search(_MESSAGE, text)
        return bool(has_message) or _has_key(text, "_server")
    return _has_key(text, _SUITE_WORDS)


def _has_key(text: str, names: str) -> bool:
    """Whether one of these keys is at the top level; inside braces, at any depth."""
    if re.search(rf"(?m)^[\"']?(?:{names})[\"']?[ \t]*:", text):
        return True
    if not re.search(_BRACE, text):
        return False
    return re.search(rf"[{{,]\s*[\"']?(?:{names})[\"']?\s*:", text) is not None


# Files that messages may quote. A suite can name any file: in `imports`, as a schema, through a
# symbolic link. Messages about mistakes in files outside the user's folders must not quote them.


class SuiteFolders:
    """The folders of a run: the current one, and those of the paths that the user named.

    A file belongs to them if it is in one or below one after all links are resolved, on a way
    without hidden folders. The root of the file system is not such a folder. A file that the
    user named belongs to them in any folder; `is_found` is true if the paths were found by a
    search instead.

    As a context manager, removes from each `FormatError` what it may not quote.
    """

    def __init__(self, named: Iterable[str], *, is_found: bool = False) -> None:
        self._named = [path for path in named if path]
        self._is_found = is_found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: object, error: object, __: object) -> None:
        if isinstance(error, FormatError):
            error.diagnostics = tuple(self.quotable(error.diagnostics))

    def quotable(self, diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
        """The diagnostics; those about other files say what and where, and quote nothing."""
        return [each if self.hold(each.file) else _without_content(each) for each in diagnostics]

    def hold(self, path: str) -> bool:
        """Whether a file belongs to these folders, so that messages may quote it."""
        real = os.path.realpath(path)
        if not self._is_found and any(real == os.path.realpath(named) for named in self._named):
            return True
        roots = map(glob_root, self._named)
        named = (root if os.path.isdir(root) else os.path.dirname(root) or "." for root in roots)
        for folder in {os.path.realpath(folder) for folder in (".", *named)}:
            parent = folder + os.sep
            if folder != os.sep and real.startswith(parent):
                # Configs of servers are hidden, but known.
                ends = (os.sep + name for name in _CLIENT_CONFIGS)
                known = next((end for end in ends if real.endswith(end)), "")
                parts = real.removeprefix(parent).removesuffix(known[1:]).split(os.sep)
                if not any(part.startswith(".") for part in parts):
                    return True
        return False

    def reader_beside(self, file: str) -> Callable[[str], str]:
        """Reads what a test file names, relative to its own folder.

        ValueError when it cannot be read; `UnquotedText` when it may not be quoted.
        """

        def read(name: str) -> str:
            path = os.path.join(os.path.dirname(file), name)
            try:
                text = read_text(path)
            except FormatError as error:
                [found] = self.quotable(error.diagnostics)
                raise ValueError("; ".join(filter(None, (found.message, found.help)))) from None
            return text if self.hold(path) else UnquotedText(text)

        return read


def _without_content(diagnostic: Diagnostic) -> Diagnostic:
    if diagnostic.code == "F001" and not diagnostic.line:
        # Why a file cannot be opened says nothing about its content.
        return diagnostic
    return diagnostic.but(message=CODES[diagnostic.code], source="", help=UNQUOTED)


# Which file a write goes to: symbolic links are followed only within a folder.
#
# A repository can contain links, so a link must not decide where this user's files are replaced.
# Every file that a command writes is resolved here first:
#
# * A path that the user named may pass through linked folders, which is the user's choice. If the
#   last part of it is a link, the link may lead only into the folder it is in, or below.
# * A path that mcptest makes up (`__snapshots__`, `.github/workflows`, `.mcptest`) may not leave
#   the folder it belongs to by any link.
#
# Devices and pipes are written to directly and nothing of them is replaced, so a link to one is
# followed. The links in /dev and /proc are the system's own.


_SYSTEM_FOLDERS = ("/dev", "/proc")


def resolve_target(path: str) -> str:
    """The real path of a file that the user named; OSError if a link leads out of its folder."""
    try:
        folder = os.path.realpath(os.path.dirname(path) or ".")
        target = os.path.realpath(path)
    except ValueError:
        raise OSError(errno.EINVAL, "no file can have this name") from None
    if (
        _is_within(target, folder)
        or any(_is_within(folder, each) for each in _SYSTEM_FOLDERS)
        or _is_device_or_pipe(path)
    ):
        return target
    raise _refusal(path, target, "its folder", "name that file itself, or remove the link")


def resolve_inside(path: str, folder: str) -> str:
    """The real path of a file that belongs below `folder`; OSError if a link leads out of it."""
    folder = folder or "."
    root = os.path.realpath(folder)
    below = os.path.relpath(path, folder)
    whole = below if folder == "." else os.path.join(folder, below)
    target = os.path.realpath(whole)
    if _is_within(target, root):
        return target
    link = whole
    while not _is_within(os.path.realpath(os.path.dirname(link) or "."), root):
        link = os.path.dirname(link)
    where = "this folder" if folder == "." else visible(folder)
    raise _refusal(link, os.path.realpath(link), where, "remove the link and run this again")


def _is_within(path: str, folder: str) -> bool:
    return os.path.commonpath([path, folder]) == folder


def _is_device_or_pipe(path: str) -> bool:
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return stat.S_ISCHR(mode) or stat.S_ISBLK(mode) or stat.S_ISFIFO(mode)


def _refusal(link: str, target: str, folder: str, help: str) -> OSError:
    reason = f"the link {visible(link)} leads out of {folder}, to {visible(target)}; {help}"
    return OSError(errno.ELOOP, reason, link)


# Larger than any answer of a server.
_MAX_BYTES = 1024 * 1024 * 1024


def read_regular(path: str) -> str:
    """The text of a regular file; OSError, or UnicodeDecodeError when it is not UTF-8."""
    fd = open_regular(path, os.O_RDONLY)
    with os.fdopen(fd, "rb") as file:
        raw = read_now(file, _MAX_BYTES + 1)
    if len(raw) > _MAX_BYTES:
        raise OSError(errno.EFBIG, "it is too large")
    return raw.decode("utf-8")


def write_all(fd: int, text: bytes) -> None:
    """Append all of the text to the file, or nothing."""
    start = os.fstat(fd).st_size
    view = memoryview(text)
    try:
        while view:
            view = view[os.write(fd, view) :]
    except OSError:
        # Unless another process has written meanwhile.
        if os.fstat(fd).st_size == start + len(text) - len(view):
            os.ftruncate(fd, start)
        raise


def why_not(error: Exception) -> str:
    """Why a file cannot be used, in words."""
    return getattr(error, "strerror", None) or str(error)
