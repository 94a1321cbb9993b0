//go:build !unix

package mcptest

import (
	"os"
	"syscall"
)

func newProcessGroup() *syscall.SysProcAttr { return nil }

func killGroup(process *os.Process) { _ = process.Kill() }
