"""Matchers in any language: the host of plugins that run as processes of their own.

    with PluginHost(["python3", "geo.py"]) as geo:
        geo.call("near", {"actual": …, "expected": "48.85,2.35,10", "path": "result"})

docs/plugins.md is the contract.
"""

from mcptest.matching.registry import Matcher, Miss, ParameterError
from mcptest.plugins.host import (
    PROTOCOL_VERSION,
    HostError,
    InvalidJson,
    InvalidResponse,
    PluginCrashed,
    PluginError,
    PluginHost,
    PluginResponse,
    SpawnFailed,
    Timeout,
)

__all__ = [
    "PROTOCOL_VERSION",
    "HostError",
    "InvalidJson",
    "InvalidResponse",
    "Matcher",
    "Miss",
    "ParameterError",
    "PluginCrashed",
    "PluginError",
    "PluginHost",
    "PluginResponse",
    "SpawnFailed",
    "Timeout",
]
