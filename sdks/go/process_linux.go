package mcptest

import "syscall"

// endWithParent has the kernel send SIGTERM to the binary when this process ends in any way.
// Without it, the binary notices the end of its input, and gives a server that hangs 5 s.
func endWithParent(attributes *syscall.SysProcAttr) {
	attributes.Pdeathsig = syscall.SIGTERM
}
