"""What a test expects: the response, stderr, exit code, times and notifications.

Every mistake is a complaint, and reading continues.
"""

from __future__ import annotations

from mcptest.core.diagnostics import closest
from mcptest.core.plan import Expectation, Performance
from mcptest.core.record import ABSENT
from mcptest.formats.keys import Fields, Key, Keys, kind_of, whole_number
from mcptest.matching.expectation import Compiler, Literal
from mcptest.matching.patterns import PREFIX
from mcptest.matching.values import to_text
from mcptest.protocol.jsonrpc import describe_id, id_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcptest.core.diagnostics import PathDiagnostic

    Message = dict[str, object]

__all__ = [
    "ANSWER_KEYS",
    "EXPECT_KEYS",
    "PERFORMANCE_KEYS",
    "SLIPPED_KEYS",
    "STDERR_EMPTY",
    "ExpectReader",
    "misplaced_keys",
    "refuse_misplaced",
]

STDERR_EMPTY = "toBeEmpty"

PERFORMANCE_KEYS = Keys(
    {
        "maxResponseTime": Key("duration", "The answer takes no longer.", "500ms"),
        "minResponseTime": Key("duration", "The answer takes at least as long.", "100ms"),
    }
)
EXPECT_KEYS = Keys(
    {
        "response": Key(
            "response",
            "The whole answer: what is written must be there, and nothing else.",
            {"result": {"match:partial": {"isError": False}}},
        ),
        "stderr": Key(
            "stderr",
            f"What was written to stderr meanwhile: {STDERR_EMPTY}, a string or a pattern.",
            STDERR_EMPTY,
            "match:ready",
        ),
        "exitCode": Key(whole_number(-64, 255), "The exit code of the server, when it ends.", 0),
        "performance": Key("performance", "How long the answer may take."),
        "notifications": Key(
            "notifications",
            "Notifications that must arrive: their methods, or whole messages.",
            ["notifications/progress"],
        ),
    }
)
# The keys of an answer.
ANSWER_KEYS = frozenset(["jsonrpc", "id", "result", "error"])

# Keys that belong under `expect` and are often written one level too high.
SLIPPED_KEYS = ("stderr", "performance")
_SLIPPED = frozenset(SLIPPED_KEYS)
_NEVER_SLIPPED = tuple(key for key in EXPECT_KEYS if key not in _SLIPPED)

_EMPTY_PARTIAL: Message = {"match:partial": {}}


def misplaced_keys(test: Message) -> tuple[str, ...]:
    """Return the keys of `expect` that are beside it, where they are not read."""
    return tuple(key for key in _NEVER_SLIPPED if test.get(key) is not None)


def refuse_misplaced(fields: Fields) -> None:
    """Report every key that is beside `expect` and belongs under it."""
    inner = fields.mapping.get("expect")
    for key in misplaced_keys(fields.mapping):
        if isinstance(inner, dict) and key in inner:
            fields.complain(key, "F003", *_twice(key))
        else:
            help = "indent it, so that it stands below expect: and not beside it"
            fields.complain(key, "F006", f'"{key}" belongs under "expect"', help)


def _twice(key: str) -> tuple[str, str]:
    message = f'"{key}" stands here and under "expect"; only one of them can count'
    return message, 'keep the one under "expect"'


