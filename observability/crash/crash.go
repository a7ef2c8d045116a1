// Package crash lets a program say what it was doing when it crashed: a helper
// process holds the last summary, and writes it to stderr when the Go runtime
// has written a crash. It knows nothing about what is in a summary.
//
// The helper is this very program, started under another name; it takes over
// before anything else of it runs.
package crash

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime/debug"
	"sync"
	"syscall"
)

// helperName is argv[0] of the helper.
const helperName = "bellhop-crash-helper"

// most bounds a summary, in bytes.
const most = 1 << 20

func init() {
	if len(os.Args) == 1 && os.Args[0] == helperName {
		help(os.Stdin, os.NewFile(3, "summaries"), os.Stderr)
		os.Exit(0)
	}
}

// Watch is a helper that waits for this process to crash.
type Watch struct {
	mu        sync.Mutex
	summaries *os.File
	cmd       *exec.Cmd
}

// Start starts the helper. It ends by itself when this process does, however
// that ends.
func Start(stderr *os.File) (*Watch, error) {
	crashes, crashed, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("watch for crashes: %w", err)
	}
	defer crashes.Close()
	defer crashed.Close() // the runtime has made its own copy by then
	read, summaries, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("watch for crashes: %w", err)
	}
	defer read.Close()
	w := &Watch{summaries: summaries, cmd: &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{helperName}, Env: []string{"GOMAXPROCS=1", "GOGC=off"},
		Stdin: crashes, Stderr: stderr, ExtraFiles: []*os.File{read},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true}, // what a terminal sends is not for it
	}}
	if err := w.cmd.Start(); err != nil {
		_ = summaries.Close() // it has no reader
		return nil, fmt.Errorf("watch for crashes: %w", err)
	}
	if err := debug.SetCrashOutput(crashed, debug.CrashOptions{}); err != nil {
		w.Stop()
		return nil, fmt.Errorf("watch for crashes: %w", err)
	}
	return w, nil
}

// Hold gives the helper what to say should this process crash from now on.
func (w *Watch) Hold(summary string) {
	if len(summary) > most {
		summary = summary[:most]
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	frame := binary.BigEndian.AppendUint32(nil, uint32(len(summary)))
	_, _ = w.summaries.Write(append(frame, summary...)) // a helper that is gone says nothing; there is no worse to it
}

// Stop ends the helper: nothing can crash any more.
func (w *Watch) Stop() {
	_ = debug.SetCrashOutput(nil, debug.CrashOptions{})
	_ = w.summaries.Close()
	_ = w.cmd.Wait() // its pipes are closed, so it ends
}

// help holds the last summary until the crash pipe is closed, and says it if
// something was written there.
func help(crashes, summaries io.Reader, stderr io.Writer) {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	var mu sync.Mutex
	var last []byte
	read := make(chan struct{})
	go func() {
		defer close(read)
		in := bufio.NewReader(summaries)
		for {
			var head [4]byte
			if _, err := io.ReadFull(in, head[:]); err != nil {
				return
			}
			n := binary.BigEndian.Uint32(head[:])
			if n > most {
				return
			}
			text := make([]byte, n)
			if _, err := io.ReadFull(in, text); err != nil {
				return
			}
			mu.Lock()
			last = text
			mu.Unlock()
		}
	}()
	n, _ := io.Copy(io.Discard, crashes) // until the process is gone
	if n == 0 {
		return
	}
	<-read // all that it gave us is read: its end of that pipe is closed too
	mu.Lock()
	defer mu.Unlock()
	if len(last) > 0 {
		fmt.Fprintf(stderr, "bellhop has crashed (see above). Its last summary:\n%s", last)
	}
}
