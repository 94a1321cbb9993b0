"""The snapshots of a run: read when first needed, written at the end.

Those of `shop/mcptest.yaml` are in `shop/__snapshots__/mcptest.yaml.snap.yaml`. While tests run,
in any process, the values are only collected; `Snapshots.finish` gets all of them and replaces the
files, each as a whole or not at all. A file that cannot be written becomes a finding of the run.
"""

from __future__ import annotations

import os
from itertools import pairwise

from mcptest.core.diagnostics import Diagnostic
from mcptest.core.errors import FormatError, RefusedError, UsageError
from mcptest.core.events import CaseFinished
from mcptest.core.results import WRITTEN, Finding, SnapshotReport, SnapshotTaken
from mcptest.core.secrets import redact_all
from mcptest.core.text import ci_variable, excerpt, visible
from mcptest.core.value_class import ABSENT, Record
from mcptest.engine.test_files import read_text, resolve_inside
from mcptest.matching.compare import is_met, is_same
from mcptest.matching.registry import ParameterError
from mcptest.transport import files
from mcptest.transport.files import replace_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from mcptest.core.events import Event, RunFinished
    from mcptest.core.results import Keys, SnapshotMode, SnapshotStatus
    from mcptest.core.text import Trail

    Redact = Callable[[str], str]
    Entries = Mapping[str, object]

__all__ = ["Book", "SnapshotWatch", "Snapshots", "choose_mode", "is_snapshot_path", "snapshot_path"]


_FOLDER = "__snapshots__"
_ENDING = ".snap.yaml"


def choose_mode(update: bool, force: bool, environment: Mapping[str, str]) -> SnapshotMode:
    """What a run does with snapshots; RefusedError if CI would accept changes unseen."""
    ci = ci_variable(environment)
    if update and ci and not force:
        raise RefusedError(
            f"--update-snapshots is refused in CI ({ci} is set): no one would review its changes",
            "update them on your own machine and commit them, or add --force-update-snapshots",
        )
    if update or force:
        return "update"
    return "check" if ci else "write_new"


def snapshot_path(file: str) -> str:
    """Where the snapshots of a suite are."""
    folder, name = os.path.split(file)
    return os.path.join(folder, _FOLDER, name + _ENDING)


def is_snapshot_path(path: str) -> bool:
    """Whether a path is one that snapshots are written to."""
    folder, name = os.path.split(path)
    return os.path.basename(folder) == _FOLDER and name.endswith(_ENDING)


class Snapshots:
    """All snapshots of a run. `redact` removes secrets before values are kept or compared.

    Secrets are known when all files are read, so `redact` may be set until the first test.
    """

    def __init__(self, mode: SnapshotMode, redact: Redact | None = None) -> None:
        self.mode = mode
        self.redact = redact
        self._books: dict[str, Book] = {}
        self._taken: list[SnapshotTaken] = []

    def book(self, file: str) -> Book:
        """The snapshots of one suite; its file is read when first needed."""
        if file not in self._books:
            self._books[file] = Book(self, file, self._taken)
        return self._books[file]

    def pop_taken(self) -> tuple[SnapshotTaken, ...]:
        """The snapshots taken in this process since the last call; they are forgotten."""
        taken = tuple(self._taken)
        self._taken.clear()
        return taken

    def try_again(self) -> None:
        """Mark the snapshots taken so far as those of a failed attempt."""
        self._taken[:] = [each.but(is_past=True) for each in self._taken]

    def finish(
        self,
        all_taken: Iterable[SnapshotTaken],
        is_complete: bool,
        held: Iterable[SnapshotTaken] = (),
    ) -> tuple[SnapshotReport, tuple[Finding, ...]]:
        """Write what is new or accepted; a report, and findings for what went wrong.

        Unused snapshots are removed in the mode "update" if whole files ran (`is_complete`), else
        only reported. Those `held` by failed tests are neither written nor unused.
        """
        by_file: dict[str, list[SnapshotTaken]] = {file: [] for file in self._books}
        for taken in all_taken:
            by_file.setdefault(taken.file, []).append(taken)
        done: dict[str, _Settlement] = {}
        lost: list[SnapshotTaken] = []
        problems: list[Finding] = []
        for file in sorted(by_file):
            try:
                done[file] = self.book(file).settle(by_file[file], is_complete)
            except (FormatError, UsageError) as error:
                lost += by_file[file]
                problems.append(_make_unwritten_finding(file, error))
            else:
                problems += _make_clash_findings(file, done[file].clashing)
        names = {
            what: {
                file: tuple(found) for file, each in done.items() if (found := getattr(each, what))
            }
            for what in ("written", "updated", "removed", "stale", "unstable", "clashing")
        }
        report = SnapshotReport(**names, unwritten=_list_names(lost), held=_list_names(held))
        return report, tuple(problems)


