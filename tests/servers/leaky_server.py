"""A server that knows a secret, and sends it in every place and every shape it can.

Usage: python3 leaky_server.py [MODE]; the secret is KEY in its environment. A mode other than
"good" is a way to fail before the handshake is over.
"""

from __future__ import annotations

import base64
import html
import json
import os
import sys
import time
from urllib.parse import quote, quote_plus

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Message = dict[str, Any]


def shapes_of(secret: str) -> dict[str, str]:
    """The secret in every shape that a careless program could give it."""
    raw = secret.encode()
    inner = json.dumps(secret)[1:-1]
    shapes = {
        "plain": secret,
        "json": inner,
        "json-unicode": json.dumps(secret, ensure_ascii=False)[1:-1],
        "json-slashes": inner.replace("/", "\\/"),
        "json-upper": "".join(f"\\u{ord(char):04X}" for char in secret),
        "json-twice": json.dumps(inner)[1:-1],
        "percent": quote(secret),
        "percent-all": "".join(f"%{byte:02x}" for byte in raw),
        "percent-plus": quote_plus(secret),
        "percent-twice": quote(quote(secret)),
        "html": html.escape(secret),
        "html-numbers": "".join(f"&#{ord(char)};" for char in secret),
        "hex": raw.hex(),
        "hex-upper": raw.hex().upper(),
        "hex-colons": raw.hex(":"),
        "node-buffer": f"<Buffer {raw.hex(' ')}>",
        "utf-16": base64.b64encode(secret.encode("utf-16-le")).decode(),
        "wrapped": base64.encodebytes(b"." * 51 + raw).decode(),
        "document": base64.b64encode(json.dumps({"k": secret}).encode()).decode(),
    }
    for before in ("", "u", "us", "user:"):
        joined = before.encode() + raw
        shapes[f"base64-{len(before)}"] = base64.b64encode(joined).decode()
        shapes[f"base64-url-{len(before)}"] = base64.urlsafe_b64encode(joined).decode().rstrip("=")
    return shapes


SECRET = os.environ.get("KEY", "")
SHAPES = shapes_of(SECRET)
ALL = " | ".join(SHAPES.values())
LOUD = ("results", "refuses", "fails", "structured", "noise", "notify", "long", "dies")
QUIET = ("asks", "strays", "breaks", "garbles", "hangs", "floods", "plain", "echo")


def write(raw: bytes, fd: int = 1) -> None:
    view = memoryview(raw)
    while view:
        view = view[os.write(fd, view) :]


def say(message: object) -> None:
    write(json.dumps(message).encode() + b"\n")


def mutter() -> None:
    """Everything on stderr, line by line."""
    write("".join(f"{name} = {shape}\n" for name, shape in SHAPES.items()).encode(), 2)


def notify(method: str, **params: object) -> None:
    say({"jsonrpc": "2.0", "method": method, "params": params})


def text_of(text: str) -> Message:
    return {"type": "text", "text": text}


def tool(name: str) -> Message:
    return {
        "name": name,
        "title": ALL,
        "description": ALL,
        "annotations": {"readOnlyHint": name in LOUD, "title": SECRET},
        "inputSchema": {"type": "object", "properties": {SECRET: {"description": ALL}, "text": {}}},
    }


LISTS: dict[str, Message] = {
    "tools/list": {
        "tools": [tool(name) for name in (*LOUD, *QUIET, f"tool {SECRET}", SHAPES["base64-0"])]
    },
    "resources/list": {
        "resources": [
            {"uri": f"file:///{shape}", "name": name, "description": ALL, "mimeType": "text/plain"}
            for name, shape in SHAPES.items()
        ]
    },
    "resources/templates/list": {
        "resourceTemplates": [{"uriTemplate": f"memo://{SECRET}/{{x}}", "name": SECRET}]
    },
    "prompts/list": {
        "prompts": [{"name": SECRET, "arguments": [{"name": SECRET}]}, {"name": "greet"}]
    },
    "ping": {},
}


def handshake(params: Message) -> Message:
    return {
        "protocolVersion": params["protocolVersion"],
        "capabilities": {
            **{name: {} for name in ("tools", "resources", "prompts", "logging")},
            "experimental": {SECRET: {"all": ALL}},
        },
        "serverInfo": {"name": f"leaky {SECRET}", "version": SHAPES["base64-0"], "title": ALL},
        "instructions": ALL,
    }


def long_text() -> str:
    """A cut anywhere in this cuts a secret."""
    return "".join(f"{number:06}{SECRET}" for number in range(2000))


