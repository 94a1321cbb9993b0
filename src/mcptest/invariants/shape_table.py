"""What the messages of a server look like, by method and revision: a table in words of our own.

A message is `kind method Shape`: the shape is that of its `result` or its `params`, which may
be missing when the shape ends in `?`.

A shape is rows of `member type`. `member?` may be missing; of `one|other` at least one must be
there and of the type. `+Shape` takes over the rows of another. Types are text, integer, number,
boolean, object, any, null, id (text or an integer), `=a,b` (one of these words), `[T]` (an array
of T), `{T}` (an object whose members are all T), `T|U` (either) and the names of shapes. A shape
that begins with `by member` is a choice between others by the word in that member, and
`by member=word` says which word it is when there is none.

`@CDE` at the end of a row says in which revisions it is there. Members that are not in the table
are always fine.
"""

from __future__ import annotations

__all__ = ["MESSAGES", "SHAPES"]

MESSAGES = (
    "result initialize InitializeResult @ABCD",
    "result server/discover DiscoverResult @E",
    "result ping Result @ABCD",
    "result logging/setLevel Result @ABCD",
    "result resources/subscribe Result @ABCD",
    "result resources/unsubscribe Result @ABCD",
    "result subscriptions/listen ListenResult @E",
    "result tools/list ListToolsResult",
    "result tools/call CallToolResult",
    "result resources/list ListResourcesResult",
    "result resources/templates/list ListTemplatesResult",
    "result resources/read ReadResourceResult",
    "result prompts/list ListPromptsResult",
    "result prompts/get GetPromptResult",
    "result completion/complete CompleteResult",
    "result tasks/get TaskResult @D",
    "result tasks/cancel TaskResult @D",
    "result tasks/list ListTasksResult @D",
    "result tasks/result Result @D",
    "request ping Ask? @ABCD",
    "request roots/list Ask? @ABCD",
    "request sampling/createMessage SamplingParams @ABCD",
    "request elicitation/create FormParams @C",
    "request elicitation/create ElicitParams @D",
    "request tasks/get TaskAsk @D",
    "request tasks/cancel TaskAsk @D",
    "request tasks/result TaskAsk @D",
    "request tasks/list Ask? @D",
    "notification notifications/cancelled CancelledParams",
    "notification notifications/progress ProgressParams",
    "notification notifications/message LogParams",
    "notification notifications/tools/list_changed Note?",
    "notification notifications/prompts/list_changed Note?",
    "notification notifications/resources/list_changed Note?",
    "notification notifications/resources/updated UpdatedParams",
    "notification notifications/elicitation/complete ElicitedParams @D",
    "notification notifications/tasks/status TaskStatusParams @D",
    "notification notifications/subscriptions/acknowledged AcknowledgedParams @E",
)