class SnapshotWatch:
    """Collects the snapshots of a run from its events. `is_whole`: no test was left out."""

    def __init__(self, snapshots: Snapshots, *, is_whole: bool) -> None:
        self._snapshots = snapshots
        self.is_whole = is_whole
        self._turn = 0
        self._taken: list[SnapshotTaken] = []
        self._held: list[SnapshotTaken] = []

    def observe(self, event: Event) -> None:
        if not isinstance(event, CaseFinished):
            return
        self._turn += 1
        result = event.result
        seen = [each.but(test=result.name, turn=self._turn) for each in result.snapshots]
        # Snapshots of a test that did not pass are not accepted.
        (self._taken if result.status == "passed" else self._held).extend(seen)

    def finish(self, finished: RunFinished) -> RunFinished:
        """Write the files; the end of the run with the report and its findings."""
        is_complete = self.is_whole and not finished.bailed
        report, problems = self._snapshots.finish(self._taken, is_complete, self._held)
        return finished.but(snapshots=report, findings=(*finished.findings, *problems))


class Book:
    """The snapshots of one suite, as the snapshot matcher uses them."""

    def __init__(self, owner: Snapshots, file: str, taken: list[SnapshotTaken]) -> None:
        self.file = file
        self.path = snapshot_path(file)
        self._owner = owner
        self._taken = taken
        # The places of the names in the file; a name given by the author may have several.
        self._declared: dict[str, Trail] = {}
        self._entries: dict[str, object] | None = None

    @property
    def mode(self) -> SnapshotMode:
        return self._owner.mode

    def declare(self, key: str, place: Trail, *, is_given: bool) -> None:
        """Register the name of a snapshot. FormatError when the file is invalid."""
        key = _escape_surrogates(key)
        if is_given:
            self._declared.setdefault(key, None)
        elif self._declared.get(key) not in (None, place):
            raise ParameterError(
                f"has the same name as another one, {visible(key)!r}: they could not be told apart",
                "give one of them another name: {snapshot: NAME}",
            )
        else:
            self._declared[key] = place
        # Read while files are loaded, so that its mistakes are reported before anything runs.
        self._stored()

    def redacted(self, value: object) -> object:
        redact = self._owner.redact
        return redact_all(value, redact) if redact else value

    def stored(self, key: str) -> object:
        return self.redacted(self._stored().get(self._name(key), ABSENT))

    def _name(self, key: str) -> str:
        """The name without secrets, which are known by the time a test runs."""
        return str(self.redacted(_escape_surrogates(key)))

    def record(
        self, key: str, value: object, *, is_same: bool, place: tuple[str | int, ...] = ()
    ) -> None:
        """Record the value for this snapshot; the last one counts."""
        key = self._name(key)
        status = self._status(key, is_same)
        kept = self.redacted(value) if status in WRITTEN else ABSENT
        look = SnapshotTaken(file=self.file, key=key, status=status, value=kept, place=place)
        self._taken.append(look)

    def _status(self, key: str, same: bool) -> SnapshotStatus:
        stored = self._stored().get(key, ABSENT)
        if same:
            # A value that was written before it became a secret must be replaced.
            is_clean = self.mode == "check" or is_same(stored, self.redacted(stored))
            return "same" if is_clean else "updated"
        if self.mode == "update":
            return "new" if stored is ABSENT else "updated"
        return "new" if self.mode == "write_new" and stored is ABSENT else "different"

    def _stored(self) -> dict[str, object]:
        if self._entries is None:
            self._entries = self._read()
        return self._entries

    def _read(self) -> dict[str, object]:
        try:
            self._target()
        except OSError as error:
            # Also for reading: messages must not quote a file outside the folder.
            reason = Diagnostic(code="F001", file=self.path, message=str(error.strerror))
            raise FormatError([reason]) from None
        if not os.path.lexists(self.path):
            return {}
        # It loads PyYAML, which takes as long as the rest of a small run.
        from mcptest.formats.snapshots import read_snapshots  # noqa: PLC0415

        return read_snapshots(read_text(self.path), self.path)

    def _target(self) -> str:
        """The file itself; OSError if a link leads out of the folder of the suite."""
        return resolve_inside(self.path, os.path.dirname(self.file))

    def settle(self, taken: list[SnapshotTaken], is_complete: bool) -> _Settlement:
        """Write the file if needed; UsageError when that fails."""
        found = self._settle(taken, is_complete)
        if found.entries is None:
            return found
        try:
            folder = os.path.dirname(self._target())
            os.makedirs(folder, exist_ok=True)
            with files.locked(folder, files.PATIENCE_S):
                # Read again: another run may have written to it meanwhile.
                found = self._settle(taken, is_complete)
                if found.entries is not None:
                    self._write(found.entries)
        except TimeoutError:
            message = f"cannot write {visible(self.path)}: another run has its folder"
            raise UsageError(message, "let the other one end, and run this one again") from None
        except OSError as error:
            raise UsageError(f"cannot write {visible(self.path)}: {error.strerror}") from None
        return found

    def _settle(self, taken: list[SnapshotTaken], is_complete: bool) -> _Settlement:
        stored = self._read()
        known = stored if self._entries is None else self._entries
        declared = set(map(self._name, self._declared))
        removes = self.mode == "update" and is_complete
        return _settle_snapshots(taken, stored, known, declared, removes=removes)

    def _write(self, entries: dict[str, object]) -> None:
        if entries:
            from mcptest.formats.snapshots import read_snapshots, write_snapshots  # noqa: PLC0415

            # Written only if it can be read back.
            text = write_snapshots(entries, os.path.basename(self.file))
            try:
                is_kept = is_same(entries, read_snapshots(text, self.path))
            except FormatError as error:
                is_kept, reason = False, error.diagnostics[0].message
            else:
                reason = "they would not come back as they are"
            if not is_kept:
                raise UsageError(
                    f"cannot keep the snapshots of {visible(self.file)}: {reason}",
                    "take snapshots of smaller parts, or spread the tests over several files",
                )
            replace_file(self._target(), text.encode("utf-8"))
        else:
            os.unlink(self.path)
        self._entries = entries