def call(name: str, id: object, given: Message) -> Message | None:
    """The result of a tool; None if there is no answer, or it has been written."""
    if name in BEHAVIOURS:
        result: Message | None = BEHAVIOURS[name](id)
        return result
    content = [text_of(shape) for shape in SHAPES.values()]
    if name == "refuses":
        return {"content": content, "isError": True}
    if name == "structured":
        tree = {shape: {"deep": [shape, {name: shape}]} for name, shape in SHAPES.items()}
        return {"content": content, "structuredContent": {**tree, "key": SECRET}}
    if name == "long":
        return {"content": [text_of(long_text())]}
    if name == "plain":
        return {"content": [text_of("nothing to see")]}
    if name == "echo":
        return {"content": [text_of(json.dumps(given))]}
    return {"content": [*content, {"type": "image", "data": SHAPES["base64-0"], "mimeType": "a/b"}]}


def fails(id: object) -> None:
    error = {"code": -32000, "message": ALL, "data": {SECRET: ALL, "shapes": SHAPES}}
    say({"jsonrpc": "2.0", "id": id, "error": error})


def noise(id: object) -> Message:
    for shape in SHAPES.values():
        write(f"log: {shape}\n".encode())
    write((long_text() + "\n").encode())
    write(f'{{"note": "{ALL}\n'.encode())
    return {"content": [text_of(ALL)]}


def notifies(id: object) -> Message:
    notify("notifications/message", level="info", logger=SECRET, data={"all": ALL, SECRET: 1})
    notify(f"notifications/{SECRET}", all=ALL)
    notify("notifications/progress", progressToken=SECRET, progress=1, message=ALL)
    return {"content": [text_of("told")]}


def asks(id: object) -> Message:
    say({"jsonrpc": "2.0", "id": SECRET, "method": f"roots/{SECRET}", "params": {"all": ALL}})
    return {"content": [text_of(sys.stdin.readline())]}


def answer_too_much(id: object) -> Message:
    for each in (SECRET, SHAPES["base64-0"], ALL):
        say({"jsonrpc": "2.0", "id": each, "result": {"all": ALL}})
    return {"content": [text_of("here")]}


def breaks(id: object) -> None:
    say({"jsonrpc": ALL, "id": {"k": long_text()}, "method": [SECRET, ALL]})
    say({"jsonrpc": "2.0", "id": id, "result": {}, "error": {"code": SECRET, "message": ALL}})


def garbles(id: object) -> None:
    write(f'{{"jsonrpc": "2.0", "id": {json.dumps(id)}, "result": "{ALL}\n'.encode())


def dies(id: object) -> None:
    mutter()
    sys.exit(f"cannot go on with {SECRET}")


def hangs(id: object) -> None:
    mutter()
    # Without the newline that would end a message.
    write(f'{{"unfinished": "{ALL}'.encode())
    time.sleep(3600)


def floods(id: object) -> Message:
    """More than is kept of stderr and of stdout."""
    write(f"{SECRET}=".encode() * 30_000, 2)
    return {"content": [text_of(long_text())]}


BEHAVIOURS: dict[str, Any] = {
    "fails": fails,
    "noise": noise,
    "notify": notifies,
    "asks": asks,
    "strays": answer_too_much,
    "breaks": breaks,
    "garbles": garbles,
    "dies": dies,
    "hangs": hangs,
    "floods": floods,
}


def answer(request: Message) -> Message | None:
    method, params = request["method"], request.get("params", {})
    if method == "initialize":
        return handshake(params)
    if method == "tools/call":
        return call(params["name"], request["id"], params.get("arguments", {}))
    if method == "resources/read":
        contents = [{"uri": params["uri"], "text": shape} for shape in SHAPES.values()]
        return {"contents": [*contents, {"uri": SECRET, "blob": SHAPES["base64-4"]}]}
    if method == "prompts/get":
        message = {"role": "user", "content": text_of(ALL)}
        return {"description": ALL, "messages": [message]}
    return LISTS[method]


def fail_early(mode: str) -> None:
    """Never get as far as a session."""
    mutter()
    if mode == "die":
        sys.exit(f"cannot log in with {SECRET}")
    request = json.loads(sys.stdin.readline())
    head = {"jsonrpc": "2.0", "id": request["id"]}
    if mode == "refuse":
        say({**head, "error": {"code": -32000, "message": ALL, "data": long_text()}})
    elif mode == "shape":
        say({**head, "result": [ALL, long_text()]})
    elif mode == "version":
        say({**head, "result": {**handshake(request["params"]), "protocolVersion": ALL}})
    elif mode == "garble":
        garbles(request["id"])
    elif mode == "silence":
        noise(0)
    sys.stdin.read()


def main(mode: str = "good") -> None:
    if mode != "good":
        fail_early(mode)
        return
    mutter()
    write(f"starting with {ALL}\n".encode())
    while line := sys.stdin.readline():
        request = json.loads(line) if line.startswith("{") else {}
        if "id" not in request or "method" not in request:
            continue
        mutter()
        result = answer(request)
        if result is not None:
            say({"jsonrpc": "2.0", "id": request["id"], "result": result})


if __name__ == "__main__":
    main(*sys.argv[1:])
