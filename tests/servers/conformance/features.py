"""The features of the server: tools, tasks, resources, prompts, completion and logging."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import sys
import threading
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote, urlsplit

from conformance.breaks import SETTINGS, broken
from conformance.eras import (
    CONNECTIONS,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    LEVELS,
    METHOD_NOT_FOUND,
    NOT_FOUND,
    SUBSCRIPTION,
    SUBSCRIPTIONS,
    TASKS_EXTENSION,
    A,
    B,
    C,
    Call,
    Connection,
    D,
    Dropped,
    E,
    RpcError,
    Subscription,
    method,
    missing_capability,
    parse,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.eras import Message

_STEP_S = 0.05
_LONGEST_S = 60.0


def parse_or_log(connection: Connection, line: bytes) -> Any:
    try:
        return parse(line)
    except RpcError as error:
        if broken("LOG-01") and connection.revision:
            connection.notify("notifications/message", {"level": "error", "data": str(error)})
        raise


# Pages

_PAGE_SIZES = {"resources": 3}
_used_cursors: Counter[str] = Counter()


def page(call: Call, kind: str, items: list[Message], check: str = "PAGE-03") -> Message:
    """One page of a list; cursors are opaque, and others than ours are refused."""
    size, start = _PAGE_SIZES.get(kind, 50), 0
    cursors = {_cursor(kind, each): each for each in range(size, len(items), size)}
    cursor = call.params.get("cursor")
    if cursor is not None:
        if not isinstance(cursor, str) or cursor not in cursors:
            if not broken(check):
                raise RpcError(INVALID_PARAMS, "there is no such cursor")
        else:
            start = cursors[cursor]
    shown = items[start : start + size]
    _used_cursors[str(cursor)] += 1
    if broken("PAGE-04") and _used_cursors[str(cursor)] % 2:
        shown.reverse()
    result: Message = {kind: shown}
    if start + size < len(items):
        result["nextCursor"] = _cursor(kind, start + size)
    elif broken("PAGE-02") and kind == "resources":
        result["nextCursor"] = _cursor(kind, size)
    return result


def _cursor(kind: str, start: int) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(f"{kind} {start}".encode()).digest()).decode()


# Tools


class Tool(NamedTuple):
    name: str
    description: str
    run: Callable[[Call, Message], Message]
    properties: Message
    required: tuple[str, ...] = ()
    is_read_only: bool = True
    tasks: str = ""
    output: Message | None = None
    since: str = A
    is_blocking: bool = False

    def definition(self, revision: str) -> Message:
        """The tool as a revision shows it."""
        properties = self.properties
        if revision < E:
            properties = {
                name: {key: value for key, value in each.items() if key != "x-mcp-header"}
                for name, each in properties.items()
            }
        schema: Message = {"type": "object", "properties": properties}
        if self.required:
            schema["required"] = list(self.required)
        definition: Message = {
            "name": self.name,
            "description": self.description,
            "inputSchema": schema,
        }
        if self.is_read_only and revision >= B:
            definition["annotations"] = {"readOnlyHint": True}
        if self.output and revision >= C:
            definition["outputSchema"] = self.output
        if self.tasks and revision == D and SETTINGS.has("tasks"):
            definition["execution"] = {"taskSupport": self.tasks}
        return definition


def text_result(text: str, is_error: bool = False) -> Message:
    result: Message = {"content": [{"type": "text", "text": text}]}
    return result | {"isError": True} if is_error else result


def _echo(call: Call, arguments: Message) -> Message:
    call.log("info", "echo was called")
    if broken("TOOL-22"):
        with Path("echoed.txt").open("a", encoding="utf-8") as file:
            file.write("echo was called\n")
    return text_result(arguments["text"])


def _add(call: Call, arguments: Message) -> Message:
    value = {"sum": arguments["a"] + arguments["b"]}
    result = text_result(json.dumps(value))
    return result | {"structuredContent": value} if call.revision >= C else result


def _sum_header(_: Call, arguments: Message) -> Message:
    return text_result(f"region {arguments.get('region', 'none')}")


def _slow(call: Call, arguments: Message) -> Message:
    """Work in steps; stderr shows how it ended, for checks that watch from the side."""
    seconds = min(arguments["seconds"], _LONGEST_S)
    steps = max(1, round(seconds / _STEP_S))
    call.report_progress(0, steps)
    for step in range(1, steps + 1):
        if call.is_cancelled() and not (call.answers_cancelled or broken("CANC-03")):
            sys.stderr.write("slow: cancelled\n")
            return text_result("cancelled", is_error=True)
        time.sleep(seconds / steps)
        if broken("CANC-03") or not call.cancelled.is_set():
            call.report_progress(step, steps)
    sys.stderr.write("slow: finished\n")
    return text_result(f"slept for {seconds} s")


def _fail(call: Call, _: Message) -> Message:
    call.log("error", "fail was called")
    return text_result("this tool always fails", is_error=True)


def _links(call: Call, _: Message) -> Message:
    uri = "file:///notes/missing.txt" if broken("TOOL-24") else "file:///notes/one.txt"
    if call.revision < C:
        return text_result(uri)
    return {"content": [{"type": "resource_link", "uri": uri, "name": "one.txt"}]}


def _log_all(call: Call, _: Message) -> Message:
    for level in LEVELS:
        call.log(level, f"a message of level {level}")
    return text_result("logged")


def _write_note(_: Call, arguments: Message) -> Message:
    sys.stderr.write("CALLED write_note\n")
    sys.stderr.flush()
    return text_result(f"wrote {arguments['text']}")


def _touch(_: Call, arguments: Message) -> Message:
    publish("notifications/resources/updated", arguments["uri"])
    return text_result("touched")


def _announce(_: Call, __: Message) -> Message:
    publish("notifications/resources/list_changed")
    return text_result("announced")


def _needs_tasks(call: Call, _: Message) -> Message:
    if not call.has_tasks_extension and not broken("XTASK-02"):
        raise _needs_extension()
    return text_result("done")


def _task_done(_: Call, __: Message) -> Message:
    return text_result("done")


_FORM = {
    "message": "What is your name?",
    "requestedSchema": {
        "type": "object",
        "properties": {"name": {"type": "string", "description": "Your name"}},
        "required": ["name"],
    },
}
_QUESTION = {
    "messages": [{"role": "user", "content": {"type": "text", "text": "Say hello."}}],
    "maxTokens": 20,
}


def _elicit(call: Call, _: Message) -> Message:
    declared = call.client.get("elicitation")
    can_ask = isinstance(declared, dict) and ("form" in declared or "url" not in declared)
    if call.revision < C or not can_ask:
        return _cannot_ask(call, "elicitation")
    answer = _ask(call, "elicitation/create", _FORM)
    if answer is None or "resultType" in answer:
        return answer or text_result("there was no answer", is_error=True)
    action, content = answer.get("action"), answer.get("content")
    if action != "accept" and broken("ELIC-08"):
        raise RpcError(INTERNAL_ERROR, "there is no answer")
    name = content.get("name") if isinstance(content, dict) else None
    if action == "accept" and not isinstance(name, str):
        return text_result("the answer has no name", is_error=True)
    return text_result(f"hello {name}" if action == "accept" else f"the user chose {action}")


def _sample(call: Call, _: Message) -> Message:
    if "sampling" not in call.client:
        return _cannot_ask(call, "sampling")
    answer = _ask(call, "sampling/createMessage", _QUESTION)
    if answer is None or "resultType" in answer:
        return answer or text_result("there was no answer", is_error=True)
    return text_result(f"the model said {json.dumps(answer.get('content'))}")


def _cannot_ask(call: Call, capability: str) -> Message:
    if call.is_stateless and not broken("BASE-35"):
        raise missing_capability({capability: {}})
    if call.is_stateless:
        raise RpcError(INTERNAL_ERROR, f"this needs {capability}")
    return text_result(f"this needs a client with {capability}", is_error=True)


def _ask(call: Call, name: str, params: Message) -> Message | None:
    """The answer of the client, or in the stateless era a result that asks for it."""
    if not call.is_stateless:
        response = call.ask(name, params)
        if response and "error" in response and broken("SAMP-07"):
            call.cancelled.set()
        answer = response.get("result") if response else None
        return answer if isinstance(answer, dict) else None
    # The state is valid for any process of this server, so the key is not generated again.
    subject = f"{call.params['name']} {json.dumps(call.params.get('arguments', {}))}"
    state = hmac.new(b"conformance", subject.encode(), "sha256").hexdigest()
    _states.add(state)
    responses = call.params.get("inputResponses")
    if responses is not None:
        if broken("MRTR-10") and not (isinstance(responses, dict) and _is_answered(responses)):
            responses = {"answer": {"action": "decline"}} if responses else {}
        if not isinstance(responses, dict):
            raise RpcError(INVALID_PARAMS, "inputResponses must be an object")
        given = call.params.get("requestState")
        is_known = broken("MRTR-06") or (broken("MRTR-07") and given in _states)
        if given != state and not is_known:
            raise RpcError(INVALID_PARAMS, "requestState is not the one that was given")
        if broken("MRTR-08") and not responses:
            raise RpcError(INVALID_PARAMS, "the answer is missing")
        if broken("MRTR-09") and set(responses) - {"answer"}:
            raise RpcError(INVALID_PARAMS, "there is an answer too many")
        if _is_answered(responses):
            answer = responses["answer"]
            return {key: value for key, value in answer.items() if key != "resultType"}
    requests = {"answer": {"method": name, "params": params}}
    return {"resultType": "input_required", "inputRequests": requests, "requestState": state}


_states: set[str] = set()


def _is_answered(responses: Message) -> bool:
    return isinstance(responses.get("answer"), dict)


_TEXT = {"text": {"type": "string", "description": "Any text"}}
_SECONDS = {"seconds": {"type": "number", "description": "How long it takes", "default": 0.05}}
_NUMBERS = {"a": {"type": "number"}, "b": {"type": "number"}}
_SUM = {"type": "object", "properties": {"sum": {"type": "number"}}, "required": ["sum"]}
_REGION = {"region": {"type": "string", "x-mcp-header": "Region"}}

_ALL_TOOLS = (
    Tool("echo", "Returns the text.", _echo, _TEXT, ("text",)),
    Tool("add", "Adds two numbers.", _add, _NUMBERS, ("a", "b"), output=_SUM),
    Tool("sum_header", "Its region is also a header.", _sum_header, _REGION),
    Tool(
        "slow",
        "Takes its time.",
        _slow,
        _SECONDS,
        ("seconds",),
        tasks="optional",
        is_blocking=True,
    ),
    Tool("fail", "Always fails.", _fail, {}, tasks="optional"),
    Tool("links", "Links to a resource.", _links, {}),
    Tool("log_all", "Logs a message of each level.", _log_all, {}),
    Tool("write_note", "Writes a note.", _write_note, _TEXT, ("text",), is_read_only=False),
    Tool("touch", "Changes a resource.", _touch, {"uri": {"type": "string"}}, ("uri",), False),
    Tool("announce", "Says that resources changed.", _announce, {}, is_read_only=False),
    Tool("task_required", "Is always a task.", _task_done, {}, tasks="required"),
    Tool("task_forbidden", "Is never a task.", _task_done, {}, tasks="forbidden"),
    Tool("needs_tasks", "Needs the tasks extension.", _needs_tasks, {}, (), False, since=E),
    Tool("elicit", "Asks the user for a name.", _elicit, {}, is_blocking=True),
    Tool("sample", "Asks the model for a text.", _sample, {}, is_blocking=True),
)
_TOOLS = {tool.name: tool for tool in _ALL_TOOLS}
_TYPES: dict[str, tuple[type, ...]] = {"string": (str,), "number": (int, float)}
_lists_made = 0


def is_blocking(message: object) -> bool:
    """True if a request may take long, so that it must not keep others waiting."""
    if not isinstance(message, dict) or not isinstance(message.get("params"), dict):
        return False
    if message.get("method") == "tasks/result":
        return True
    name = message["params"].get("name")
    tool = _TOOLS.get(name) if isinstance(name, str) else None
    return message.get("method") == "tools/call" and tool is not None and tool.is_blocking


@method("tools/list", "tools")
def list_tools(call: Call) -> Message:
    global _lists_made
    if broken("TOOL-02"):
        raise RpcError(INTERNAL_ERROR, "the list is not available")
    _lists_made += 1
    tools = [tool.definition(call.revision) for tool in _ALL_TOOLS if tool.since <= call.revision]
    if broken("TOOL-21") and _lists_made % 2 == 0:
        tools.reverse()
    if broken("LIFE-24") and call.is_stateless:
        own = Tool(f"tool_{call.connection.number}_{_PROCESS}", "Of one client.", _task_done, {})
        tools.append(own.definition(call.revision))
    if broken("CACHE-06") and call.is_stateless and call.connection.token:
        own = Tool(f"of_{call.connection.token[:5]}", "Of one user.", _task_done, {})
        tools.append(own.definition(call.revision))
    return page(call, "tools", tools)


_PROCESS = secrets.token_hex(4)


@method("tools/call", "tools")
def call_tool(call: Call) -> Message:
    name, arguments = call.params.get("name"), call.params.get("arguments", {})
    if not isinstance(name, str) and broken("BASE-19"):
        return text_result("which tool?")
    if not isinstance(name, str):
        raise RpcError(INVALID_PARAMS, "name must be the name of a tool")
    tool = _TOOLS.get(name)
    if tool is None or tool.since > call.revision:
        if broken("TOOL-18"):
            return text_result(f"there is no tool {name}", is_error=True)
        raise RpcError(INVALID_PARAMS, f"there is no tool {name!r}")
    if not isinstance(arguments, dict):
        raise RpcError(INVALID_PARAMS, "arguments must be an object")
    if call.headers is not None and call.is_stateless:
        call.headers.check_params(tool.properties, arguments)
    wants_task = _wants_task(call, tool)
    if problem := _argument_problem(tool, arguments):
        if broken("TOOL-17"):
            raise RpcError(INVALID_PARAMS, problem)
        if not broken("TOOL-16"):
            return text_result(problem, is_error=True)
        arguments = _repair(tool, arguments)
    return start_task(call, tool, arguments) if wants_task else tool.run(call, arguments)


def _argument_problem(tool: Tool, arguments: Message) -> str:
    """What is wrong with the arguments of a call; empty if nothing is."""
    for name in tool.required:
        if name not in arguments:
            return f"the argument {name} is missing"
    for name, value in arguments.items():
        if name not in tool.properties:
            return f"there is no argument {name}"
        type_ = tool.properties[name]["type"]
        if not isinstance(value, _TYPES[type_]) or isinstance(value, bool):
            return f"the argument {name} must be a {type_}"
    return ""


def _repair(tool: Tool, arguments: Message) -> Message:
    """Arguments that pass, made of any."""
    defaults = {"string": "", "number": 0}
    empty = {name: defaults[tool.properties[name]["type"]] for name in tool.required}
    good = {name: arguments[name] for name in arguments if name in tool.properties}
    return empty | {
        name: value
        for name, value in good.items()
        if not _argument_problem(tool._replace(required=()), {name: value})
    }


# Tasks: experimental in 2025-11-25, an extension in 2026-07-28


class Task:
    def __init__(self, ttl: object) -> None:
        self.id = "the-task" if broken("TASK-03") else secrets.token_urlsafe(18)
        self.ttl = ttl
        self.status = "completed" if broken("TASK-04") else "working"
        self.created = self.updated = _now()
        self.outcome: Message = {}
        self.done = threading.Event()
        self.lock = threading.Lock()
        self.call: Call | None = None

    def show(self, names: tuple[str, str]) -> Message:
        return {
            "taskId": self.id,
            "status": self.status,
            "createdAt": "today" if broken("TASK-06") else self.created,
            "lastUpdatedAt": self.updated,
            names[0]: self.ttl,
            names[1]: 100,
        }

    def end(self, status: str, outcome: Message) -> None:
        """Take the first terminal state; it never changes."""
        with self.lock:
            if not self.done.is_set() or (broken("TASK-13") and self.status == "cancelled"):
                self.status, self.outcome, self.updated = status, outcome, _now()
                self.done.set()


_HANDSHAKE_NAMES = ("ttl", "pollInterval")
_EXTENSION_NAMES = ("ttlMs", "pollIntervalMs")
_extension_tasks: dict[str, Task] = {}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _wants_task(call: Call, tool: Tool) -> bool:
    """True if the call becomes a task."""
    if not SETTINGS.has("tasks"):
        return False
    if call.is_stateless:
        is_task = tool.tasks in ("required", "optional") or tool.name == "needs_tasks"
        return is_task and (call.has_tasks_extension or broken("XTASK-01"))
    if call.revision != D:
        return False
    has_task = isinstance(call.params.get("task"), dict)
    if broken("TASK-01"):
        return has_task
    if tool.tasks == "required" and not has_task and not broken("TASK-16"):
        raise RpcError(METHOD_NOT_FOUND, f"{tool.name} must be called as a task")
    if has_task and tool.tasks not in ("required", "optional") and not broken("TASK-17"):
        raise RpcError(METHOD_NOT_FOUND, f"{tool.name} cannot be called as a task")
    return has_task and not broken("TASK-02")


def start_task(call: Call, tool: Tool, arguments: Message) -> Message:
    asked = call.params.get("task")
    task = Task(asked.get("ttl", 60_000) if isinstance(asked, dict) else 60_000)
    tasks = _extension_tasks if call.is_stateless else call.connection.tasks
    quiet = {"id": call.id, "method": call.method, "params": {"_meta": call.meta}}
    task.call = Call(call.connection, quiet, lambda _: None)

    def work() -> None:
        try:
            assert task.call
            result = tool.run(task.call, arguments)
        except RpcError as error:
            message = error.answer(None).message
            assert isinstance(message, dict)
            task.end("failed", {"error": message["error"]})
            return
        if result.get("isError") and call.is_stateless and broken("XTASK-05"):
            task.end("failed", {"error": {"code": INTERNAL_ERROR, "message": "the tool failed"}})
            return
        failed = result.get("isError") and not call.is_stateless
        task.end("failed" if failed else "completed", {"result": result})

    if not (call.is_stateless and broken("XTASK-03")):
        tasks[task.id] = task
    # The answer says that the task is working, so it begins only after that was written down.
    shown = task.show(_EXTENSION_NAMES if call.is_stateless else _HANDSHAKE_NAMES)
    threading.Thread(target=work, daemon=True).start()
    return {"resultType": "task"} | shown if call.is_stateless else {"task": shown}


def _find_task(call: Call) -> Task:
    if call.is_stateless and not call.has_tasks_extension and not broken("XTASK-09"):
        raise _needs_extension()
    id = call.params.get("taskId")
    tasks: dict[str, Task] = _extension_tasks if call.is_stateless else call.connection.tasks
    task = tasks.get(id) if isinstance(id, str) else None
    if task is None:
        check = "XTASK-08" if call.is_stateless else "TASK-11"
        raise RpcError(INTERNAL_ERROR if broken(check) else INVALID_PARAMS, "there is no such task")
    return task


def _needs_extension() -> RpcError:
    return missing_capability({"extensions": {TASKS_EXTENSION: {}}})


@method("tasks/get", "tasks", since=D)
def get_task(call: Call) -> Message:
    task = _find_task(call)
    if not call.is_stateless:
        return task.show(_HANDSHAKE_NAMES)
    with task.lock:
        outcome = {} if broken("XTASK-04") else task.outcome
        if "result" in outcome:
            outcome = {"result": {"resultType": "complete"} | outcome["result"]}
        return task.show(_EXTENSION_NAMES) | outcome


@method("tasks/cancel", "tasks", since=D)
def cancel_task(call: Call) -> Message:
    task = _find_task(call)
    if task.done.is_set() and not call.is_stateless and not broken("TASK-12"):
        raise RpcError(INVALID_PARAMS, f"the task is {task.status}")
    if task.call and not broken("TASK-13"):
        task.call.cancelled.set()
    cancelled = {"error": {"code": INTERNAL_ERROR, "message": "cancelled"}}
    task.end("cancelled", {} if call.is_stateless else cancelled)
    if call.is_stateless:
        return task.show(_EXTENSION_NAMES) if broken("XTASK-07") else {}
    return task.show(_HANDSHAKE_NAMES)


@method("tasks/list", "tasks", since=D, until=D)
def list_tasks(call: Call) -> Message:
    tasks = [] if broken("TASK-15") else list(call.connection.tasks.values())
    return page(call, "tasks", [task.show(_HANDSHAKE_NAMES) for task in tasks], "TASK-14")


@method("tasks/result", "tasks", since=D, until=E)
def task_result(call: Call) -> Message:
    if call.is_stateless:
        if broken("XTASK-10"):
            return text_result("this is the result")
        raise RpcError(METHOD_NOT_FOUND, "method not found: tasks/result", status=404)
    task = _find_task(call)
    while not broken("TASK-08") and not task.done.wait(_STEP_S):
        if call.is_cancelled():
            return {}
    outcome = task.outcome or {"result": text_result("not yet")}
    if "error" in outcome:
        error = outcome["error"]
        raise RpcError(error["code"], error["message"])
    result: Message = outcome["result"]
    if broken("TASK-10"):
        return result
    return result | {"_meta": {"io.modelcontextprotocol/related-task": {"taskId": task.id}}}


@method("tasks/update", "tasks", since=E)
def update_task(call: Call) -> Message:
    _find_task(call)
    if not isinstance(call.params.get("inputResponses"), dict):
        raise RpcError(INVALID_PARAMS, "inputResponses must be an object")
    return {}


# Resources

_PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
_FILES = {f"file:///notes/{name}.txt": f"This is note {name}." for name in ("one", "two", "three")}
_FILES |= {f"file:///notes/more/{name}.txt": f"Note {name}." for name in ("four", "five")}
_RESOURCES = [
    *({"uri": uri, "name": uri.rpartition("/")[2], "mimeType": "text/plain"} for uri in _FILES),
    {"uri": "image://pixel", "name": "pixel", "mimeType": "image/png"},
    {"uri": "live://clock", "name": "clock", "mimeType": "text/plain"},
]
_PEOPLE = ("alice", "anna", "bob")
_TEMPLATES = [{"uriTemplate": "person://{name}", "name": "person", "mimeType": "text/plain"}]


@method("resources/list", "resources")
def list_resources(call: Call) -> Message:
    if broken("RES-02"):
        raise RpcError(INTERNAL_ERROR, "the list is not available")
    return page(call, "resources", list(_RESOURCES))


@method("resources/templates/list", "resources")
def list_templates(call: Call) -> Message:
    return page(call, "resourceTemplates", list(_TEMPLATES))


@method("resources/read", "resources")
def read_resource(call: Call) -> Message:
    uri = call.params.get("uri")
    if not isinstance(uri, str):
        raise RpcError(INVALID_PARAMS, "uri must be a string")
    if not _is_uri(uri):
        if broken("RES-10"):
            return {"contents": [{"uri": uri, "mimeType": "text/plain", "text": "anything"}]}
        raise RpcError(INVALID_PARAMS, f"{uri!r} is not a URI")
    content = _content(uri)
    if content is not None:
        if broken("RES-05"):
            content = {"text": "both", "blob": "Ym90aA=="}
        return {"contents": [{"uri": uri} | content]}
    if call.is_stateless and broken("RES-09") and ".." not in unquote(uri):
        return {"contents": []}
    code = INVALID_PARAMS if call.is_stateless else NOT_FOUND
    if broken("RES-08" if call.is_stateless else "RES-07"):
        code = INTERNAL_ERROR
    raise RpcError(code, "there is no such resource", {"uri": uri})


def _is_uri(uri: str) -> bool:
    try:
        scheme = urlsplit(uri).scheme
    except ValueError:
        return False
    return bool(scheme) and uri.isascii() and uri.isprintable() and " " not in uri


def _content(uri: str) -> Message | None:
    """What a resource contains; only what is known can be read, whatever the path says."""
    if uri in _FILES:
        return {"mimeType": "text/plain", "text": _FILES[uri]}
    if uri == "image://pixel":
        return {"mimeType": "image/png", "blob": _PIXEL}
    if uri == "live://clock":
        return {"mimeType": "text/plain", "text": "It is late."}
    if uri.startswith("person://") and uri.removeprefix("person://") in _PEOPLE:
        return {"mimeType": "text/plain", "text": f"This is {uri.removeprefix('person://')}."}
    if broken("RES-11") and uri.startswith("file://") and "/../" in unquote(uri):
        return {"mimeType": "text/plain", "text": "root:x:0:0:root:/root:/bin/sh"}
    return None


@method("resources/subscribe", "subscribe", until=D)
def subscribe(call: Call) -> Message:
    call.connection.subscribed.add(_subscribed_uri(call))
    return {}


@method("resources/unsubscribe", "subscribe", until=D)
def unsubscribe(call: Call) -> Message:
    call.connection.subscribed.discard(_subscribed_uri(call))
    return {}


def _subscribed_uri(call: Call) -> str:
    uri = call.params.get("uri")
    if not isinstance(uri, str):
        raise RpcError(INVALID_PARAMS, "uri must be a string")
    if _content(uri) is None:
        raise RpcError(NOT_FOUND, "there is no such resource", {"uri": uri})
    return uri


# Changes, and the subscriptions of the stateless era

# No change is lost, or reported, between an acknowledgement and its subscription.
_publishing = threading.Lock()
_LIST_WISHES = ("toolsListChanged", "promptsListChanged", "resourcesListChanged")


def publish(name: str, uri: str = "") -> None:
    """Report a change to everyone who asked for it."""
    params = {"uri": uri} if uri else {}
    with _publishing:
        for each in list(SUBSCRIPTIONS):
            wanted = each.wanted.get("resourceSubscriptions" if uri else "resourcesListChanged")
            if wanted is True or uri in (wanted or ()) or broken("SUB-04"):
                each.notify(name, params)
    for connection in list(CONNECTIONS):
        if not uri or uri in connection.subscribed or broken("RES-13"):
            connection.notify(name, params)


@method("subscriptions/listen", "resources", since=E)
def listen(call: Call) -> None:
    wishes = call.params.get("notifications")
    if not isinstance(wishes, dict):
        raise RpcError(INVALID_PARAMS, "notifications must be an object")
    uris, ids = wishes.get("resourceSubscriptions", []), wishes.get("taskIds", [])
    if not isinstance(uris, list) or not isinstance(ids, list):
        raise RpcError(INVALID_PARAMS, "resourceSubscriptions and taskIds must be arrays")
    if "taskIds" in wishes and not call.has_tasks_extension and not broken("XTASK-11"):
        raise _needs_extension()
    wanted: Message = {}
    if wishes.get("resourcesListChanged") is True:
        wanted["resourcesListChanged"] = True
    if uris and SETTINGS.has("subscribe"):
        wanted["resourceSubscriptions"] = [uri for uri in uris if isinstance(uri, str)]
    if ids and SETTINGS.has("tasks"):
        wanted["taskIds"] = [id for id in ids if id in _extension_tasks]
    if broken("SUB-02"):
        wanted |= dict.fromkeys(_LIST_WISHES, True)
    meta = {SUBSCRIPTION: call.id}
    if broken("SUB-06") and SUBSCRIPTIONS:
        meta = {SUBSCRIPTION: SUBSCRIPTIONS[0].call.id}
    subscription = Subscription(call, wanted)
    if broken("SUB-01"):
        subscription.notify("notifications/resources/list_changed", {})
    acknowledged = "notifications/subscriptions/acknowledged"
    with _publishing:
        # The client may cancel it as soon as it is acknowledged.
        SUBSCRIPTIONS.append(subscription)
        call.notify(acknowledged, {"notifications": wanted, "_meta": meta})


# Prompts and completion

_NAME = {"name": "name", "description": "Whom to greet", "required": True}
_STYLE = {"name": "style", "description": "How to greet", "required": False}
_PROMPTS: list[Message] = [
    {"name": "greet", "description": "Greets a person.", "arguments": [_NAME, _STYLE]},
    {"name": "summary", "description": "Sums up the notes."},
]
_STYLES = ("formal", "friendly", "short")


@method("prompts/list", "prompts")
def list_prompts(call: Call) -> Message:
    if broken("PROMPT-02"):
        raise RpcError(INTERNAL_ERROR, "the list is not available")
    return page(call, "prompts", list(_PROMPTS))


@method("prompts/get", "prompts")
def get_prompt(call: Call) -> Message:
    name, arguments = call.params.get("name"), call.params.get("arguments", {})
    if not isinstance(name, str) or name not in ("greet", "summary"):
        code = INTERNAL_ERROR if broken("PROMPT-08") and isinstance(name, str) else INVALID_PARAMS
        raise RpcError(code, f"there is no prompt {name!r}")
    if not isinstance(arguments, dict):
        raise RpcError(INVALID_PARAMS, "arguments must be an object")
    if not all(isinstance(value, str) for value in arguments.values()):
        if broken("PROMPT-10"):
            raise Dropped
        raise RpcError(INVALID_PARAMS, "the arguments of prompts are strings")
    if name == "greet" and "name" not in arguments and not broken("PROMPT-09"):
        raise RpcError(INVALID_PARAMS, "the argument name is missing")
    text = f"Greet {arguments.get('name')}." if name == "greet" else "Sum up the notes."
    role = "system" if broken("PROMPT-04") else "user"
    message = {"role": role, "content": {"type": "text", "text": text}}
    return {"description": "A prompt.", "messages": [message]}


@method("completion/complete", "completions")
def complete(call: Call) -> Message:
    reference, argument = call.params.get("ref"), call.params.get("argument")
    if not isinstance(reference, dict) or not isinstance(argument, dict):
        raise RpcError(INVALID_PARAMS, "ref and argument must be objects")
    name, value = argument.get("name"), argument.get("value")
    if not isinstance(name, str) or not isinstance(value, str):
        raise RpcError(INVALID_PARAMS, "name and value of the argument must be strings")
    if "context" in call.params and call.revision >= C:
        context = call.params["context"]
        known = context.get("arguments", {}) if isinstance(context, dict) else None
        if not isinstance(known, dict) or broken("COMP-07"):
            raise RpcError(INVALID_PARAMS, "context.arguments must be an object")
    kind = reference.get("type")
    values: tuple[str, ...] | None = None
    if kind == "ref/prompt" and reference.get("name") == "greet":
        values = {"name": _PEOPLE, "style": _STYLES}.get(name)
    elif kind == "ref/resource" and not broken("COMP-05"):
        is_known = reference.get("uri") == _TEMPLATES[0]["uriTemplate"]
        values = _PEOPLE if is_known and name == "name" else None
    if values is None:
        if not broken("COMP-04") or broken("COMP-05"):
            raise RpcError(INVALID_PARAMS, "there is nothing of this kind to complete")
        values = ("made", "up")
    fitting = [each for each in values if each.startswith(value)]
    return {"completion": {"values": fitting, "total": len(fitting), "hasMore": False}}


# Logging


@method("logging/setLevel", "logging", until=D)
def set_level(call: Call) -> Message:
    level = call.params.get("level")
    if broken("LOG-01"):
        raise RpcError(METHOD_NOT_FOUND, "logging is not supported")
    if level not in LEVELS and not broken("LOG-04"):
        raise RpcError(INVALID_PARAMS, f"level must be one of {', '.join(LEVELS)}")
    if level == "notice" and broken("LOG-03"):
        raise RpcError(INVALID_PARAMS, "this level is not supported")
    if level in LEVELS:
        call.connection.level = level
    return {}
