//go:build unix

package pgdev

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// pidFile is what a running server tells of itself in data/postmaster.pid.
type pidFile struct {
	pid, port     int
	socket        string
	shmKey, shmID int
	status        string // starting, ready, standby, stopping
}

// ready: it takes connections; a standby those that only read.
func (p pidFile) ready() bool { return p.status == "ready" || p.status == "standby" }

// readPIDFile reads it; a server that has just begun has not written all yet.
func readPIDFile(data string) (pidFile, bool) {
	text, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	if err != nil {
		return pidFile{}, false
	}
	lines := append(strings.Split(string(text), "\n"), make([]string, 8)...)
	var p pidFile
	if p.pid, err = strconv.Atoi(strings.TrimSpace(lines[0])); err != nil || p.pid <= 1 {
		return pidFile{}, false // negative: a single-user server; 1 and 0 are never ours
	}
	p.port, _ = strconv.Atoi(lines[3])
	p.socket = lines[4]
	if f := strings.Fields(lines[6]); len(f) == 2 {
		p.shmKey, _ = strconv.Atoi(f[0])
		p.shmID, _ = strconv.Atoi(f[1])
	}
	p.status = strings.TrimSpace(lines[7])
	return p, true
}

// live gives the server that runs in h. Its pid file may be stale, and the pid
// in it another process by now.
func (h home) live() (pidFile, bool) {
	p, ok := readPIDFile(h.data())
	return p, ok && serves(p.pid, h.data())
}

// shutdowns maps the names that PostgreSQL gives its ways to stop.
var shutdowns = map[string]syscall.Signal{
	"smart":     syscall.SIGTERM, // when every client has left
	"fast":      syscall.SIGINT,  // rolls back and disconnects the clients
	"immediate": syscall.SIGQUIT, // as a crash: the next start replays the log
}

// lastWord is how long a server has after an immediate shutdown (it kills its
// own processes after 5 s) before it is killed.
const lastWord = 8 * time.Second

// signalServer signals the server in h, if it is the one with pid. The handle
// is taken before the look, so that the pid cannot change hands in between.
func (h home) signalServer(pid int, sig syscall.Signal) {
	p, err := os.FindProcess(pid)
	if err != nil {
		return
	}
	if serves(pid, h.data()) {
		_ = p.Signal(sig) // gone in the meantime is as good
	}
	_ = p.Release()
}

// stopServer stops the server in h in the given way and waits until all of it
// is gone. When ctx ends first it stops it immediately, so that this returns
// within seconds; the data stay safe either way. ended reports (and reaps) the
// end of a process.
func (h home) stopServer(ctx context.Context, mode string, ended func(pid int) bool) error {
	if p, ok := h.live(); ok {
		h.signalServer(p.pid, shutdowns[mode])
		gone := func() (bool, error) { return ended(p.pid), nil }
		if until(ctx, gone) != nil {
			h.signalServer(p.pid, syscall.SIGQUIT)
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWord)
			defer cancel()
			if until(last, gone) != nil {
				h.signalServer(p.pid, syscall.SIGKILL)
				_ = until(context.WithoutCancel(ctx), gone)
			}
		}
	}
	return h.sweep(context.WithoutCancel(ctx))
}

// sweep ends what a crashed server or initdb left running in h, and removes
// its pid file. (A server's shared memory is removed by its next start.)
func (h home) sweep(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lastWord)
	defer cancel()
	err := until(ctx, func() (bool, error) {
		list := strays(h)
		for _, pid := range list {
			p, err := os.FindProcess(pid)
			if err != nil {
				continue
			}
			if isStray(pid, h) { // still: the handle pins it
				_ = p.Kill()
			}
			_ = p.Release()
		}
		return len(list) == 0, nil
	})
	if err != nil {
		return fmt.Errorf("processes of PostgreSQL in %s do not end: %w", h, err)
	}
	if p, ok := readPIDFile(h.fresh()); ok { // initdb's server, which has no next start either
		dropSharedMemory(p.shmKey, p.shmID)
	}
	// PostgreSQL takes a pid file for valid if its pid is alive, whatever process that is.
	err = os.Remove(filepath.Join(h.data(), "postmaster.pid"))
	if err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		return fmt.Errorf("remove the stale pid file: %w", err)
	}
	return nil
}

// logSince gives the end of what the server logged from offset on, for an error.
func (h home) logSince(offset int64) string {
	f, err := os.Open(h.log())
	if err != nil {
		return ""
	}
	defer f.Close()
	if size, err := f.Seek(0, io.SeekEnd); err == nil && size-offset > 4096 {
		offset = size - 4096
	}
	text, err := io.ReadAll(io.NewSectionReader(f, offset, 4096))
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(text))
}
