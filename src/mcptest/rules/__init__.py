"""Rules about whole sessions: a capture goes in, what holds and what does not comes out. Pure."""
