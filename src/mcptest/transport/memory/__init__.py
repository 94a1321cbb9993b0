"""Servers that are objects in this process: official SDK servers and ASGI apps."""
