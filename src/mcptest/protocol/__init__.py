"""MCP as data: messages, framing, sessions, revisions, captures. Pure."""
