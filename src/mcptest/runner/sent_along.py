"""What a command line has sent to a server on HTTP that a file describes."""

from __future__ import annotations

from mcptest.core.errors import UsageError
from mcptest.core.record import Record
from mcptest.core.text import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcptest.core.plan import HttpSpec, ServerSpec

__all__ = ["SentAlong"]


class SentAlong(Record):
    """Headers, their values being secrets, and a file of authorities; `option` asked for it."""

    option: str
    headers: dict[str, str]
    secrets: tuple[str, ...] = ()
    ca_file: str = ""

    def to(self, spec: ServerSpec) -> ServerSpec:
        """The server with all of it; what the file says of the same header gives way."""
        if spec.http is None:
            raise UsageError(f"{self.option} is for servers on HTTP; give --url as well")
        secrets = (*spec.secrets, *self.secrets)
        return spec.but(http=self._joined(spec.http), secrets=secrets)

    def refuse_several(self, specs: Iterable[ServerSpec]) -> None:
        """Credentials are for one server: nobody else may see them."""
        places = {spec.http.url: spec.name for spec in specs if spec.http}
        if len(places) > 1:
            names = ", ".join(sorted(map(visible, places.values())))
            message = f"{self.option} is for one server, and these tests have {len(places)} on HTTP"
            hint = 'say it of each in the file, with "headers" or "auth"'
            raise UsageError(f"{message}: {names}", hint)

    def _joined(self, http: HttpSpec) -> HttpSpec:
        own = {name.lower() for name in self.headers}
        kept = {
            name: text for name, text in (http.headers or {}).items() if name.lower() not in own
        }
        return http.but(
            headers=kept | self.headers,
            oauth=None if "authorization" in own else http.oauth,
            ca_file=self.ca_file or http.ca_file,
        )