def _escape_surrogates(key: str) -> str:
    """The name with lone surrogates escaped: UTF-8 cannot encode them."""
    return key.encode("utf-8", "backslashreplace").decode("utf-8")


# The end of a run

_NOT_WRITTEN = "snapshots_not_written"
_SHARED = "snapshot_shared"
_MAX_NAME = 100


def _list_names(taken: Iterable[SnapshotTaken]) -> Keys:
    """The names of the snapshots by file."""
    found: dict[str, set[str]] = {}
    for each in taken:
        if each.status in WRITTEN:
            found.setdefault(each.file, set()).add(each.key)
    return {file: tuple(sorted(names)) for file, names in sorted(found.items())}


def _make_unwritten_finding(file: str, error: FormatError | UsageError) -> Finding:
    """The finding that a file could not be read or written at the end."""
    if isinstance(error, FormatError):
        first = error.diagnostics[0]
        message = f"cannot keep the snapshots of {visible(file)}: {first.message}"
        help = first.help
    else:
        message, help = str(error), error.help
    return Finding(kind=_NOT_WRITTEN, server="", message=f"{message}; {help}" if help else message)


def _make_clash_findings(file: str, clashing: Mapping[str, tuple[str, ...]]) -> Iterator[Finding]:
    """A finding for each name that several tests use for different values."""
    for key, tests in sorted(clashing.items()):
        who = " and ".join(f'"{excerpt(test, _MAX_NAME)}"' for test in tests[:2])
        many = f"the tests {who} have" if len(tests) > 1 else f"the test {who} has"
        name = excerpt(key, _MAX_NAME)
        message = (
            f'{many} different values for one snapshot, "{name}" of {visible(file)}, and none was '
            "accepted: give each a name of its own, or let them differ in nothing"
        )
        yield Finding(kind=_SHARED, server="", message=message)


