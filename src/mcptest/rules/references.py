"""Where the specification has the point that a check or a rule is about: page and section.

The revisions with a handshake have the same pages, and nearly the same sections; 2026-07-28 is
divided otherwise. Each line of the tables below is `page#section` and the ids that are about it.
"""

from __future__ import annotations

import re

from mcptest.core.compliance import Reference
from mcptest.protocol.revisions import REVISIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["reference_for"]

_TRANSPORTS = "basic/transports"
_HTTP = "basic/transports/streamable-http"
_TASKS = "basic/utilities/tasks"
_EXTENSION = "extensions/tasks/overview"

_HANDSHAKE = {
    "basic#Messages": "BASE-01 BASE-02 BASE-17 BASE-18 BASE-19 BASE-20 BASE-27 INV-007",
    "basic#Requests": "BASE-03 BASE-04 BASE-05 BASE-42",
    "basic#Responses": "INV-006 BASE-07 BASE-08 BASE-09 BASE-10 BASE-11 BASE-12 BASE-13",
    "basic#Notifications": "BASE-14 BASE-15",
    "basic#Batching": "BASE-16",
    "basic#_meta": "BASE-28 BASE-29",
    "basic#Schema": "BASE-41",
    "basic#Schema Validation": "BASE-39",
    "basic#icons": "TOOL-25",
    "basic/lifecycle#Initialization": "INV-001 INV-002 LIFE-01 LIFE-05 LIFE-10",
    "basic/lifecycle#Version Negotiation": "LIFE-02 LIFE-03 LIFE-04",
    "basic/lifecycle#Capability Negotiation": "INV-003 INV-004 LIFE-13 LIFE-14",
    "basic/lifecycle#Operation": "BASE-37 BASE-38",
    "basic/lifecycle#Shutdown": "STDIO-10",
    "basic/utilities/ping#Behavior Requirements": "LIFE-11",
    f"{_TRANSPORTS}#stdio": "STDIO-01 STDIO-02 STDIO-03 STDIO-04 STDIO-05 STDIO-06 STDIO-08 "
    "STDIO-16",
    f"{_TRANSPORTS}#Streamable HTTP": "HTTP-01",
    f"{_TRANSPORTS}#Security Warning": "HTTP-02 HTTP-55 AUTH-21",
    f"{_TRANSPORTS}#Sending Messages to the Server": "HTTP-03 HTTP-04 HTTP-05 HTTP-06 HTTP-10",
    f"{_TRANSPORTS}#Listening for Messages from the Server": "HTTP-07 HTTP-08",
    f"{_TRANSPORTS}#Session Management": "HTTP-11 HTTP-12 HTTP-13 HTTP-14",
    f"{_TRANSPORTS}#Protocol Version Header": "HTTP-17 HTTP-18",
    f"{_TRANSPORTS}#Resumability and Redelivery": "HTTP-23",
    f"{_TRANSPORTS}#HTTP with SSE": "HTTP-56 HTTP-57",
    "server/tools#Capabilities": "TOOL-01 TOOL-20",
    "server/tools#Listing Tools": "TOOL-02 TOOL-21",
    "server/tools#Calling Tools": "TOOL-15",
    "server/tools#Tool": "TOOL-03 TOOL-04 TOOL-05 TOOL-19 TOOL-22",
    "server/tools#Tool Names": "TOOL-06",
    "server/tools#Tool Result": "INV-005 TOOL-12 TOOL-13 TOOL-14",
    "server/tools#Embedded Resources": "TOOL-23",
    "server/tools#Resource Links": "TOOL-24",
    "server/tools#Structured Content": "TOOL-09 TOOL-11",
    "server/tools#Output Schema": "TOOL-07 TOOL-08 TOOL-10",
    "server/tools#Error Handling": "TOOL-17 TOOL-18",
    "server/tools#Security Considerations": "TOOL-16",
    "server/resources#Capabilities": "RES-01 RES-14",
    "server/resources#Listing Resources": "RES-02",
    "server/resources#Reading Resources": "RES-05",
    "server/resources#Resource Templates": "RES-04",
    "server/resources#Subscriptions": "RES-13",
    "server/resources#Resource": "RES-03",
    "server/resources#Resource Contents": "RES-06",
    "server/resources#Data Types": "RES-12",
    "server/resources#Error Handling": "RES-07 RES-08 RES-09",
    "server/resources#Security Considerations": "RES-10 RES-11",
    "server/prompts#Capabilities": "PROMPT-01 PROMPT-11",
    "server/prompts#Listing Prompts": "PROMPT-02",
    "server/prompts#Getting a Prompt": "PROMPT-04",
    "server/prompts#Prompt": "PROMPT-03",
    "server/prompts#Image Content": "PROMPT-05",
    "server/prompts#Audio Content": "PROMPT-06",
    "server/prompts#Embedded Resources": "PROMPT-07",
    "server/prompts#Error Handling": "PROMPT-08 PROMPT-09",
    "server/prompts#Security": "PROMPT-10",
    "server/utilities/completion#Capabilities": "COMP-01",
    "server/utilities/completion#Requesting Completions": "COMP-07",
    "server/utilities/completion#Reference Types": "COMP-05",
    "server/utilities/completion#Completion Results": "COMP-02 COMP-03 COMP-06",
    "server/utilities/completion#Security": "COMP-04",
    "server/utilities/logging#Capabilities": "LOG-01",
    "server/utilities/logging#Log Levels": "LOG-02",
    "server/utilities/logging#Setting Log Level": "LOG-03",
    "server/utilities/logging#Error Handling": "LOG-04",
    "server/utilities/logging#Security": "LOG-08",
    "server/utilities/pagination#Response Format": "PAGE-01 PAGE-02",
    "server/utilities/pagination#Implementation Guidelines": "PAGE-04",
    "server/utilities/pagination#Error Handling": "PAGE-03",
    "basic/utilities/progress#Progress Flow": "PROG-02 PROG-03 PROG-05 PROG-06",
    "basic/utilities/progress#Behavior Requirements": "PROG-01",
    "basic/utilities/progress#Implementation Notes": "PROG-04",
    "basic/utilities/cancellation#Behavior Requirements": "CANC-02 CANC-03 CANC-04",
    "basic/utilities/cancellation#Error Handling": "CANC-01",
    "client/sampling#Capabilities": "SAMP-01 SAMP-02 SAMP-06",
    "client/sampling#Creating Messages": "SAMP-03",
    "client/sampling#Tool Result Messages": "SAMP-04",
    "client/sampling#Error Handling": "SAMP-07",
    "client/roots#Capabilities": "ROOT-01",
    "client/elicitation#Capabilities": "ELIC-01 ELIC-02",
    "client/elicitation#Protocol Messages": "ELIC-03",
    "client/elicitation#Requested Schema": "ELIC-04",
    "client/elicitation#URL Mode Elicitation Requests": "ELIC-05",
    "client/elicitation#Response Actions": "ELIC-08",
    "client/elicitation#URL Elicitation Required Error": "ELIC-09",
    "client/elicitation#Completion Notifications for URL Mode Elicitation": "ELIC-10",
    f"{_TASKS}#Task Support and Handling": "TASK-01 TASK-02",
    f"{_TASKS}#Task ID Requirements": "TASK-03",
    f"{_TASKS}#Task Status Lifecycle": "TASK-04",
    f"{_TASKS}#TTL and Resource Management": "TASK-06",
    f"{_TASKS}#Result Retrieval": "TASK-08",
    f"{_TASKS}#Associating Task-Related Messages": "TASK-10",
    f"{_TASKS}#Task Listing": "TASK-15",
    f"{_TASKS}#Task Cancellation": "TASK-12 TASK-13",
    f"{_TASKS}#Error Handling": "TASK-11 TASK-14",
    f"{_TASKS}#Tool-Level Negotiation": "TASK-16 TASK-17",
    "basic/authorization#Access Token Usage": "AUTH-07 AUTH-08",
    "basic/authorization#Error Handling": "AUTH-01 AUTH-05",
    "basic/authorization#Authorization Server Location": "AUTH-02 AUTH-04",
    "basic/authorization#Protected Resource Metadata Discovery Requirements": "AUTH-03",
    "basic/authorization#Authorization Server Metadata Discovery": "AUTH-10 AUTH-12",
    "basic/authorization#Security Considerations": "AUTH-11 AUTH-22",
    "basic/security_best_practices#Session Hijacking": "AUTH-20",
}

