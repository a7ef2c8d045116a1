//go:build unix

package setup

import (
	"os"
	"syscall"
)

// keepOwner gives a file the owner that another one has.
func keepOwner(f *os.File, of os.FileInfo) error {
	if was, is := of.Sys().(*syscall.Stat_t); is {
		return f.Chown(int(was.Uid), int(was.Gid))
	}
	return nil
}
