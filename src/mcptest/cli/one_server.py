"""Shared by the commands that talk to one server: use the server, and show its answers.

All text from a server is escaped before it is printed, and binary content is only described.
"""

from __future__ import annotations

import json
import sys
import time

from mcptest import __version__
from mcptest.cli.options import COLOR_OPTIONS, Option, parse_color
from mcptest.cli.output import (
    StandardOutput,
    hide_secrets,
    is_terminal,
    terminal_columns,
    wants_colour,
    write_stderr,
)
from mcptest.core.errors import InterruptedRunError, ServerError
from mcptest.core.results import ExitCode
from mcptest.core.schema_walk import SchemaWalker, dict_at, required_names
from mcptest.core.strict_json import dump_json
from mcptest.core.text import defuse_markers, printable_json, show_json, visible
from mcptest.engine.pool import SingleServer
from mcptest.engine.server import launching
from mcptest.explore.arguments import describe_type, unknown_name
from mcptest.protocol.lists import describe_error, feature_name, list_features
from mcptest.reporters.failure_text import fault_details, fault_headline, stderr_lines
from mcptest.reporters.json import render_failure
from mcptest.reporters.style import Paint
from mcptest.transport import utc_now
from mcptest.transport.process.signals import Interrupts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from mcptest.cli.options import Arguments
    from mcptest.core.coverage import Kind
    from mcptest.core.plan import ServerSpec
    from mcptest.core.results import Fault
    from mcptest.engine.server import Launcher
    from mcptest.protocol.lists import Listing, Message

    # Name, type, description; whether it is required.
    Parameter = tuple[str, str, str, bool]

__all__ = [
    "OUTPUT_OPTIONS",
    "OutputStyle",
    "ask_and_show",
    "find_feature",
    "print_fault",
    "print_note",
    "print_stderr",
    "render_listings",
    "render_messages",
    "render_resource",
    "render_tool_result",
    "report_unfinished",
    "use_server",
    "write_json",
    "write_lines",
]


OUTPUT_OPTIONS = (
    Option(names=("--json",), help="print JSON on a terminal, too (elsewhere it is the default)"),
    Option(names=("--raw",), help="print the complete answers of the server, one per line"),
    *COLOR_OPTIONS,
)


class OutputStyle:
    """How results are shown: formatted for people, or as JSON for programs."""

    def __init__(self, arguments: Arguments) -> None:
        self.is_raw = arguments.has("--raw")
        self.is_pretty = is_terminal() and not (self.is_raw or arguments.has("--json"))
        self.paint = Paint(on=wants_colour(parse_color(arguments)))
        self.width = max(40, terminal_columns() or 80)


def use_server(
    arguments: Arguments, spec: ServerSpec, work: Callable[[SingleServer, Launcher], int]
) -> int:
    """Start or connect to the server, do the work, and stop it; return the exit code."""
    hide_secrets(spec.secrets)
    progress = _Progress(spec.name)
    while_waiting = progress.tick if progress.is_wanted else None
    with (
        Interrupts() as interrupts,
        launching(
            interrupts, None, judges=False, keeps_traffic=True, while_waiting=while_waiting
        ) as launcher,
    ):
        try:
            return _visit(arguments, SingleServer(spec, launcher, progress.clear), launcher, work)
        except InterruptedRunError:
            raise InterruptedRunError("interrupted; the server was stopped") from None
        finally:
            progress.clear()


def _visit(
    arguments: Arguments,
    visit: SingleServer,
    launcher: Launcher,
    work: Callable[[SingleServer, Launcher], int],
) -> int:
    status = int(ExitCode.NO_SERVER)
    fault: Fault | None = None
    try:
        visit.open()
        if visit.spec.http and visit.spec.http.insecure_tls:
            print_note("the certificate of the server was not checked, as its settings ask")
        status = int(ExitCode.FAILED)
        status = work(visit, launcher)
    except ServerError as error:
        fault = visit.redact(error.fault)
    finally:
        visit.close()
    if fault:
        print_fault(fault, arguments)
    elif status == ExitCode.FAILED or arguments.has("--verbose"):
        print_stderr(visit.stderr)
    return status


class _Progress:
    """A progress line on a terminal, cleared before other output."""

    def __init__(self, name: str) -> None:
        self.is_wanted = sys.stderr.isatty()
        self._name = visible(name)
        self._began = time.monotonic()
        self._shown_s = 0

    def tick(self) -> None:
        waited = int(time.monotonic() - self._began)
        # Not in the first second: most servers need less.
        if waited > self._shown_s:
            self._shown_s = waited
            write_stderr(f"\r\x1b[Kwaiting for {self._name} … {waited} s")

    def clear(self) -> None:
        self._began = time.monotonic()
        if self._shown_s:
            self._shown_s = 0
            write_stderr("\r\x1b[K")


