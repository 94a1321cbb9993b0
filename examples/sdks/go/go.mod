module example/shelf

go 1.20

require mcptest v0.0.0

replace mcptest => ../../../sdks/go
