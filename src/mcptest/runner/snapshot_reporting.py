"""What is said about the snapshots of a run: names by file, and problems as findings. Pure."""

from __future__ import annotations

from mcptest.core.errors import FormatError
from mcptest.core.outcome import Finding
from mcptest.core.snapshots import WRITTEN, SnapshotReport
from mcptest.core.text import shorten, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mcptest.core.errors import UsageError
    from mcptest.core.snapshots import Keys, SnapshotTaken
    from mcptest.runner.snapshot_settling import Settled

__all__ = ["clashes", "names_by_file", "not_written", "reported"]

_NOT_WRITTEN = "snapshots_not_written"
_SHARED = "snapshot_shared"
_MAX_NAME = 100


def _names_in(taken: Iterable[SnapshotTaken]) -> tuple[str, ...]:
    return tuple(sorted({each.key for each in taken if each.status in WRITTEN}))


def names_by_file(taken: Iterable[SnapshotTaken]) -> Keys:
    """The names of what was to be written, by file; a file without any is left out."""
    found: dict[str, list[SnapshotTaken]] = {}
    for each in taken:
        found.setdefault(each.file, []).append(each)
    named = {file: _names_in(found[file]) for file in sorted(found)}
    return {file: names for file, names in named.items() if names}


def reported(done: Mapping[str, Settled], *, unwritten: Keys, held: Keys) -> SnapshotReport:
    """All of it in one report."""

    def named(what: str) -> Keys:
        found = {file: tuple(getattr(each, what)) for file, each in done.items()}
        return {file: keys for file, keys in found.items() if keys}

    words = ("written", "updated", "removed", "stale", "unstable", "clashing")
    return SnapshotReport(
        **{word: named(word) for word in words},
        unwritten=unwritten,
        held=held,
    )


def not_written(file: str, error: FormatError | UsageError) -> Finding:
    """That a file could not be read or written at the end, for whatever reason."""
    if isinstance(error, FormatError):
        first = error.diagnostics[0]
        message = f"cannot keep the snapshots of {visible(file)}: {first.message}"
        help = first.help
    else:
        message, help = str(error), error.help
    return Finding(kind=_NOT_WRITTEN, server="", message=f"{message}; {help}" if help else message)


def clashes(file: str, clashing: Mapping[str, tuple[str, ...]]) -> Iterator[Finding]:
    """That tests share a name by mistake, one for each such name."""
    for key, tests in sorted(clashing.items()):
        who = " and ".join(f'"{visible(shorten(test, _MAX_NAME))}"' for test in tests[:2])
        many = f"the tests {who} bring" if len(tests) > 1 else f"the test {who} brings"
        name = visible(shorten(key, _MAX_NAME))
        message = (
            f'{many} different values for one snapshot, "{name}" of {visible(file)}, and none was '
            "accepted: give each a name of its own, or let them differ in nothing"
        )
        yield Finding(kind=_SHARED, server="", message=message)
