"""From recorded traffic to a contract: captures and logs become case files."""

from mcptest.traffic.contract import contract_text

__all__ = ["contract_text"]
