//go:build unix && !linux

package mcptest

import "syscall"

// endWithParent does nothing: the binary notices the end of its input.
func endWithParent(*syscall.SysProcAttr) {}
