"""The faults of servers: their messages, hints and evidence."""

from __future__ import annotations

import os

from mcptest.core.results import Evidence, Fault
from mcptest.core.strict_json import dump_json
from mcptest.core.text import quote_bytes, show_json, visible
from mcptest.core.value_class import ABSENT
from mcptest.protocol.framing import PLAIN_TEXT
from mcptest.protocol.jsonrpc import describe_id
from mcptest.protocol.session import INITIALIZE_ID
from mcptest.transport.process.stopping import describe_exit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcptest.core.errors import PatternTimeoutError
    from mcptest.core.plan import Limits, ServerSpec
    from mcptest.protocol.framing import Noise, Overlong, TransportFault
    from mcptest.protocol.session import ProtocolViolated, UnexpectedResponse
    from mcptest.transport import Transport
    from mcptest.transport.process.stopping import Stopped

__all__ = [
    "NOISE",
    "REPORTED_RULES",
    "STRAYS",
    "add_flush_hint",
    "add_silence_hint",
    "channel_fault",
    "closed_stdin_fault",
    "describe_call",
    "describe_early_response",
    "describe_other_messages",
    "describe_unmatched_response",
    "describe_violation",
    "echo_fault",
    "exit_fault",
    "format_seconds",
    "line_too_long_fault",
    "lost_worker_fault",
    "malformed_line_fault",
    "missing_value_fault",
    "not_ready_fault",
    "output_budget_fault",
    "partly_read_fault",
    "quote_line",
    "quote_message",
    "slow_pattern_fault",
    "timeout_fault",
    "unread_replies_fault",
    "unread_request_fault",
    "unusable_value_fault",
    "violation_fault",
    "with_evidence",
]

STRAYS = {
    "unknown_id": "the server sent an answer whose id belongs to no open request",
    "duplicate_response": "the server answered one request twice; the first answer counts",
    "early_response": "the server answered before it was asked; that answer does not count",
    "late_response": "the server answered after its time was up",
    "misplaced_response": "the server sent an answer elsewhere than in the response to the POST "
    "of its request; it does not count",
    "unattributed_error": "the server sent an error without an id, which answers no request",
}

# Rules whose violation a finding or a fault of this kind reports.
REPORTED_RULES = {
    "malformed_line": frozenset(["STDIO-01", "STDIO-02", "STDIO-03", "BASE-02"]),
    "protocol_violation": frozenset(
        ["BASE-01", "BASE-03", "BASE-04", "BASE-09", "BASE-11", "BASE-17", "STDIO-01"]
    ),
    "unknown_id": frozenset(["BASE-08"]),
    "duplicate_response": frozenset(["BASE-08"]),
    "late_response": frozenset(["BASE-08"]),
}

NOISE = "the server wrote to stdout something that is not a message; logs belong on stderr"
_NOISE_ADVICE = "stdout is for messages only; logs and banners belong on stderr"

# The hint for a server that does not answer `server/discover`.
_NO_DISCOVERY = (
    "it is running; one with a handshake may not know this request: leave out --spec-version"
)

# How the names of files end that an interpreter is given.
_SCRIPT_ENDINGS = (
    *(".py", ".pyz", ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".tsx", ".rb", ".php", ".pl"),
    *(".lua", ".sh", ".ps1", ".jar", ".dll", ".exs", ".go", ".kts", ".csx", ".wasm"),
)

# Output up to this size is quoted in full.
_QUOTED_BYTES = 200

_TAIL_LINES = 20
_TAIL_BYTES = 4000


def with_evidence(
    fault: Fault, wire: Transport, exit_status: str = "", exit_code: int | None = None
) -> Fault:
    """The fault with its command, exit status and the end of its output."""
    wire.drain_stderr()
    http = wire.spec.http
    stdout = wire.redact_output(wire.stdout_tail.since(wire.stdout_mark)[0])
    is_small = not wire.is_pipe and len(stdout) <= _QUOTED_BYTES
    is_quoted = is_small and quote_bytes(stdout) in fault.message
    return fault.but(
        evidence=Evidence(
            command=wire.spec.command,
            cwd=wire.spec.cwd if wire.spec.command else "",
            url=http.url if http else "",
            exit_status=exit_status,
            exit_code=exit_code,
            stderr_tail=_tail(wire.redact_output(wire.stderr.tail())),
            stdout_tail=_tail(b"" if is_quoted else stdout),
        )
    )


