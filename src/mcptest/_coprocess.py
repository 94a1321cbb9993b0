"""The coprocess channel under the import name that all SDKs share; see `mcptest.sdk.coprocess`."""

from mcptest.sdk.coprocess import COPROCESS_PROTOCOL_VERSION, Coprocess, binary_command
from mcptest.sdk.errors import (
    BinaryError,
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
