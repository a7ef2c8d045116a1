package cli

import (
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"
)

// A full disk is no lost connection, though the system's errors look like those of a network.
func TestIsLost_OfConnectionsAlone(t *testing.T) {
	t.Parallel()
	_, dialled := net.Dial("tcp", "127.0.0.1:1") // nobody listens there
	for err, want := range map[error]bool{
		&os.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.ENOSPC}:                       false,
		&net.OpError{Op: "read", Net: "unix", Err: os.NewSyscallError("read", syscall.ECONNRESET)}: true,
		fmt.Errorf("ask: %w", dialled): true,
	} {
		if IsLost(err) != want {
			t.Errorf("%v: %v, want %v", err, !want, want)
		}
	}
}