def describe_call(method: str, id: object) -> str:
    """The method and id of a request."""
    if id == INITIALIZE_ID:
        return "initialize"
    return f"{visible(method) or 'the request'} ({visible(describe_id(id))})"


def quote_message(message: object) -> str:
    """A message from the server, shortened."""
    return quote_bytes(dump_json(message).encode("utf-8", "backslashreplace"))


def quote_line(head: bytes, size: int, limit: int = 200) -> str:
    """The beginning of a line, of which only the head was kept."""
    rest = size - limit
    return quote_bytes(head[:limit]) + (f" … ({rest:,} more bytes)" if rest > 0 else "")


def format_seconds(duration_s: float) -> str:
    return f"{duration_s:g} s" if duration_s >= 1 else f"{duration_s * 1000:g} ms"


def not_ready_fault(spec: ServerSpec, wire: Transport) -> Fault:
    fault = Fault(
        kind="handshake_timeout",
        message=f"the server did not write {visible(spec.ready_pattern)!r} to stderr within "
        f"{format_seconds(spec.startup_timeout_s)}",
        hint=f'"readyPattern" is a regular expression over stderr; {spec.start_limit}',
    )
    return with_evidence(fault, wire)


def timeout_fault(
    wire: Transport, method: str, id: object, limit_s: float, hints: list[str]
) -> Fault:
    """No answer in time; the hint begins with the most likely reason."""
    closed = "it has closed its stdin, so it cannot read requests" if wire.has_no_reader else ""
    hint = _join(closed, wire.progress(id), _describe_reasons(wire, hints, is_running=True))
    if wire.unsent_bytes:
        fault = Fault(
            kind="stdin_blocked",
            message=f"the server stopped reading: {wire.unsent_bytes:,} bytes of "
            f"{describe_call(method, id)} could not be written within {format_seconds(limit_s)}",
            hint=hint,
            effect="indefinite",
        )
    elif method in ("initialize", "server/discover"):
        is_unknown = method == "server/discover" and not hint
        limit = _join(hint or "it is running", wire.spec.start_limit)
        fault = Fault(
            kind="handshake_timeout",
            message=f"the server did not answer {method} within {format_seconds(limit_s)}",
            hint=_NO_DISCOVERY if is_unknown else limit,
        )
    else:
        fault = Fault(
            kind="timeout",
            message=f"no answer to {describe_call(method, id)} within {format_seconds(limit_s)}",
            hint=hint,
            effect="indefinite",
        )
    return with_evidence(fault, wire)


def partly_read_fault(method: str, id: object, wire: Transport, unsent_bytes: int) -> Fault:
    fault = Fault(
        kind="stdin_blocked",
        message=f"the server answered {describe_call(method, id)} before it had read it: "
        f"{unsent_bytes:,} bytes are still unread",
        effect="indefinite",
    )
    return with_evidence(fault, wire)


def describe_early_response(id: object) -> str:
    """The hint that an answer came too early."""
    return f"an answer with {visible(describe_id(id))} came before the request was sent"


def unread_request_fault(method: str, id: object, wire: Transport) -> Fault:
    """An answer came, although nothing of the request has been read."""
    fault = Fault(
        kind="early_response",
        message=f"the server answered {describe_call(method, id)} and has read nothing of it",
        hint="it does not read its stdin: is it an MCP server?",
        effect="indefinite",
    )
    return with_evidence(fault, wire)


def closed_stdin_fault(method: str, wire: Transport) -> Fault:
    message = f"the server has closed its stdin and cannot read {visible(method)}"
    return with_evidence(Fault(kind="stdin_blocked", message=message), wire)


def unread_replies_fault(wire: Transport) -> Fault:
    fault = Fault(
        kind="stdin_blocked",
        message=f"the server asks and does not read: {wire.unsent_bytes:,} bytes of answers to "
        "its requests are waiting",
        effect="indefinite",
    )
    return with_evidence(fault, wire)


def add_silence_hint(fault: Fault, since: str) -> Fault:
    """The fault with the earlier timeout that may be its cause."""
    if not since:
        return fault
    sentence = f"it has not answered anything since {since} timed out"
    return fault.but(hint=_join(sentence, fault.hint))


