"""Call a server that no file names by its own name, in every event of a run.

Until it has been started, such a server has only the name of its program or its address. The server
itself says another one, `serverInfo.name`, when a session is opened.
"""

from __future__ import annotations

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
    from mcptest.core.events import Event, Listener
    from mcptest.core.results import CaptureScore
    from mcptest.protocol.capture import SessionCapture

__all__ = ["ServerNaming"]


class ServerNaming:
    """A listener that passes events on, with the name of the server replaced in them.

    They wait until the server has said its name, or a test has run without that.
    """

    def __init__(self, emit: Listener) -> None:
        self._emit = emit
        self._waiting: list[Event] | None = []
        self._name, self._own_name = "", ""

    def __call__(self, event: Event) -> None:
        if self._waiting is None:
            if not isinstance(event, ServerNamed):
                self._emit(self._renamed(event))
            return
        if isinstance(event, ServerNamed):
            self._name, self._own_name = event.server, event.name
        else:
            self._waiting.append(event)
        if isinstance(event, RunStarted):
            self._emit(ServerStarting())
        has_run = isinstance(event, CaseFinished) and event.result.status != "skipped"
        if has_run or isinstance(event, ServerNamed | RunFinished):
            waiting, self._waiting = self._waiting, None
            for each in waiting:
                self._emit(self._renamed(each))

    def rename_end(self, finished: RunFinished) -> RunFinished:
        """The end of the run, as it was emitted."""
        if not self._own_name:
            return finished
        return finished.but(
            findings=tuple(
                each.but(server=self._rename_list(each.server)) for each in finished.findings
            ),
            conformance=self._rename_score(finished.conformance),
            coverage=tuple(
                each.but(server=self._rename(each.server)) for each in finished.coverage
            ),
            server_revisions=tuple(
                each.but(server=self._rename(each.server)) for each in finished.server_revisions
            ),
        )

    def rename_capture(self, capture: SessionCapture) -> SessionCapture:
        return capture.but(server_label=self._rename_label(capture.server_label))

    def _renamed(self, event: Event) -> Event:
        if isinstance(event, RunFinished):
            return self.rename_end(event)
        if isinstance(event, RunStarted):
            return event.but(server=self._rename_list(event.server))
        if isinstance(event, SuiteStarted):
            return event.but(server=self._rename(event.server))
        return event

    def _rename_score(self, score: CaptureScore) -> CaptureScore:
        return score.but(
            sessions=tuple(
                each.but(server_label=self._rename_label(each.server_label))
                for each in score.sessions
            ),
            conflicts=tuple(
                each.but(servers=tuple(map(self._rename_label, each.servers)))
                for each in score.conflicts
            ),
        )

    def _rename(self, name: str) -> str:
        return self._own_name if self._own_name and name == self._name else name

    def _rename_list(self, names: str) -> str:
        return ", ".join(map(self._rename_label, names.split(", ")))

    def _rename_label(self, label: str) -> str:
        """A name with or without its transport: stdio://python3."""
        transport, mark, name = label.rpartition("://")
        return f"{transport}{mark}{self._rename(name)}"
