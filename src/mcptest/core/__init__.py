"""The protocol and the vocabulary of testing, as pure data and pure functions."""
