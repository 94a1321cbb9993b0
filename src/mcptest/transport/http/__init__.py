"""MCP over HTTP: the client side for servers under test, and a server for mocks."""
