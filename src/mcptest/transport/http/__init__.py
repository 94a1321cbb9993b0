"""MCP over HTTP. `transport` is the top, `answers`, `client` and `connection` are below it."""
