"""Tell the servers of a run apart, and call those that no file names by their own names.

Until it has been started, such a server has only the name of its program or its address. The server
itself says another one, `serverInfo.name`, when a session is opened.
"""

from __future__ import annotations

from mcptest.core.coverage import merge_coverage
from mcptest.core.events import (
    CaseFinished,
    RunFinished,
    RunStarted,
    ServerNamed,
    ServerStarting,
    SuiteStarted,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from mcptest.core.coverage import ServerCoverage
    from mcptest.core.events import Event, Listener
    from mcptest.protocol.capture import SessionCapture

__all__ = ["ServerNaming"]


class ServerNaming:
    """A listener that passes events on, with the names of servers replaced in them.

    `shown` has what a server is called at first, by its name in the events; `unnamed` are those
    that may say another name. Their events wait until they have, or a test has run without that.
    """

    def __init__(self, emit: Listener, shown: Mapping[str, str], unnamed: Collection[str]) -> None:
        self._emit = emit
        self._names = dict(shown)
        self._open = set(unnamed)
        # The run has the name of its server, if there is only one.
        self._run_names = self._names if len(self._open) == 1 else shown
        self._waiting: list[Event] = []

    def __call__(self, event: Event) -> None:
        if isinstance(event, ServerNamed):
            if event.server in self._open:
                self._names[event.server] = event.name
                self._open.remove(event.server)
                self._pass_on()
            return
        is_first = isinstance(event, RunStarted) and self._open
        is_unnamed = isinstance(event, SuiteStarted) and event.server in self._open
        if not (self._waiting or is_first or is_unnamed):
            self._emit(self._rename_in_event(event))
            return
        self._waiting.append(event)
        if isinstance(event, RunStarted):
            self._emit(ServerStarting())
        has_run = isinstance(event, CaseFinished) and event.result.status != "skipped"
        if has_run or isinstance(event, RunFinished):
            self._pass_on()

    def _pass_on(self) -> None:
        waiting, self._waiting = self._waiting, []
        # A server keeps the name under which it has been reported.
        self._open -= {each.server for each in waiting if isinstance(each, SuiteStarted)}
        for each in waiting:
            self._emit(self._rename_in_event(each))

    def rename_end(self, finished: RunFinished) -> RunFinished:
        """The end of the run, as it was emitted."""
        label, score = self._rename_label, finished.conformance
        return finished.but(
            findings=tuple(
                each.but(server=", ".join(dict.fromkeys(map(label, each.server.split(", ")))))
                for each in finished.findings
            ),
            conformance=score.but(
                sessions=tuple(
                    each.but(server_label=label(each.server_label)) for each in score.sessions
                ),
                conflicts=tuple(
                    each.but(servers=tuple(map(label, each.servers))) for each in score.conflicts
                ),
            ),
            coverage=self._rename_coverage(finished.coverage),
            server_revisions=tuple(
                dict.fromkeys(
                    each.but(server=self._rename(each.server)) for each in finished.server_revisions
                )
            ),
        )

    def rename_capture(self, capture: SessionCapture) -> SessionCapture:
        return capture.but(server_label=self._rename_label(capture.server_label))

    def _rename_in_event(self, event: Event) -> Event:
        if isinstance(event, RunFinished):
            return self.rename_end(event)
        if isinstance(event, RunStarted):
            names = (self._run_names.get(name, name) for name in event.server.split(", "))
            return event.but(server=", ".join(dict.fromkeys(names)))
        if isinstance(event, SuiteStarted):
            return event.but(server=self._rename(event.server))
        return event

    def _rename_coverage(self, found: Iterable[ServerCoverage]) -> tuple[ServerCoverage, ...]:
        """The coverage of each server; those of one name that offer the same are one."""
        alike: dict[object, list[ServerCoverage]] = {}
        for each in found:
            name = self._rename(each.server)
            offers = frozenset((offer.kind, offer.name) for offer in each.offers)
            alike.setdefault((name, each.home, offers), []).append(each.but(server=name))
        return tuple(merge_coverage([each])[0] for each in alike.values())

    def _rename(self, name: str) -> str:
        return self._names.get(name, name)

    def _rename_label(self, label: str) -> str:
        """A name with or without its transport: stdio://python3."""
        transport, mark, name = label.rpartition("://")
        return f"{transport}{mark}{self._rename(name)}"
