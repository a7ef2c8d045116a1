//go:build unix

package pgdev

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// patience is how often something that cannot be waited for is looked at.
const patience = 5 * time.Millisecond

// openLock opens one of the cluster's lock files. The lock belongs to the open
// file: it ends when the file is closed or its process dies in whatever way.
func (h home) openLock(name string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(string(h), name), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	return f, nil
}

// lockStart waits until no other process starts, restarts or stops the server in h. Closing the file releases the
// lock.
func (h home) lockStart(ctx context.Context) (*os.File, error) {
	f, err := h.openLock("start.lock")
	if err != nil {
		return nil, err
	}
	err = until(ctx, func() (bool, error) { return try(f, unix.LOCK_EX) })
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("wait for another process that starts or stops the cluster in %s: %w", h, err)
	}
	return f, nil
}

// try takes the lock on f, or says false when others hold it against us. It
// converts a lock that f has, and may lose it then; only the holder of
// start.lock does that.
func try(f *os.File, how int) (bool, error) {
	err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, unix.EINTR) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	return true, nil
}

// until asks done again and again till it says yes, fails, or ctx ends.
func until(ctx context.Context, done func() (bool, error)) error {
	tick := time.NewTicker(patience)
	defer tick.Stop()
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}
