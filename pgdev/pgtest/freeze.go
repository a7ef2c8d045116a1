package pgtest

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// Freeze stops a process (SIGSTOP), and returns when none of its threads runs:
// a signal is sent before it is obeyed, and a thread on another processor may
// meanwhile see what the test does next. One that is dead already stays so.
func Freeze(t testing.TB, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil && !errors.Is(err, syscall.ESRCH) {
		t.Fatalf("stop process %d: %v", pid, err)
	}
	Eventually(t, time.Minute, "process "+strconv.Itoa(pid)+" stands still", func() bool { return !runs(pid) })
}

// runs reports whether any thread of a process may still do something.
func runs(pid int) bool {
	threads, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/stat")
	for _, path := range threads {
		stat, err := os.ReadFile(path)
		if err != nil { // it is over
			continue
		}
		_, state, ok := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" "))
		if ok && !bytes.ContainsAny(state[:1], "TtZX") {
			return true
		}
	}
	return false
}
