"""mcptest: test Model Context Protocol servers, and the clients that talk to them."""

__all__ = ["__version__"]

__version__ = "0.1.0"
