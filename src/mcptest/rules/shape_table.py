"""The shapes of the messages that a server sends, by method and revision.

A message is `kind method Shape`: the shape is that of its `result` or its `params`, which may
be missing when the shape ends in `?`.

A shape is rows of `member type`. `member?` may be missing; of `one|other` at least one must be
there, of `one^other` exactly one. `+Shape` takes over the rows of another shape. Types are text
(a string), integer, count (an integer from 0 up), number, boolean, object, array, schema (an
object or a boolean), any, null, absent, id (a string or an integer), `=a,b` (one of these
strings), `[T]` (an array of T), `{T}` (an object whose members are all T), `T|U` (U if it is an
array or null, else T) and the names of shapes. A shape that begins with `by member` is a choice
between others by the string in that member, and `by member=word` names the default.

A row may end in options. `since VERSION` and `until VERSION` are the first and the last revision
that have it, `only VERSION` is both. `rule ID` is the rule that a mistake in this value breaks,
`within ID` the one for mistakes inside it whose rows name none; else it is BASE-41. Members that
are not in the table are always valid.
"""

from __future__ import annotations

__all__ = ["MESSAGES", "SHAPES"]

MESSAGES = (
    "result initialize InitializeResult until 2025-11-25",
    "result server/discover DiscoverResult since 2026-07-28",
    "result ping Result until 2025-11-25",
    "result logging/setLevel Result until 2025-11-25",
    "result resources/subscribe Result until 2025-11-25",
    "result resources/unsubscribe Result until 2025-11-25",
    "result subscriptions/listen ListenResult since 2026-07-28",
    "result tools/list ListToolsResult",
    "result tools/call CallToolResult",
    "result resources/list ListResourcesResult",
    "result resources/templates/list ListTemplatesResult",
    "result resources/read ReadResourceResult",
    "result prompts/list ListPromptsResult",
    "result prompts/get GetPromptResult",
    "result completion/complete CompleteResult",
    "result tasks/get TaskResult only 2025-11-25",
    "result tasks/get TaskInput since 2026-07-28",
    "result tasks/cancel TaskResult only 2025-11-25",
    "result tasks/list ListTasksResult only 2025-11-25",
    "result tasks/result Result only 2025-11-25",
    "request ping Ask? until 2025-11-25",
    "request roots/list Ask? until 2025-11-25",
    "request sampling/createMessage SamplingParams until 2025-11-25 rule SAMP-03",
    "request elicitation/create FormParams only 2025-06-18 rule ELIC-03",
    "request elicitation/create ElicitParams only 2025-11-25 rule ELIC-03",
    "request tasks/get TaskAsk only 2025-11-25",
    "request tasks/cancel TaskAsk only 2025-11-25",
    "request tasks/result TaskAsk only 2025-11-25",
    "request tasks/list Ask? only 2025-11-25",
    "notification notifications/cancelled CancelledParams until 2025-11-25 rule CANC-04",
    "notification notifications/cancelled CancelledParams since 2026-07-28 rule CANC-05",
    "notification notifications/progress ProgressParams rule PROG-05",
    "notification notifications/message LogParams rule LOG-02",
    "notification notifications/tools/list_changed Note?",
    "notification notifications/prompts/list_changed Note?",
    "notification notifications/resources/list_changed Note?",
    "notification notifications/resources/updated UpdatedParams",
    "notification notifications/elicitation/complete ElicitedParams only 2025-11-25 rule ELIC-10",
    "notification notifications/tasks/status TaskStatusParams only 2025-11-25",
    "notification notifications/subscriptions/acknowledged AcknowledgedParams since 2026-07-28",
)

