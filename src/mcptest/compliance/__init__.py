"""Active checks of a live server: what `mcptest compliance run` makes."""
