"""After a test that passed, the next request is sent before the verdict is reported."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from staging import LONG_S, echo, perform, plan_for, spec_for, stage

from mcptest.core.events import CaseFinished, CaseStarted
from mcptest.engine.run import RunOptions, run_plan

if TYPE_CHECKING:
    from typing import Any

    from mcptest.core.events import Event

SERVERS = Path(__file__).parent.parent / "servers"

# Writes down the id of every call the moment it arrives.
DIARIST = f"""
import sys; sys.path.insert(0, {str(SERVERS)!r})
from good_server import line_for, serve, write
def note(request):
    with open(sys.argv[1], "a") as diary:
        diary.write(str(request["id"]) + ";")
    write(line_for(request))
serve({{"tools/call": note}})
"""


class Watch:
    """The requests the server had received when each verdict was reported."""

    def __init__(self, diary: Path, patience_s: float) -> None:
        self.told: list[tuple[str, str]] = []
        self.asked_by: list[str] = []
        self._diary = diary
        self._patience_s = patience_s

    def __call__(self, event: Event) -> None:
        if isinstance(event, CaseStarted):
            self.told.append(("started", event.name))
        if isinstance(event, CaseFinished):
            self.told.append((event.result.status, event.result.name))
            self.asked_by.append(
                self._diary.read_text(encoding="utf-8") if self.asked_by else self._second()
            )

    def _second(self) -> str:
        """What was asked once the second request is there, or when patience has ended."""
        deadline = time.monotonic() + self._patience_s
        while (
            "2;" not in (asked := self._diary.read_text(encoding="utf-8"))
            and time.monotonic() < deadline
        ):
            time.sleep(0.005)
        return asked


def watched(tmp_path: Path, *tests: Any, patience_s: float, **options: Any) -> Watch:
    diary = tmp_path / "diary"
    command = (sys.executable, "-S", "-E", "-c", DIARIST, str(diary))
    watch = Watch(diary, patience_s)
    with stage() as launcher:
        plan = plan_for(spec_for("diarist", **({"command": command} | options)), *tests)
        run_plan(plan, RunOptions(started_at=""), launcher, watch)
    return watch


def test_the_next_request_is_sent_while_a_pass_is_reported(tmp_path: Path) -> None:
    watch = watched(tmp_path, echo(id=1), echo(id=2), patience_s=LONG_S / 10)
    assert watch.asked_by == ["1;2;", "1;2;"]
    first, second = "echoes hi under 1", "echoes hi under 2"
    assert watch.told == [
        ("started", first),
        ("passed", first),
        ("started", second),
        ("passed", second),
    ]


WRONG = echo(id=1) | {"expect": {"response": {"jsonrpc": "2.0", "id": 1, "result": {}}}}
GIVES = echo(id=1, capture={"said": "result.content[0].text"})
TIMED = echo(id=2, expect={"performance": {"maxResponseTime": "10s"}})


@pytest.mark.parametrize(
    ("tests", "options"),
    [
        ((WRONG, echo(id=2)), {}),
        ((echo(id=1), TIMED), {}),
        ((GIVES, echo("${said}", id=2)), {}),
        ((echo(id=1), echo(id=2)), {"isolation": "test"}),
    ],
    ids=["a failure", "a measured test", "what is captured only now", "a process each"],
)
def test_nothing_goes_out_ahead_of(
    tests: tuple[Any, ...], options: dict[str, Any], tmp_path: Path
) -> None:
    watch = watched(tmp_path, *tests, patience_s=0.2, **options)
    assert watch.asked_by == ["1;", "1;2;"]


# Says something on its own before every answer.
NOTIFIER = f"""
import sys; sys.path.insert(0, {str(SERVERS)!r})
from good_server import line_for, line_of, serve, write
def tell(request):
    write(line_of({{"jsonrpc": "2.0", "method": "notifications/progress", "params": {{}}}}))
    write(line_for(request))
serve({{"tools/call": tell}})
"""
HEARS = {"notifications": ["notifications/progress"]}


def test_a_request_that_went_ahead_has_its_notifications_and_no_others() -> None:
    command = (sys.executable, "-S", "-E", "-c", NOTIFIER)
    wrong = HEARS | {"response": {"jsonrpc": "2.0", "id": 4, "result": {}}}
    report = perform(
        spec_for("notifier", command=command),
        echo(id=1),
        echo(id=2, expect=HEARS),
        echo(id=3, expect=HEARS),
        echo(id=4, expect=wrong),
        echo(id=5),
    )
    assert report.statuses == ["passed", "passed", "passed", "failed", "passed"]


@pytest.mark.parametrize(
    ("value", "status"), [("1", "failed"), (True, "failed"), (1.0, "passed")], ids=repr
)
def test_answers_are_compared_as_json_and_not_by_python_equality(
    value: object, status: str
) -> None:
    """To Python all but the text are equal; to JSON the numbers are, and to nothing else."""
    server = f"""
import sys; sys.path.insert(0, {str(SERVERS)!r})
from good_server import line_of, serve, write
def answer(request):
    result = {{"n": 1 if request["id"] != 2 else {value!r}}}
    write(line_of({{"jsonrpc": "2.0", "id": request["id"], "result": result}}))
serve({{"tools/call": answer}})
"""
    expects = [{"response": {"jsonrpc": "2.0", "id": id, "result": {"n": 1}}} for id in (1, 2, 3)]
    report = perform(
        spec_for("nearly", command=(sys.executable, "-S", "-E", "-c", server)),
        *(echo(id=id, expect=expect) for id, expect in zip((1, 2, 3), expects, strict=True)),
    )
    assert report.statuses == ["passed", status, "passed"]
