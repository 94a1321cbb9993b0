"""A server made with the official SDK that has everything a client can ask for, on stdio.

`count` reports its progress, `lend` changes a resource, `whisper` writes to stderr, `leave` ends
the process a little after its answer.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

import mcp_types as types
from mcp.server import Server
from mcp.server.stdio import stdio_server

__all__ = ["make_library"]

BOOK = "book://emma"
TOOLS = ("count", "lend", "whisper", "leave")


class Library:
    """Its handlers, and the resources that clients have subscribed to."""

    def __init__(self) -> None:
        self._subscribed: set[str] = set()

    async def list_tools(self, context: Any, params: Any) -> types.ListToolsResult:
        tools = [types.Tool(name=name, input_schema={"type": "object"}) for name in TOOLS]
        return types.ListToolsResult(tools=tools)

    async def call_tool(self, context: Any, params: Any) -> types.CallToolResult:
        if params.name == "count":
            for step in (1, 2):
                await context.session.report_progress(step, 2, f"shelf {step}")
        elif params.name == "lend" and BOOK in self._subscribed:
            await context.session.send_resource_updated(BOOK)
        elif params.name == "whisper":
            sys.stderr.write(f"{params.arguments['words']}\n")
            sys.stderr.flush()
        elif params.name == "leave":
            asyncio.get_running_loop().call_later(0.2, os._exit, 7)
        return types.CallToolResult(content=[types.TextContent(type="text", text="done")])

    async def list_templates(self, context: Any, params: Any) -> types.ListResourceTemplatesResult:
        template = types.ResourceTemplate(name="book", uri_template="book://{title}")
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def list_resources(self, context: Any, params: Any) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=[types.Resource(uri=BOOK, name="emma")])

    async def list_prompts(self, context: Any, params: Any) -> types.ListPromptsResult:
        # Two pages.
        is_first = not (params and params.cursor)
        prompt = types.Prompt(name="review" if is_first else "praise")
        return types.ListPromptsResult(prompts=[prompt], next_cursor="2" if is_first else None)

    async def complete(self, context: Any, params: Any) -> types.CompleteResult:
        given = params.context.arguments if params.context else {}
        values = [f"{params.argument.value}ma", *(given or {}).values()]
        return types.CompleteResult(completion=types.Completion(values=values))

    async def subscribe(self, context: Any, params: Any) -> types.EmptyResult:
        self._subscribed.add(str(params.uri))
        return types.EmptyResult()

    async def unsubscribe(self, context: Any, params: Any) -> types.EmptyResult:
        self._subscribed.discard(str(params.uri))
        return types.EmptyResult()


def make_library() -> Server[Any]:
    library = Library()
    return Server(
        "library",
        on_list_tools=library.list_tools,
        on_call_tool=library.call_tool,
        on_list_resources=library.list_resources,
        on_list_resource_templates=library.list_templates,
        on_list_prompts=library.list_prompts,
        on_completion=library.complete,
        on_subscribe_resource=library.subscribe,
        on_unsubscribe_resource=library.unsubscribe,
    )


async def main() -> None:
    server = make_library()
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    asyncio.run(main())
    # Without the second that Python takes to clean up on a busy machine.
    os._exit(0)
