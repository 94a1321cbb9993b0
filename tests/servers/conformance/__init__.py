"""A server that keeps every rule of the protocol, or breaks one on purpose; see `server.py`."""