class _Settlement(Record):
    """The names of the snapshots of one file, by what happens to them.

    `entries` are those that the file is to hold, None where it stays as it is. `clashing` has
    the names of the tests that do not agree.
    """

    entries: dict[str, object] | None = None
    written: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()
    unstable: tuple[str, ...] = ()
    clashing: dict[str, tuple[str, ...]] = {}  # noqa: RUF012  # nothing of a record changes


def _settle_snapshots(
    taken: Sequence[SnapshotTaken],
    stored: Entries,
    known: Entries,
    declared: Collection[str],
    *,
    removes: bool,
) -> _Settlement:
    """Decide what happens to the snapshots that were `taken`, given those `stored` now.

    `known` is what was stored when the run began: what was added by others since then is
    neither stale nor replaced by something that is new to us as well.
    """
    # Values of an earlier attempt are neither accepted nor unused.
    seen = {each.key for each in taken}
    last = {each.key: each for each in taken if not each.is_past}
    clashing = _find_clashes(taken)
    wanted = {
        key: each.value
        for key, each in last.items()
        if each.status in WRITTEN and key not in clashing
    }
    added = {key for key in wanted if key in stored and key not in known}
    changed = {key: value for key, value in wanted.items() if key not in added}
    stale = tuple(sorted((stored.keys() & known.keys()) - set(declared) - seen))
    removed = stale if removes else ()
    kept = {key: value for key, value in stored.items() if key not in removed}
    beaten = {key for key in added if not _is_one(stored[key], wanted[key])}
    return _Settlement(
        entries=kept | changed if changed or removed else None,
        written=tuple(sorted(changed.keys() - stored.keys())),
        updated=tuple(sorted(changed.keys() & stored.keys())),
        removed=removed,
        stale=() if removed else stale,
        unstable=tuple(sorted((_find_varying(taken) | beaten) - clashing.keys())),
        clashing=clashing,
    )


def _find_varying(taken: Sequence[SnapshotTaken]) -> set[str]:
    """Snapshots that would have been written with two different values."""
    written: dict[str, list[object]] = {}
    for each in taken:
        if each.status in WRITTEN:
            written.setdefault(each.key, []).append(each.value)
    kept = {each.key for each in taken if not each.is_past}
    return {key for key, values in written.items() if key in kept and not _are_one(values)}


def _find_clashes(taken: Sequence[SnapshotTaken]) -> dict[str, tuple[str, ...]]:
    """Snapshots for which tests have different values, with the names of these tests.

    Whichever of them were accepted, the other one would fail from then on. A test may want
    two itself, at two places; at one place, the last look counts.
    """
    looks: dict[str, dict[object, SnapshotTaken]] = {}
    for each in taken:
        if each.status != "different" and not each.is_past:
            looks.setdefault(each.key, {})[each.turn, each.place] = each
    # A value equal to the stored one does not clash.
    return {
        key: tuple(dict.fromkeys(look.test for look in by_place.values()))
        for key, by_place in looks.items()
        if not _are_one([look.value for look in by_place.values()])
    }


def _are_one(values: Sequence[object]) -> bool:
    return all(_is_one(one, other) for one, other in pairwise(values))


def _is_one(one: object, other: object) -> bool:
    if one is ABSENT or other is ABSENT:
        return one is other
    return is_met(one, other)