_STATELESS = {
    "basic#Messages": "BASE-01 BASE-02 BASE-17 BASE-18 BASE-19 BASE-20",
    "basic#Requests": "BASE-03 BASE-04 BASE-42",
    "basic#Responses": "BASE-07 BASE-08 BASE-09 BASE-10 BASE-11 BASE-13",
    "basic#ResultType": "BASE-21 BASE-22",
    "basic#Error Codes": "BASE-23 BASE-24 BASE-25 BASE-26 BASE-27 BASE-35",
    "basic#Notifications": "BASE-14 BASE-15",
    "basic#Statelessness": "BASE-32",
    "basic#_meta": "BASE-28 BASE-29 BASE-30 BASE-33 BASE-34",
    "basic#Schema": "BASE-41",
    "basic#Schema Validation": "BASE-39",
    "basic#icons": "TOOL-25",
    "basic/versioning#Protocol Version Negotiation": "LIFE-18 LIFE-19 LIFE-20 LIFE-21",
    "basic/versioning#Extension Negotiation": "BASE-31",
    "basic/versioning#Backward Compatibility with Initialization-Based Versions": "LIFE-22 LIFE-23",
    "basic/patterns/mrtr#Multi Round-Trip Requests": "BASE-36",
    "basic/patterns/mrtr#Supported Requests": "MRTR-01",
    "basic/patterns/mrtr#InputRequiredResult": "MRTR-05",
    "basic/patterns/mrtr#Server Requirements (Basic Workflow)": "MRTR-02 MRTR-03 MRTR-04 MRTR-06 "
    "MRTR-07",
    "basic/patterns/mrtr#Error Handling": "MRTR-08 MRTR-09 MRTR-10",
    "server/discover#Response": "INV-003 INV-004 LIFE-13 LIFE-15 LIFE-16 LIFE-17",
    "basic/transports/stdio#Receiving Messages": "STDIO-01 STDIO-02 STDIO-03 STDIO-04 STDIO-05 "
    "STDIO-06 STDIO-07 STDIO-08 STDIO-16",
    "basic/transports/stdio#Cancellation": "STDIO-09",
    "basic/transports/stdio#Shutdown": "STDIO-10",
    f"{_HTTP}#Sending Messages": "HTTP-01 HTTP-03 HTTP-04 HTTP-05 HTTP-06",
    f"{_HTTP}#Security & Endpoint": "HTTP-02 HTTP-55 AUTH-21",
    f"{_HTTP}#Receiving Messages": "HTTP-39 HTTP-40 HTTP-54",
    f"{_HTTP}#Protocol Version Header": "HTTP-26 HTTP-27 HTTP-35 HTTP-36",
    f"{_HTTP}#Standard Request Headers": "HTTP-28 HTTP-30 HTTP-37 HTTP-38",
    f"{_HTTP}#Server Validation": "HTTP-29 HTTP-31",
    f"{_HTTP}#Value Encoding": "HTTP-32 HTTP-45 HTTP-46",
    f"{_HTTP}#Case Sensitivity": "HTTP-33 HTTP-34",
    f"{_HTTP}#Schema Extension": "HTTP-41",
    f"{_HTTP}#Server Behavior for Custom Headers": "HTTP-42 HTTP-43 HTTP-44",
    f"{_HTTP}#Earlier Streamable HTTP Revisions": "HTTP-47",
    "basic/patterns/subscriptions#Opening a Stream": "SUB-04 SUB-07",
    "basic/patterns/subscriptions#Acknowledgment": "SUB-01 SUB-02",
    "basic/patterns/subscriptions#Receiving Notifications": "SUB-03 SUB-05",
    "basic/patterns/subscriptions#Multiple Concurrent Subscriptions": "SUB-06",
    "basic/patterns/subscriptions#Cancellation": "SUB-08 SUB-09",
    "basic/patterns/progress#Progress Flow": "PROG-02 PROG-03 PROG-05",
    "basic/patterns/progress#Behavior Requirements": "PROG-01",
    "basic/patterns/progress#Implementation Notes": "PROG-04",
    "basic/patterns/cancellation#Behavior Requirements": "CANC-02 CANC-03 CANC-05",
    "basic/patterns/cancellation#Error Handling": "CANC-01",
    "server/tools#Capabilities": "LIFE-24 TOOL-01 TOOL-02 TOOL-21",
    "server/tools#Input Required Tool Results": "ELIC-08",
    "server/resources#Capabilities": "RES-01 RES-02",
    "server/prompts#Capabilities": "PROMPT-01 PROMPT-02",
    "server/utilities/logging#Per-request log level": "LOG-06 LOG-07",
    "server/utilities/caching#Cacheable Results": "CACHE-01 CACHE-05",
    "server/utilities/caching#Time-to-Live (TTL) Field": "CACHE-02",
    "server/utilities/caching#Cache Scope Field": "CACHE-03 CACHE-06",
    "server/utilities/caching#Interaction with Pagination": "CACHE-04",
    f"{_EXTENSION}#Overview": "XTASK-01 XTASK-03 XTASK-04 XTASK-05 XTASK-07 "
    "XTASK-08 XTASK-09 XTASK-10 XTASK-11 XTASK-12 XTASK-13",
    "basic/authorization#Token Handling": "AUTH-05",
    "basic/authorization#Token Requirements": "AUTH-07 AUTH-08",
    "basic/authorization#Error Handling": "AUTH-01",
    "basic/authorization#Authorization Server Discovery": "AUTH-03 AUTH-04 AUTH-10",
    "basic/authorization#Security Considerations": "AUTH-11 AUTH-22",
}


