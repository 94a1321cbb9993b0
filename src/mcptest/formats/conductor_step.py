"""The step of a test: what it sends, and what must come of it."""

from __future__ import annotations

from mcptest.core.framing import encode_line
from mcptest.core.plan import Step
from mcptest.core.record import ABSENT
from mcptest.formats.conductor_expect import ExpectReader
from mcptest.formats.conductor_request import read_request, use_of
from mcptest.matching.expectation import Compiler

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from mcptest.core.diagnostics import Complaint
    from mcptest.formats.fields import Fields
    from mcptest.matching.registry import Registry

    ReadBeside = Callable[[str], str] | None

__all__ = ["StepReader"]


class StepReader:
    """Reads the steps of one file, in its order."""

    def __init__(self, registry: Registry, read_beside: ReadBeside) -> None:
        self._compiler = Compiler(registry, read_beside)
        self._registry = registry
        self._read_beside = read_beside
        self._expect = ExpectReader(self._compiler)
        self.complaints: list[Complaint] = self._compiler.complaints

    def read(self, fields: Fields, id: str) -> Step | None:
        """The step of a test, None when it has none; `id` is for the short forms."""
        request = read_request(fields, id)
        if request is None:
            return None
        is_short = bool(request) and "request" not in fields.mapping
        expectation = self._expect.read(fields, request, is_short=is_short)
        method = request.get("method")
        return Step.made_of(
            {
                "line": encode_line(request),
                "method": method if isinstance(method, str) else "",
                "expectation": expectation,
                "id": request.get("id", ABSENT),
                "use": use_of(request),
            }
        )