def print_note(text: str) -> None:
    """Print a note to standard error."""
    write_stderr(f"note: {text}\n")


def print_fault(fault: Fault, arguments: Arguments) -> None:
    """Print how the server failed; with --json also as a JSON report."""
    lines = [f"error: {fault_headline(fault)}"]
    lines += [line.text for line in fault_details(fault, verbose=arguments.has("--verbose"))]
    write_stderr("\n".join(lines) + "\n")
    if arguments.has("--json"):
        _write_failure(fault.kind, fault.message)


def _write_failure(kind: str, message: str) -> None:
    started_at = utc_now()
    StandardOutput().write_utf8(render_failure(kind, message, (), __version__, started_at))


def print_stderr(stderr: str) -> None:
    """Print what the server wrote to stderr, escaped, each line behind a bar."""
    lines = [line.text for line in stderr_lines(stderr)]
    if lines:
        write_stderr("\n".join(lines) + "\n")


def ask_and_show(
    visit: SingleServer,
    method: str,
    params: Message,
    arguments: Arguments,
    render: Callable[[Message, Paint], list[str]],
) -> Message | None:
    """Show the result of a request; if the server refused it, report that and return None."""
    style = OutputStyle(arguments)
    answer = visit.ask(method, params)
    if style.is_raw:
        write_json(answer)
    result = answer.get("result")
    if not isinstance(result, dict):
        is_error = "error" in answer
        said = describe_error(answer["error"]) if is_error else "its result is not an object"
        message = f"the server refused {method}: {said}"
        write_stderr(f"error: {message}\n")
        if arguments.has("--json") and not style.is_raw:
            _write_failure("refused", message)
        return None
    if style.is_pretty:
        write_lines(render(result, style.paint))
    elif not style.is_raw:
        write_json(result)
    return result


def find_feature(visit: SingleServer, kind: Kind, name: str, advice: str) -> Message | None:
    """Return what the server lists under this name; with advice, raise if there is nothing."""
    listing = list_features(visit.ask, kind)
    found = listing.find(name)
    if found is None and advice:
        if listing.problem:
            print_note(f"{kind.name}: {listing.problem}")
        raise unknown_name(kind.noun, name, listing.names, advice)
    return found


def report_unfinished(visit: SingleServer) -> bool:
    """Report that the last answer does not complete the call; return True if so."""
    why = visit.unfinished
    if why:
        write_stderr(f"error: the call was not completed: {why}\n")
    return bool(why)


def write_json(value: object) -> None:
    """Print a value as one line of JSON that is safe for terminals and CI systems."""
    StandardOutput().write_utf8(defuse_markers(printable_json(dump_json(value))) + "\n")


def write_lines(lines: list[str]) -> None:
    StandardOutput().write("".join(f"{line}\n" for line in lines))


# What a server offers

# Widest column of names and types of parameters.
_MAX_COLUMN = 28


def render_listings(listings: Iterable[Listing], paint: Paint, width: int) -> list[str]:
    """Render what a server offers: names, parameters, and descriptions cut to the width."""
    lines: list[str] = []
    has_required = False
    for listing in listings:
        lines += ["", paint.bold(f"{listing.kind.name} ({len(listing.features):,})")]
        for feature in listing.features:
            parameters = list(_parameters(listing.kind.name, feature))
            has_required |= any(required for *_, required in parameters)
            name = feature_name(feature, listing.kind)
            # Never cut: names are copied.
            lines.append(f"  {paint.green(visible(name))}")
            about = feature.get("description") or feature.get("title") or feature.get("name")
            if isinstance(about, str) and about != name:
                lines.append(f"    {_cut(about, width - 4)}")
            lines += _parameter_lines(parameters, paint, width)
    if has_required:
        lines += ["", paint.dim("* required")]
    return lines[1:]


def _parameters(kind: str, feature: Message) -> Iterator[Parameter]:
    if kind == "tools":
        walker = SchemaWalker(feature.get("inputSchema"))
        schema = walker.root().schema
        required = required_names(schema)
        for name, part in dict_at(schema, "properties").items():
            about = walker.resolve(part).schema.get("description")
            yield name, describe_type(part, walker), _text(about), name in required
    elif kind == "prompts" and isinstance(feature.get("arguments"), list):
        for argument in feature["arguments"]:
            if isinstance(argument, dict) and isinstance(argument.get("name"), str):
                is_required = argument.get("required") is True
                yield argument["name"], "", _text(argument.get("description")), is_required


