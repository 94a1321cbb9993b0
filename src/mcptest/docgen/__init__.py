"""Documentation of a server: from contracts and lists to Markdown and HTML. Pure."""
