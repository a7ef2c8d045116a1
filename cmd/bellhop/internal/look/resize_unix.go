//go:build unix

package look

import (
	"os"
	"os/signal"
	"syscall"
)

func notifyResize(resized chan<- os.Signal) { signal.Notify(resized, syscall.SIGWINCH) }