def _by_id(table: Mapping[str, str]) -> dict[str, Reference]:
    found: dict[str, Reference] = {}
    for place, ids in table.items():
        page, _, section = place.partition("#")
        found |= dict.fromkeys(ids.split(), Reference(page=page, section=section))
    return found


_OF_HANDSHAKE = _by_id(_HANDSHAKE)
# What is not listed for the stateless revision is where it was before.
_OF_STATELESS = {**_OF_HANDSHAKE, **_by_id(_STATELESS)}

# Ids whose section another revision does not have.
_EXCEPTIONS: Mapping[str, Mapping[str, Reference]] = {
    "2024-11-05": {
        **{
            id: reference.but(page="basic/messages")
            for id, reference in _OF_HANDSHAKE.items()
            if reference.page == "basic"
        },
        **_by_id(
            {
                f"{_TRANSPORTS}#HTTP with SSE": "HTTP-01 HTTP-03 HTTP-04 HTTP-05 HTTP-06 HTTP-07",
                "server/utilities/completion#Protocol Messages": "COMP-01",
                "basic/messages#Requests": "BASE-01 BASE-02 BASE-18 BASE-19 BASE-20 BASE-41",
                "basic/messages#Responses": "BASE-27",
            }
        ),
    },
    "2025-03-26": _by_id(
        {
            "basic/authorization#Server Metadata Discovery": "AUTH-03 AUTH-04 AUTH-10 AUTH-12",
        }
    ),
}


def reference_for(id: str, version: str) -> Reference:
    """The page and section of a check in a revision; empty if it is known for neither."""
    exceptions = _EXCEPTIONS.get(version, {})
    revision = REVISIONS.get(version)
    table = _OF_STATELESS if revision and revision.is_stateless else _OF_HANDSHAKE
    found = exceptions.get(id) or table.get(id) or Reference()
    return found.but(url=_url(found, version)) if found.page else found


def _url(reference: Reference, version: str) -> str:
    """The address of a section, with the anchor that the site of the specification makes of it."""
    words = reference.section.replace("&", "%26").lower()
    anchor = re.sub(r"[^a-z0-9%_ -]", "", words).strip("_").replace(" ", "-")
    is_extension = reference.page == _EXTENSION
    base = "https://modelcontextprotocol.io/"
    folder = "" if is_extension else f"specification/{version}/"
    return f"{base}{folder}{reference.page}" + ("" if is_extension else f"#{anchor}")