SHAPES = {
    # Common parts
    "Result": ("_meta? object",),
    "CachedResult": (
        "+Result",
        "ttlMs any since 2026-07-28 rule CACHE-01",
        "ttlMs? count since 2026-07-28 rule CACHE-02",
        "cacheScope any since 2026-07-28 rule CACHE-01",
        "cacheScope? =public,private since 2026-07-28 rule CACHE-03",
    ),
    "Page": ("+CachedResult", "nextCursor? text rule PAGE-01"),
    "Ask": ("_meta? AskMeta",),
    "AskMeta": (
        "progressToken? id until 2025-11-25 rule PROG-06",
        "progressToken? id since 2026-07-28",
    ),
    "Note": ("_meta? object until 2025-11-25", "_meta? NoteMeta since 2026-07-28"),
    "NoteMeta": ("io.modelcontextprotocol/subscriptionId? id",),
    # The server and its capabilities
    "InitializeResult": (
        "+Result",
        "protocolVersion text",
        "capabilities Capabilities",
        "serverInfo Implementation",
        "instructions? text",
    ),
    "DiscoverResult": (
        "+CachedResult",
        "supportedVersions [text]",
        "capabilities Capabilities",
        "instructions? text",
    ),
    "Capabilities": (
        "experimental? {object}",
        "extensions? {object} since 2026-07-28",
        "logging? object",
        "completions? object since 2025-03-26",
        "prompts? Changing",
        "resources? ChangingResources",
        "tools? Changing",
        "tasks? object only 2025-11-25",
    ),
    "Changing": ("listChanged? boolean",),
    "ChangingResources": ("listChanged? boolean", "subscribe? boolean"),
    "Implementation": (
        "name text",
        "version text",
        "title? text since 2025-06-18",
        "description? text since 2025-11-25",
        "websiteUrl? text since 2025-11-25",
        "icons? [Icon] since 2025-11-25",
    ),
    "Icon": ("src text", "mimeType? text", "sizes? [text]", "theme? =light,dark"),
    # Everything that is listed by name
    "Named": (
        "title? text since 2025-06-18",
        "description? text",
        "icons? [Icon] since 2025-11-25",
        "_meta? object since 2025-06-18",
    ),
    "Annotations": (
        "audience? [=user,assistant]",
        "priority? number",
        "lastModified? text since 2025-06-18",
    ),
    # Tools
    "ListToolsResult": ("+Page", "tools [Tool]"),
    "Tool": (
        "+Named",
        "name text rule TOOL-03",
        "inputSchema ObjectSchema rule TOOL-03 within TOOL-04",
        "outputSchema? ObjectSchema since 2025-06-18 until 2025-11-25 rule TOOL-10 within TOOL-10",
        "outputSchema? object since 2026-07-28",
        "annotations? Hints since 2025-03-26 rule TOOL-19 within TOOL-19",
        "execution? Execution only 2025-11-25",
    ),
    "ObjectSchema": (
        "type =object",
        "properties? {schema} until 2025-11-25",
        "required? [text] until 2025-11-25",
    ),
    "Hints": (
        "title? text",
        "readOnlyHint? boolean",
        "destructiveHint? boolean",
        "idempotentHint? boolean",
        "openWorldHint? boolean",
    ),
    "Execution": ("taskSupport? =forbidden,optional,required",),
    "CallToolResult": (
        "+Result",
        "content array rule TOOL-12",
        "content? any|[ToolBlock] within TOOL-13",
        "isError? boolean rule TOOL-15",
        "structuredContent? object since 2025-06-18 until 2025-11-25 rule TOOL-09",
    ),
    # Content
    "Block": (
        "by type",
        "text TextBlock",
        "image MediaBlock",
        "audio MediaBlock since 2025-03-26",
        "resource ResourceBlock",
        "resource_link Resource since 2025-06-18",
    ),
    "ToolBlock": (
        "by type",
        "text TextBlock",
        "image MediaBlock within TOOL-14",
        "audio MediaBlock since 2025-03-26 within TOOL-14",
        "resource ToolResourceBlock",
        "resource_link Resource since 2025-06-18",
    ),
    "PromptBlock": (
        "by type",
        "text TextBlock",
        "image MediaBlock within PROMPT-05",
        "audio MediaBlock since 2025-03-26 within PROMPT-06",
        "resource PromptResourceBlock",
        "resource_link Resource since 2025-06-18",
    ),
    "Annotated": (
        "annotations? Annotations rule RES-12 within RES-12",
        "_meta? object since 2025-06-18",
    ),
    "TextBlock": ("+Annotated", "text text"),
    "MediaBlock": ("+Annotated", "data text", "mimeType text"),
    "ResourceBlock": ("+Annotated", "resource Contents"),
    "ToolResourceBlock": (
        "+Annotated",
        "resource ToolContents rule TOOL-23 within TOOL-23",
    ),
    "PromptResourceBlock": (
        "+Annotated",
        "resource PromptContents rule PROMPT-07 within PROMPT-07",
    ),
    "Contents": ("+AnyContents", "mimeType? text", "text^blob any"),
    "ToolContents": ("+AnyContents", "mimeType? text", "text^blob any"),
    "PromptContents": ("+AnyContents", "mimeType text", "text^blob any"),
    "AnyContents": (
        "uri text",
        "text? text",
        "blob? text rule RES-06",
        "_meta? object since 2025-06-18",
    ),
    # Resources
    "ListResourcesResult": ("+Page", "resources [Resource]"),
    "Resource": (
        "+Named",
        "name text",
        "uri text rule RES-03",
        "mimeType? text",
        "size? integer rule RES-12",
        "annotations? Annotations rule RES-12 within RES-12",
    ),
    "ListTemplatesResult": ("+Page", "resourceTemplates [Template]"),
    "Template": (
        "+Named",
        "name text",
        "uriTemplate text rule RES-04",
        "mimeType? text",
        "annotations? Annotations rule RES-12 within RES-12",
    ),
    "ReadResourceResult": ("+CachedResult", "contents [Contents] rule RES-05 within RES-05"),
    "UpdatedParams": ("+Note", "uri text"),
    # Prompts and completion
    "ListPromptsResult": ("+Page", "prompts [Prompt]"),
    "Prompt": ("+Named", "name text rule PROMPT-03", "arguments? [Argument] rule PROMPT-03"),
    "Argument": (
        "name text rule PROMPT-03",
        "title? text since 2025-06-18",
        "description? text",
        "required? boolean rule PROMPT-03",
    ),
    "GetPromptResult": (
        "+Result",
        "description? text",
        "messages [PromptMessage] rule PROMPT-04 within PROMPT-04",
    ),
    "PromptMessage": ("role =user,assistant", "content PromptBlock"),
    "CompleteResult": ("+Result", "completion Completion rule COMP-03 within COMP-03"),
    "Completion": ("values [text]", "total? integer", "hasMore? boolean"),
    # Notifications
    "CancelledParams": (
        "+Note",
        "requestId id until 2025-06-18 rule CANC-04",
        "requestId? id only 2025-11-25 rule CANC-04",
        "requestId id since 2026-07-28 rule CANC-05",
        "reason? text",
    ),
    "ProgressParams": (
        "+Note",
        "progressToken id rule PROG-01",
        "progress number rule PROG-05",
        "total? number rule PROG-05",
        "message? text since 2025-03-26 rule PROG-05",
    ),
    "LogParams": (
        "+Note",
        "level =debug,info,notice,warning,error,critical,alert,emergency rule LOG-02",
        "data any rule LOG-02",
        "logger? text",
    ),
    "ListenResult": ("_meta ListenMeta rule SUB-03",),
    "ListenMeta": ("io.modelcontextprotocol/subscriptionId id rule SUB-03",),
    "AcknowledgedParams": ("+Note", "notifications Filter"),
    "Filter": (
        "toolsListChanged? boolean",
        "promptsListChanged? boolean",
        "resourcesListChanged? boolean",
        "resourceSubscriptions? [text]",
    ),
    # Requests to the client
    "SamplingParams": (
        "+Ask",
        "messages [SamplingMessage] rule SAMP-03",
        "maxTokens integer rule SAMP-03",
        "modelPreferences? ModelPreferences",
        "systemPrompt? text",
        "includeContext? =none,thisServer,allServers",
        "temperature? number",
        "stopSequences? [text]",
        "metadata? object",
        "tools? [Tool] since 2025-11-25",
        "toolChoice? ToolChoice since 2025-11-25",
    ),
    "SamplingMessage": (
        "role =user,assistant rule SAMP-03",
        "content SamplingBlock until 2025-06-18 rule SAMP-03",
        "content SamplingBlock|[SamplingBlock] since 2025-11-25 rule SAMP-03",
    ),
    "SamplingBlock": (
        "by type",
        "text TextBlock",
        "image MediaBlock",
        "audio MediaBlock since 2025-03-26",
        "tool_use ToolUse since 2025-11-25",
        "tool_result ToolAnswer since 2025-11-25",
    ),
    "ToolUse": ("id text", "name text", "input object"),
    "ToolAnswer": (
        "toolUseId text",
        "content [Block]",
        "isError? boolean",
        "structuredContent? object only 2025-11-25",
    ),
    "ToolChoice": ("mode? =auto,required,none",),
    "ModelPreferences": (
        "hints? [ModelHint]",
        "costPriority? number",
        "speedPriority? number",
        "intelligencePriority? number",
    ),
    "ModelHint": ("name? text",),
    "ElicitParams": ("by mode=form rule ELIC-02", "form FormParams", "url UrlParams"),
    "FormParams": (
        "+Ask",
        "message text rule ELIC-03",
        "requestedSchema FormSchema rule ELIC-04 within ELIC-04",
    ),
    "FormSchema": ("type =object", "properties {object}", "required? [text]"),
    "UrlParams": (
        "+Ask",
        "message text rule ELIC-03",
        "url text rule ELIC-05",
        "elicitationId text only 2025-11-25 rule ELIC-05",
    ),
    "ElicitedParams": ("+Note", "elicitationId text rule ELIC-10"),
    "InputRequired": (
        "+Result",
        "inputRequests? {InputRequest} rule MRTR-03",
        "requestState? text rule MRTR-05",
    ),
    "InputRequest": (
        "by method rule MRTR-03",
        "elicitation/create ElicitInput",
        "sampling/createMessage SamplingInput",
        "roots/list RootsInput",
    ),
    "ElicitInput": ("+NoMessage", "params ElicitParams rule MRTR-03"),
    "SamplingInput": ("+NoMessage", "params SamplingParams rule MRTR-03"),
    "RootsInput": ("+NoMessage", "params? object rule MRTR-03"),
    # An input request is not a message of its own.
    "NoMessage": ("jsonrpc? absent rule MRTR-03", "id? absent rule MRTR-03"),
    "TaskInput": ("inputRequests? {InputRequest}",),
    # Tasks
    "Task": (
        "taskId text",
        "status =working,input_required,completed,failed,cancelled",
        "statusMessage? text",
        "createdAt text",
        "lastUpdatedAt text",
        "ttl number|null",
        "pollInterval? number",
    ),
    "TaskResult": ("+Result", "+Task"),
    "CreateTaskResult": ("+Result", "task Task"),
    "ListTasksResult": ("+Page", "tasks [Task]"),
    "TaskStatusParams": ("+Note", "+Task"),
    "TaskAsk": ("+Ask", "taskId text"),
}
