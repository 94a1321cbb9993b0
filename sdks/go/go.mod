module mcptest

go 1.20
