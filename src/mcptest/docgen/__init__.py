"""Documentation of a server, from case files and from its own lists; pure."""
