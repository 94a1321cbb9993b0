"""Decide whether a value meets an expectation, and say why not."""