def _parameter_lines(parameters: list[Parameter], paint: Paint, width: int) -> Iterator[str]:
    """Render one line for each parameter, in columns; the last gets the remaining width."""
    names = [
        _cut(name, _MAX_COLUMN) + ("*" if required else "") for name, *_, required in parameters
    ]
    kinds = [_cut(kind, _MAX_COLUMN) for _, kind, *_ in parameters]
    name_width = max(map(len, names), default=0)
    kind_width = max(map(len, kinds), default=0)
    room = width - 6 - name_width - 2 - kind_width - 2
    for name, kind, (*_, about, _) in zip(names, kinds, parameters, strict=True):
        rest = _cut(about, room) if room > 8 else ""
        columns = f"{name.ljust(name_width)}  {paint.dim(kind.ljust(kind_width))}  {rest}"
        yield f"      {columns}".rstrip()


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _cut(text: str, width: int) -> str:
    """Render text of a server on one line of at most `width` characters."""
    line = visible(" ".join(text[: 4 * width + 40].split()))
    return line if len(line) <= width else f"{line[: max(1, width - 1)]}…"


# What calls return

_MAX_JSON_CHARS = 20_000


def render_tool_result(result: Message, paint: Paint) -> list[str]:
    """Render the content of a tool's result, and its structured content below."""
    lines = [line for item in _list_at(result, "content") for line in _content(item, paint)]
    if "structuredContent" in result:
        lines.append(paint.dim("structuredContent:"))
        lines += _json(result["structuredContent"])
    if "content" not in result and "structuredContent" not in result:
        lines += _json(result)
    return lines


def render_resource(result: Message, paint: Paint) -> list[str]:
    """Render the contents of a resource."""
    contents = _list_at(result, "contents")
    lines: list[str] = []
    for each in contents:
        if len(contents) > 1 and isinstance(each, dict):
            lines.append(paint.bold(visible(str(each.get("uri")))))
        lines += _resource(each, paint)
    return lines


def render_messages(result: Message, paint: Paint) -> list[str]:
    """Render the messages of a prompt, each below its role."""
    lines: list[str] = []
    for message in _list_at(result, "messages"):
        if not isinstance(message, dict):
            lines += _json(message)
            continue
        lines.append(paint.bold(visible(str(message.get("role")))))
        content = message.get("content")
        for item in content if isinstance(content, list) else [content]:
            lines += [f"  {line}" for line in _content(item, paint)]
    return lines


def _list_at(result: Message, key: str) -> list[object]:
    value = result.get(key)
    return value if isinstance(value, list) else []


def _content(item: object, paint: Paint) -> Iterator[str]:
    if not isinstance(item, dict):
        yield from _json(item)
        return
    kind = item.get("type")
    if kind == "text" and isinstance(item.get("text"), str):
        yield from _text_lines(item["text"])
    elif kind in ("image", "audio"):
        yield paint.dim(f"[{kind} {_media(item)}, {_size(item.get('data'))}]")
    elif kind == "resource":
        yield from _resource(item.get("resource"), paint)
    elif kind == "resource_link":
        named = f"{item.get('name', '')} {item.get('uri', '')}".strip()
        yield paint.dim(f"[link {visible(named)}, {_media(item)}]")
    else:
        yield from _json(item)


def _resource(resource: object, paint: Paint) -> Iterator[str]:
    if not isinstance(resource, dict):
        yield from _json(resource)
    elif isinstance(resource.get("text"), str):
        yield from _text_lines(resource["text"])
    elif "blob" in resource:
        uri = visible(str(resource.get("uri", "")))
        yield paint.dim(f"[blob {uri}, {_media(resource)}, {_size(resource['blob'])}]")
    else:
        yield from _json(resource)


def _text_lines(text: str) -> list[str]:
    return visible(text, keep_newlines=True).removesuffix("\n").split("\n")


def _media(item: Message) -> str:
    return visible(str(item.get("mimeType", "of an unnamed type")))


def _size(data: object) -> str:
    """Return the size of base64-encoded data."""
    if not isinstance(data, str):
        return "without data"
    count = len(data.rstrip("=")) * 3 // 4
    return f"{count:,} byte{'s' if count != 1 else ''}"


def _json(value: object) -> list[str]:
    text = json.dumps(value, ensure_ascii=False, indent=2)
    if len(text) > _MAX_JSON_CHARS:
        return [show_json(value, _MAX_JSON_CHARS)]
    return visible(text, keep_newlines=True).split("\n")
