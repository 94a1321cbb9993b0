module mcptest/cmd/conformance

go 1.20

require mcptest v0.0.0

replace mcptest => ../..