def exit_fault(
    wire: Transport, when: str, stopped: Stopped | None, hints: list[str], was_open: bool
) -> Fault:
    """The server exited or closed its stdout when it should not."""
    # A test may do the handshake itself: then the first sign of life tells that it has started.
    has_started = was_open and wire.stdout_tail.total
    hint = _join(
        _describe_reasons(wire, hints, is_running=False),
        "" if has_started else _describe_wrong_folder(wire.spec),
    )
    if stopped is None:
        what = "closed its stdout and went on running" if wire.is_pipe else "ended its stream"
        message = f"the server {what} {when}"
        status = "still running; it was stopped" if wire.spec.command else ""
    else:
        status = describe_exit(stopped.exit_code)
        message = f"the server ended ({status}) {when}"
    fault = Fault(
        kind="exited_during_call" if was_open else "exited_early",
        message=message,
        hint=hint,
        effect="indefinite" if was_open else "definite",
    )
    return with_evidence(fault, wire, status, stopped.exit_code if stopped else None)


def channel_fault(fault: TransportFault) -> Fault:
    """A message, or the answer to it, did not get through."""
    return Fault(
        kind=fault.kind,
        message=fault.message,
        hint=fault.hint,
        effect=fault.effect,
        code=fault.code,
    )


def malformed_line_fault(noise: Noise) -> Fault:
    at = f" at column {noise.column}" if noise.column else ""
    hint = ""
    if noise.raw.count(b'"jsonrpc"') > 1:
        hint = "two messages are mixed on one line: does it write from several threads at once?"
    elif noise.reason == PLAIN_TEXT:
        hint = f"something else was written on the same line; {_NOISE_ADVICE}"
    return Fault(
        kind="malformed_line",
        message=f"the answer is not JSON{at}: {noise.reason}: {quote_line(noise.raw, noise.size)}",
        hint=hint,
        effect="indefinite",
    )


def violation_fault(event: ProtocolViolated) -> Fault:
    message = describe_violation(event, with_quote=True)
    return Fault(kind="protocol_violation", message=message, effect="indefinite")


def describe_violation(event: ProtocolViolated, *, with_quote: bool = False) -> str:
    where = f" at {event.path}" if event.path else ""
    sentence = f"the server sent a message that breaks JSON-RPC{where}: {event.reason}"
    return f"{sentence}: {quote_message(event.message)}" if with_quote else sentence


def line_too_long_fault(line: Overlong, limit: str) -> Fault:
    return Fault(
        kind="line_too_long",
        message=f"the server wrote more than {line.limit:,} bytes without a newline; it begins "
        f"{quote_bytes(line.raw[:60])} …",
        hint=f"each message must end with a newline; {limit}",
        effect="indefinite",
    )


def output_budget_fault(limits: Limits, messages: int, size: int, wire: Transport) -> Fault:
    fault = Fault(
        kind="output_budget",
        message=f"the server sent {messages:,} messages, {size:,} bytes, during one call and did "
        f"not answer it (limits: {limits.max_messages_per_call:,} messages, "
        f"{limits.max_bytes_per_call:,} bytes)",
        effect="indefinite",
    )
    return with_evidence(fault, wire)


def slow_pattern_fault(error: PatternTimeoutError) -> Fault:
    what = f"matching {visible(error.pattern)}" if error.pattern else "comparing this answer"
    return Fault(
        kind="pattern_too_slow",
        message=f"{what} took more than {format_seconds(error.limit_s)} of "
        "computing and was stopped; whether it matches is not known",
        hint="repeats inside repeats, such as (a+)+, try endless ways to split a text",
    )


def missing_value_fault(names: Sequence[str]) -> Fault:
    listed = ", ".join(f"${{{visible(name)}}}" for name in names)
    return Fault(
        kind="missing_capture",
        message=f"not sent: it needs {listed}, which no test has captured in this run",
        hint="the test that captures it failed, was skipped or was not selected",
    )


def unusable_value_fault(values: Mapping[str, object], reason: str) -> Fault:
    listed = ", ".join(f"{visible(name)} = {show_json(value)}" for name, value in values.items())
    return Fault(
        kind="unusable_capture",
        message=f"not sent: with {listed} this test makes no sense: {visible(reason)}",
    )


