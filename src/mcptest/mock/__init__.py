"""A server made of a contract or a manifest: messages go in, messages come out; pure."""
