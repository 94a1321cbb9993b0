//go:build unix

package mcptest

import (
	"os"
	"syscall"
)

// newProcessGroup has the binary lead a process group of its own, so that it is killed together with
// a wrapper around it. When this process ends in any way, its pipes do, and so does the binary.
func newProcessGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

// killGroup kills the process and its group. The binary has the server end if it is killed.
func killGroup(process *os.Process) {
	_ = syscall.Kill(-process.Pid, syscall.SIGKILL)
	// It may have moved to another group.
	_ = process.Kill()
}