def lost_worker_fault(how: str, hint: str = "") -> Fault:
    return Fault(
        kind="worker_lost",
        message=f"not known: the process of mcptest that ran this file {how} before the test "
        "was over",
        hint=hint or "for lack of memory, perhaps; try a lower --parallel",
        effect="indefinite",
    )


def describe_unmatched_response(event: UnexpectedResponse, awaited: object) -> str:
    """The hint that an answer came with an id that no request has."""
    came = event.message.get("id", ABSENT)
    hint = f"an answer with {visible(describe_id(came))} came"
    same_text = str(came) == str(awaited) or came == awaited
    if awaited is not ABSENT and same_text and type(came) is not type(awaited):
        names = {int: "a number", str: "text", float: "a fraction", bool: "a boolean"}
        hint += f": the id must come back as it was sent, {names.get(type(awaited), 'unchanged')}"
    return hint


def describe_other_messages(messages: int) -> list[str]:
    """The hint that other messages came, if any did."""
    many = f"{messages:,} other messages" if messages > 1 else "another message"
    return [f"{many} came meanwhile"] if messages else []


def _describe_reasons(wire: Transport, hints: list[str], *, is_running: bool) -> str:
    """The likely reasons of a missing answer; a server that is running may send the rest."""
    if hints and "Content-Length" in hints[0]:
        return hints[0]  # the missing newline is part of the same mistake
    partial = reason = ""
    head, size = wire.decoder.remainder
    if size:
        many = f"{size:,} bytes" if size > 1 else "1 byte"
        quote = quote_line(wire.redact_output(head), size, 100)
        partial = f"{many} came without the newline that ends a message: {quote}"
        if is_running:
            partial += "; does it write one, and flush stdout after it?"
    if hints:
        more = f" (and {len(hints) - 1:,} more such)" if len(hints) > 1 else ""
        advice = f"; {_NOISE_ADVICE}" if PLAIN_TEXT in hints[0] else ""
        reason = f"{hints[0]}{more}{advice}"
    return _join(partial, reason)


def add_flush_hint(fault: Fault, spec: ServerSpec) -> Fault:
    """The fault of a handshake that was answered only when stdin was closed."""
    hint = (
        "its answer came only when its stdin was closed: does it flush stdout after each "
        "message (in Python: print(…, flush=True), or python3 -u), or does it read all of its "
        f"input before it answers? if it is slow, {spec.start_limit}"
    )
    return fault.but(hint=hint)


def echo_fault() -> Fault:
    message = "the server sends back what it is sent: is it an MCP server?"
    return Fault(kind="protocol_violation", message=message)


def _describe_wrong_folder(spec: ServerSpec) -> str:
    """The hint that an argument is a path to a file that is not in the server's folder."""
    folder = spec.cwd or os.getcwd()
    # The command line, and SDKs, have other names for it than files.
    other = '"cwd" names another folder' if spec.is_named else "give the whole path"
    for word in spec.command[1:]:
        path = os.path.join(folder, word)
        if not word or os.path.isabs(word) or os.path.exists(path):
            continue
        where = f"the server was started in {visible(folder)}"
        if os.path.exists(word):
            return (
                f"{visible(word)!r} exists in {visible(os.getcwd())}, but {where}; paths in its "
                f"arguments are taken from there; {other}"
            )
        if _is_script_path(word) and not _is_below_argument(word, spec.command, folder):
            return f"{where}, and there is no {visible(word)!r}; {other}"
    return ""


def _is_script_path(word: str) -> bool:
    """Whether an argument looks like a relative path to a script."""
    if word.startswith(("-", "@")) or "://" in word or any(map(str.isspace, word)):
        return False
    return word.startswith(("./", "../")) or word.endswith(_SCRIPT_ENDINGS)


def _is_below_argument(word: str, command: Sequence[str], folder: str) -> bool:
    """Whether another argument, as in `uv run --directory DIR server.py`, is the file's folder."""
    values = (each.partition("=")[2] or each for each in command[1:] if each != word)
    return any(os.path.exists(os.path.join(folder, value, word)) for value in values)


def _join(*sentences: str) -> str:
    return "; ".join(sentence for sentence in sentences if sentence)


def _tail(raw: bytes) -> str:
    text = raw[-_TAIL_BYTES:].decode("utf-8", "backslashreplace").rstrip("\n")
    return "\n".join(text.split("\n")[-_TAIL_LINES:])
