"""Turn recorded traffic, a capture or a log, into a contract."""

from mcptest.traffic.contract import contract_text
from mcptest.traffic.reading import is_traffic

__all__ = ["contract_text", "is_traffic"]
