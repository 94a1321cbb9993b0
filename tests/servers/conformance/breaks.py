"""What the reference server does wrong on purpose, one thing for each check.

The code asks `broken("BASE-18")` at the one place where it would do the right thing. A new break is
one entry here and one such question.
"""

from __future__ import annotations

__all__ = ["BREAKS", "SETTINGS", "Settings", "broken"]

BREAKS = {
    # Base protocol
    "BASE-07": "the ids of answers lose their sign: -7 is answered as 7",
    "BASE-15": "unknown notifications are answered with an error",
    "BASE-16": "batches are refused also in sessions of 2025-03-26",
    "BASE-18": "unknown methods are answered with an empty result",
    "BASE-19": "tools/call without a name is answered with an ordinary result",
    "BASE-20": "a line that is not JSON ends the server; over HTTP, it gets an empty result",
    "BASE-32": "a stateless request without _meta is served once a complete one was",
    "BASE-33": "a stateless request without a protocolVersion is served",
    "BASE-34": "a stateless request without clientCapabilities is served",
    "BASE-42": "requests whose id is 1.5, null or true are taken for notifications",
    # Lifecycle
    "LIFE-01": "the result of initialize has no serverInfo",
    "LIFE-02": "2025-06-18 is answered with 2025-03-26, and that with 2025-11-25",
    "LIFE-03": "unknown versions are echoed",
    "LIFE-04": "unknown versions are answered with the oldest revision",
    "LIFE-05": "initialize is refused if it has a capability or a member that is not known",
    "LIFE-11": "a ping before initialize, or over HTTP, is answered with an error",
    "LIFE-13": "logging/setLevel works, and the capability is not declared",
    "LIFE-14": "resources/subscribe works, and the capability is not declared",
    "LIFE-15": "server/discover is not implemented",
    "LIFE-16": "supportedVersions is empty",
    "LIFE-18": "an unknown version is served in the first stateless request of a connection",
    "LIFE-19": "an unknown version is served after a good stateless request",
    "LIFE-20": "after an unknown version the next stateless request is refused, too",
    "LIFE-21": "tools/list is refused before server/discover",
    "LIFE-22": "ping is answered in the stateless era",
    "LIFE-23": "a server without the handshake does not name its versions to initialize",
    "LIFE-24": "each stateless connection has a tool of its own in tools/list",
    # stdio
    "STDIO-04": "a banner is written to stdout at the start",
    "STDIO-05": "a farewell is written to stdout at the end of input and at SIGTERM",
    "STDIO-06": "a traceback is written to stdout with each error",
    "STDIO-09": "cancelled calls are answered in the stateless era",
    "STDIO-10": "the process does not end at the end of input",
    "STDIO-16": "lines of more than 100 kB are ignored",
    # HTTP with sessions
    "HTTP-01": "GET is answered with 404",
    "HTTP-02": "every Origin is accepted",
    "HTTP-05": "notifications are answered with 200",
    "HTTP-06": "notifications that are not valid are answered with 200 and an error in the body",
    "HTTP-07": "GET is answered with 200 and JSON",
    "HTTP-12": "session ids are counted",
    "HTTP-13": "sessions live on after DELETE",
    "HTTP-14": "unknown session ids are accepted",
    "HTTP-17": "every MCP-Protocol-Version header is accepted in a session",
    "HTTP-18": "requests without an MCP-Protocol-Version header are refused in a session",
    "HTTP-55": "the server listens on all interfaces",
    "HTTP-56": "the first event of the older transport is a message",
    # HTTP stateless
    "HTTP-26": "an MCP-Protocol-Version header that differs from _meta is ignored",
    "HTTP-27": "the MCP-Protocol-Version header may be absent",
    "HTTP-28": "the Mcp-Method header may be absent",
    "HTTP-29": "an Mcp-Method header that differs from the body is ignored",
    "HTTP-30": "the Mcp-Name header may be absent",
    "HTTP-31": "an Mcp-Name header that differs from the body is ignored",
    "HTTP-32": "Base64 in Mcp-Name is not decoded",
    "HTTP-33": "the names of headers must be written Mcp-Method or mcp-method",
    "HTTP-34": "the value of Mcp-Method is compared without regard to case",
    "HTTP-35": "-32022 comes with status 200",
    "HTTP-36": "-32601 comes with status 200",
    "HTTP-37": "a missing member of _meta is refused with status 200",
    "HTTP-38": "-32021 comes with status 200",
    "HTTP-42": "an Mcp-Param header that differs from the argument is ignored",
    "HTTP-43": "an Mcp-Param header may be absent although the argument is present",
    "HTTP-44": "an Mcp-Param header is required also without the argument",
    "HTTP-45": "Mcp-Param headers that are not ASCII or not Base64 are ignored",
    "HTTP-46": "Base64 in Mcp-Param headers is not decoded",
    "HTTP-47": "GET and DELETE of the stateless era are answered with 404",
    # Tools
    "TOOL-01": "tools are served, and the capability is not declared",
    "TOOL-02": "tools/list is answered with an internal error",
    "TOOL-16": "arguments are not validated",
    "TOOL-17": "invalid arguments are refused with -32602",
    "TOOL-18": "an unknown tool is answered with a result",
    "TOOL-21": "every second tools/list is in the other order",
    "TOOL-22": "the tool echo writes a file, although it declares readOnlyHint",
    "TOOL-24": "the tool links returns a link that cannot be read",
    # Resources and subscriptions
    "RES-01": "resources are served, and the capability is not declared",
    "RES-02": "resources/list is answered with an internal error",
    "RES-05": "contents have both text and blob",
    "RES-07": "an unknown URI gets -32603 in the handshake era",
    "RES-08": "an unknown URI gets -32603 in the stateless era",
    "RES-09": "an unknown URI gets empty contents in the stateless era",
    "RES-10": "strings that are not URIs can be read",
    "RES-11": "files outside of the root can be read with .. or %2e%2e",
    "RES-13": "updates are also sent to sessions that did not subscribe",
    "SUB-01": "a notification is sent before the acknowledgement",
    "SUB-02": "the acknowledgement has more than was asked for",
    "SUB-04": "changes are sent also to subscriptions that did not ask for them",
    "SUB-06": "the acknowledgement of a second subscription has the id of the first",
    "SUB-08": "subscriptions end without a word when the server ends",
    "SUB-09": "a notification is sent for a subscription that was cancelled",
    # Prompts and completion
    "PROMPT-01": "prompts are served, and the capability is not declared",
    "PROMPT-02": "prompts/list is answered with an internal error",
    "PROMPT-04": "messages of prompts have the role system",
    "PROMPT-08": "an unknown prompt gets -32603",
    "PROMPT-09": "required arguments of prompts may be missing",
    "PROMPT-10": "a number as an argument of a prompt ends the server; over HTTP, the connection",
    "COMP-01": "completion works, and the capability is not declared",
    "COMP-04": "there are completions for unknown prompts, templates and arguments",
    "COMP-05": "completion for ref/resource is refused",
    "COMP-07": "completion with a context is refused",
    # Logging
    "LOG-01": "log messages are sent, and the capability is not declared",
    "LOG-03": "the level notice is refused",
    "LOG-04": "every level is accepted",
    "LOG-05": "log messages are sent whatever the level",
    "LOG-08": "errors about unknown methods contain the environment",
    # Pages, progress and cancellation
    "PAGE-02": "the last page of resources leads back to the first",
    "PAGE-03": "a cursor that was never given is answered with the first page",
    "PAGE-04": "a cursor that is used again gives its page in the other order",
    "PROG-02": "progress is sent also without a token",
    "CANC-01": "the cancellation of a request that is not running is answered with an error",
    "CANC-02": "cancelled calls are answered in sessions with a handshake",
    "CANC-03": "cancelled calls go on, with progress",
    "CANC-08": "closing the stream does not stop a call",
    "CACHE-06": "tools that only one user has are in a list for all users",
    # Tasks
    "TASK-01": "calls become tasks, and the capability is not declared",
    "TASK-02": "a call with a task is answered with the result of the tool",
    "TASK-03": "all tasks have the same id",
    "TASK-04": "tasks are completed from the start",
    "TASK-06": "createdAt is a date of no standard",
    "TASK-08": "tasks/result does not wait for the end of the task",
    "TASK-10": "the result of tasks/result does not name the task",
    "TASK-11": "unknown tasks get -32603",
    "TASK-12": "tasks that have ended can be cancelled",
    "TASK-13": "a cancelled task is completed in the end",
    "TASK-14": "tasks/list ignores bad cursors",
    "TASK-15": "tasks/list is always empty",
    "TASK-16": "a tool that requires a task is called without one",
    "TASK-17": "a tool that forbids tasks is called as one",
    "XTASK-01": "calls become tasks also for clients without the extension",
    "XTASK-02": "a tool that needs the extension is called without it",
    "XTASK-03": "a task cannot be found at once",
    "XTASK-04": "a completed task has no result",
    "XTASK-05": "a task whose tool fails is a failed one",
    "XTASK-07": "tasks/cancel is answered with the task",
    "XTASK-08": "unknown tasks get -32603",
    "XTASK-09": "tasks/get is served to clients without the extension",
    "XTASK-10": "tasks/result is answered",
    "XTASK-11": "subscriptions to tasks are acknowledged without the extension",
    "XTASK-12": "an Mcp-Name header that differs from the taskId is ignored",
    # Input
    "BASE-35": "a tool that needs elicitation is an internal error without it",
    "ELIC-08": "a declined elicitation is an internal error",
    "SAMP-07": "a refused sampling request leaves the call unanswered",
    "MRTR-06": "a requestState that was changed is accepted",
    "MRTR-07": "a requestState of another call is accepted",
    "MRTR-08": "a call without the answer that was asked for is an error",
    "MRTR-09": "a call with an answer that was not asked for is an error",
    "MRTR-10": "answers of any shape are accepted",
    # Authorization
    "AUTH-01": "requests without a token are served",
    "AUTH-02": "WWW-Authenticate has no resource_metadata",
    "AUTH-03": "there is no metadata document of the resource",
    "AUTH-04": "the metadata of the resource lists no authorization server",
    "AUTH-05": "every token is accepted",
    "AUTH-07": "only the first request of a session or connection needs a token",
    "AUTH-08": "any token in the query is accepted",
    "AUTH-10": "the issuer in the metadata of the authorization server is another one",
    "AUTH-11": "the endpoints of the authorization server are not https",
    "AUTH-12": "the metadata of the authorization server is not at the root",
    "AUTH-20": "sessions can be used with the token of another user",
    "AUTH-21": "an Origin that equals the Host is accepted, whatever the Host",
    "AUTH-22": "refused tokens are repeated in the error",
}


class Settings:
    """How this process was started."""

    breaks: frozenset[str] = frozenset()
    without: frozenset[str] = frozenset()
    era = "both"
    tokens: frozenset[str] = frozenset()

    def has(self, capability: str) -> bool:
        return capability not in self.without

    @property
    def has_handshake(self) -> bool:
        return self.era != "stateless"

    @property
    def has_stateless(self) -> bool:
        return self.era != "handshake"


SETTINGS = Settings()


def broken(check: str) -> bool:
    """True if this run is to fail this check."""
    if check not in BREAKS:
        raise KeyError(f"{check} is not in BREAKS")
    return check in SETTINGS.breaks
