//go:build unix

package mcptest

import (
	"os"
	"syscall"
)

// newProcessGroup has the binary lead a process group of its own, so that a wrapper around it is
// killed together with it.
func newProcessGroup() *syscall.SysProcAttr {
	attributes := &syscall.SysProcAttr{Setpgid: true}
	endWithParent(attributes)
	return attributes
}

// killGroup kills the process and its group. The binary has the server end if it is killed.
func killGroup(process *os.Process) {
	_ = syscall.Kill(-process.Pid, syscall.SIGKILL)
}