class ExpectReader:
    """Reads the expectations of one file."""

    def __init__(self, compiler: Compiler) -> None:
        self._compiler = compiler
        self.complaints: list[PathDiagnostic] = compiler.complaints

    def read(self, fields: Fields, request: Message, *, is_short: bool) -> Expectation:
        """Return what the test expects of the answer to its request."""
        holders = self._holders(fields)
        # Only what is written: most tests leave most fields at their defaults.
        said: dict[str, Any] = {}
        if "response" in holders:
            said["response"] = self._response(holders["response"], request, is_short)
        if "stderr" in holders:
            said["stderr"] = self._stderr(holders["stderr"])
        if "notifications" in holders:
            said["notifications"] = self._notifications(holders["notifications"])
        if self._compiler.has_seen_any:
            said |= self._seen()
            self._compiler.forget()
        if "exitCode" in holders:
            said["exit_code"] = holders["exitCode"].whole_number(
                "exitCode", *EXPECT_KEYS["exitCode"].bounds, 0
            )
        if "performance" in holders:
            said["performance"] = self._performance(holders["performance"], request)
        return Expectation.made_of(said)

    def _seen(self) -> dict[str, bool]:
        """Return what the compiler found in the expectations of a test."""
        compiler = self._compiler
        return {
            "has_regex": compiler.has_seen_regex,
            "has_foreign_check": compiler.has_seen_foreign,
            "has_remote_check": compiler.has_seen_remote,
            "may_check_nothing": compiler.may_check_nothing,
        }

    def _holders(self, fields: Fields) -> dict[str, Fields]:
        """Return the mapping that holds each key: `expect`, or the test itself."""
        test = fields.mapping
        inner = fields.mapping_at("expect") if test.get("expect") is not None else None
        holders: dict[str, Fields] = {}
        if inner:
            if not inner.mapping.keys() <= EXPECT_KEYS.keys():
                inner.refuse_unknown(EXPECT_KEYS, '"expect"')
            holders = dict.fromkeys(inner.mapping, inner)
            if _SLIPPED.isdisjoint(test) and holders and None not in inner.mapping.values():
                return holders
        for key in SLIPPED_KEYS:
            if key in test:
                self._take_slipped(key, fields, holders)
        if any(holder.mapping[key] is not None for key, holder in holders.items()):
            return holders
        if misplaced_keys(test):
            # A key in the wrong place has been reported already.
            return {}
        if holders or inner or test.get("expect", ABSENT) is None:
            message = '"expect" is empty: this test would check nothing'
            fields.complain("expect", "F011", message, f"say one of: {', '.join(EXPECT_KEYS)}")
        return {}

    def _take_slipped(self, key: str, fields: Fields, holders: dict[str, Fields]) -> None:
        if key in holders:
            fields.complain(key, "F003", *_twice(key))
            return
        message = f'"{key}" belongs under "expect"; it is read as if it stood there'
        fields.complain(key, "W001", message, severity="warning")
        holders[key] = fields

    def _response(self, fields: Fields, request: Message, is_short: bool) -> object:
        value = fields.mapping["response"]
        if not isinstance(value, dict) and not _is_pattern(value):
            message = f'"response" must be the answer as an object and is {kind_of(value)}'
            fields.complain("response", "F008", message, on_key=False)
            return ABSENT
        if isinstance(value, dict):
            self._refuse_impossible(fields, value, request)
            if is_short and not _has_directive(value):
                value = self._in_envelope(fields, value, request)
        return self._compiler.compile_at(value, (*fields.steps, "response"))

    def _in_envelope(self, fields: Fields, response: Message, request: Message) -> Message:
        """Check the response of a short form, whose envelope is not written."""
        for key in response:
            if key not in ANSWER_KEYS:
                message = f'no answer has a key "{key}" at its top'
                help = f"what a server answers stands under result: or error:, so put {key} there"
                fields.at(("response", key)).complain("", "F017", message, help)
        return {"jsonrpc": "2.0", "id": request["id"]} | response

    def _refuse_impossible(self, fields: Fields, response: Message, request: Message) -> None:
        """Report expectations that no answer can meet, or that every answer meets."""
        if request and "id" not in request:
            message = 'the request has no "id", so it is a notification and no response will come'
            fields.complain("response", "F017", message, 'give the request an "id"')
        if response == _EMPTY_PARTIAL:
            fields.complain("response", "F011", '"match:partial" is empty: every answer meets it')
        if not response:
            fields.complain("response", "F017", "no answer is an empty object")
        for key in EXPECT_KEYS.keys() & response.keys():
            message = f'no answer has a key "{key}"; it belongs beside "response", not in it'
            fields.at(("response", key)).complain("", "F017", message)
        version = response.get("jsonrpc", "2.0")
        if version != "2.0" and _plain(version) != "2.0" and not _is_pattern(version):
            message = 'every answer says jsonrpc: "2.0", in quotes'
            fields.at(("response", "jsonrpc")).complain("", "F017", message, on_key=False)
        if "id" in request and not _may_be_id(response.get("id"), request["id"]):
            message = f"the request has {describe_id(request['id'])}, and so will the answer"
            fields.at(("response", "id")).complain("", "F017", message, on_key=False)

    def _stderr(self, fields: Fields) -> object:
        value = fields.mapping["stderr"]
        if isinstance(value, Literal):
            return to_text(value.value).strip()
        if not isinstance(value, str):
            message = f'"stderr" must be toBeEmpty, a text or a pattern and is {kind_of(value)}'
            fields.complain("stderr", "F008", message, on_key=False)
            return ABSENT
        if value == STDERR_EMPTY:
            return ""
        if closest(value, [STDERR_EMPTY]):
            message = f'"{value}" is no word for stderr; did you mean "{STDERR_EMPTY}"?'
            fields.complain("stderr", "F012", message, on_key=False)
        return self._compiler.compile_at(value.strip(), (*fields.steps, "stderr"))

    def _performance(self, fields: Fields, request: Message) -> Performance | None:
        inner = fields.mapping_at("performance")
        if inner is None:
            return None
        inner.refuse_unknown(PERFORMANCE_KEYS, '"performance"')
        if request and "id" not in request:
            message = "a notification has no answer whose time could be taken"
            fields.complain("performance", "F017", message)
        if all(value is None for value in inner.mapping.values()):
            fields.complain("performance", "F011", '"performance" is empty: it checks nothing')
            return None
        longest = inner.duration_s("maxResponseTime")
        shortest = inner.duration_s("minResponseTime")
        if longest and shortest and shortest > longest:
            message = '"minResponseTime" is more than "maxResponseTime"'
            inner.complain("minResponseTime", "F017", message)
        return Performance(max_response_s=longest, min_response_s=shortest)

    def _notifications(self, fields: Fields) -> tuple[object, ...]:
        wanted = fields.list_at("notifications")
        if not wanted and isinstance(fields.mapping["notifications"], list):
            message = '"notifications" is empty: it checks nothing'
            fields.complain("notifications", "F011", message)
        return tuple(
            self._notification(fields.at(("notifications", index)), item)
            for index, item in enumerate(wanted)
        )

    def _notification(self, place: Fields, value: object) -> object:
        """Compile a notification: a string is its method, a mapping the whole message."""
        if isinstance(value, (str, Literal)):
            value = {"match:partial": {"method": value}}
        elif not isinstance(value, dict):
            message = f"a notification is a method or a whole message and is {kind_of(value)}"
            place.complain("", "F008", message, on_key=False)
        elif not _has_directive(value):
            value = {"jsonrpc": "2.0"} | value
        return self._compiler.compile_at(value, place.steps)


def _plain(value: object) -> object:
    return value.value if isinstance(value, Literal) else value


def _has_directive(value: Message) -> bool:
    return any(key.startswith(PREFIX) for key in value)


def _may_be_id(wanted: object, sent: object) -> bool:
    """True if an answer to `sent` can have this id; an error may have none, or null."""
    wanted = wanted.value if isinstance(wanted, Literal) else wanted
    if isinstance(wanted, str):
        return wanted == sent or _is_pattern(wanted)
    return wanted is None or id_key(wanted) == id_key(sent)


def _is_pattern(value: object) -> bool:
    return isinstance(value, str) and value.startswith(PREFIX)
