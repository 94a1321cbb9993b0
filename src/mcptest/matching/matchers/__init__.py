"""Matchers, one module per family."""
