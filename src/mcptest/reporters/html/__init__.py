"""The HTML report: one page, complete in itself."""
