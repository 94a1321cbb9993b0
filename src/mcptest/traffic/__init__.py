"""From recorded traffic to a contract: captures and logs become case files."""

from mcptest.traffic.contract import contract_text
from mcptest.traffic.reading import is_traffic

__all__ = ["contract_text", "is_traffic"]