SHAPES = {
    # What stands around the rest.
    "Result": ("_meta? object", "resultType text @E"),
    "CachedResult": ("+Result", "ttlMs integer @E", "cacheScope =public,private @E"),
    "Page": ("+CachedResult", "nextCursor? text"),
    "Ask": ("_meta? AskMeta",),
    "AskMeta": ("progressToken? id",),
    "Note": ("_meta? object @ABCD", "_meta? NoteMeta @E"),
    "NoteMeta": ("io.modelcontextprotocol/subscriptionId? id",),
    # Who the server is and what it can do.
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
        "extensions? {object} @E",
        "logging? object",
        "completions? object @BCDE",
        "prompts? Changing",
        "resources? ChangingResources",
        "tools? Changing",
        "tasks? object @D",
    ),
    "Changing": ("listChanged? boolean",),
    "ChangingResources": ("listChanged? boolean", "subscribe? boolean"),
    "Implementation": (
        "name text",
        "version text",
        "title? text @CDE",
        "description? text @DE",
        "websiteUrl? text @DE",
        "icons? [Icon] @DE",
    ),
    "Icon": ("src text", "mimeType? text", "sizes? [text]", "theme? =light,dark"),
    # Everything that is listed by name.
    "Named": (
        "name text",
        "title? text @CDE",
        "description? text",
        "icons? [Icon] @DE",
        "_meta? object @CDE",
    ),
    "Annotations": (
        "audience? [=user,assistant]",
        "priority? number",
        "lastModified? text @CDE",
    ),
    # Tools
    "ListToolsResult": ("+Page", "tools [Tool]"),
    "Tool": (
        "+Named",
        "inputSchema ObjectSchema",
        "outputSchema? ObjectSchema @CD",
        "outputSchema? AnySchema @E",
        "annotations? Hints @BCDE",
        "execution? Execution @D",
    ),
    "AnySchema": ("$schema? text @DE",),
    "ObjectSchema": (
        "+AnySchema",
        "type =object",
        "properties? object @ABCD",
        "required? [text] @ABCD",
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
        "content [Block]",
        "isError? boolean",
        "structuredContent? object @CD",
    ),
    # Content
    "Block": (
        "by type",
        "text TextBlock",
        "image MediaBlock",
        "audio MediaBlock @BCDE",
        "resource ResourceBlock",
        "resource_link Resource @CDE",
    ),
    "Annotated": ("annotations? Annotations", "_meta? object @CDE"),
    "TextBlock": ("+Annotated", "text text"),
    "MediaBlock": ("+Annotated", "data text", "mimeType text"),
    "ResourceBlock": ("+Annotated", "resource Contents"),
    "Contents": ("uri text", "mimeType? text", "text|blob text", "_meta? object @CDE"),
    # Resources
    "ListResourcesResult": ("+Page", "resources [Resource]"),
    "Resource": (
        "+Named",
        "uri text",
        "mimeType? text",
        "size? integer",
        "annotations? Annotations",
    ),
    "ListTemplatesResult": ("+Page", "resourceTemplates [Template]"),
    "Template": ("+Named", "uriTemplate text", "mimeType? text", "annotations? Annotations"),
    "ReadResourceResult": ("+CachedResult", "contents [Contents]"),
    "UpdatedParams": ("+Note", "uri text"),
    # Prompts and completion
    "ListPromptsResult": ("+Page", "prompts [Prompt]"),
    "Prompt": ("+Named", "arguments? [Argument]"),
    "Argument": (
        "name text",
        "title? text @CDE",
        "description? text",
        "required? boolean",
    ),
    "GetPromptResult": ("+Result", "description? text", "messages [PromptMessage]"),
    "PromptMessage": ("role =user,assistant", "content Block"),
    "CompleteResult": ("+Result", "completion Completion"),
    "Completion": ("values [text]", "total? integer", "hasMore? boolean"),
    # What is told beside answers
    "CancelledParams": ("+Note", "requestId id @ABCE", "requestId? id @D", "reason? text"),
    "ProgressParams": (
        "+Note",
        "progressToken id",
        "progress number",
        "total? number",
        "message? text @BCDE",
    ),
    "LogParams": (
        "+Note",
        "level =debug,info,notice,warning,error,critical,alert,emergency",
        "data any",
        "logger? text",
    ),
    "ListenResult": ("resultType text", "_meta ListenMeta"),
    "ListenMeta": ("io.modelcontextprotocol/subscriptionId id",),
    "AcknowledgedParams": ("+Note", "notifications Filter"),
    "Filter": (
        "toolsListChanged? boolean",
        "promptsListChanged? boolean",
        "resourcesListChanged? boolean",
        "resourceSubscriptions? [text]",
    ),
    # What a server asks of its client
    "SamplingParams": (
        "+Ask",
        "messages [SamplingMessage]",
        "maxTokens integer",
        "modelPreferences? ModelPreferences",
        "systemPrompt? text",
        "includeContext? =none,thisServer,allServers",
        "temperature? number",
        "stopSequences? [text]",
        "metadata? object",
        "tools? [Tool] @DE",
        "toolChoice? ToolChoice @DE",
    ),
    "SamplingMessage": (
        "role =user,assistant",
        "content SamplingBlock @ABC",
        "content SamplingBlock|[SamplingBlock] @DE",
    ),
    "SamplingBlock": (
        "by type",
        "text TextBlock",
        "image MediaBlock",
        "audio MediaBlock @BCDE",
        "tool_use ToolUse @DE",
        "tool_result ToolAnswer @DE",
    ),
    "ToolUse": ("id text", "name text", "input object"),
    "ToolAnswer": (
        "toolUseId text",
        "content [Block]",
        "isError? boolean",
        "structuredContent? object @D",
    ),
    "ToolChoice": ("mode? =auto,required,none",),
    "ModelPreferences": (
        "hints? [ModelHint]",
        "costPriority? number",
        "speedPriority? number",
        "intelligencePriority? number",
    ),
    "ModelHint": ("name? text",),
    "ElicitParams": ("by mode=form", "form FormParams", "url UrlParams"),
    "FormParams": ("+Ask", "message text", "requestedSchema FormSchema"),
    "FormSchema": ("type =object", "properties {object}", "required? [text]"),
    "UrlParams": ("+Ask", "message text", "url text", "elicitationId text @D"),
    "ElicitedParams": ("+Note", "elicitationId text"),
    "InputRequired": (
        "+Result",
        "inputRequests? {InputRequest}",
        "requestState? text",
    ),
    "InputRequest": (
        "by method",
        "elicitation/create ElicitInput",
        "sampling/createMessage SamplingInput",
        "roots/list RootsInput",
    ),
    "ElicitInput": ("params ElicitParams",),
    "SamplingInput": ("params SamplingParams",),
    "RootsInput": ("params? object",),
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
