"""The coprocess channel under the import name that all SDKs share; see `mcptest.sdk.coprocess`."""

from mcptest.sdk.coprocess import Coprocess, binary_command
from mcptest.sdk.errors import (
    BinaryError,
    ClosedError,
    ContractError,
    CoprocessError,
    OverdueError,
    RefusedError,
    UpstreamError,
    UpstreamGoneError,
    VersionError,
)

__all__ = [
    "COPROCESS_PROTOCOL_VERSION",
    "BinaryError",
    "ClosedError",
    "ContractError",
    "Coprocess",
    "CoprocessError",
    "OverdueError",
    "RefusedError",
    "UpstreamError",
    "UpstreamGoneError",
    "VersionError",
    "binary_command",
]

# The pin that docs/coprocess.md names; a test compares it with the one in use.
COPROCESS_PROTOCOL_VERSION = 2
