//go:build unix

package pgdev

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"
)

// watcherName is the name under which a program that uses this package starts
// itself again to watch over a cluster; arguments: the cluster's folder, and
// whether it is temporary or kept.
const watcherName = "bellhop: watching over PostgreSQL in"

// bye is what an owner says to its watcher when it leaves in good order.
const bye = 'b'

// init takes over when this process is a watcher: it must be one in every
// program that uses this package, tests included, whatever their main does.
func init() {
	if len(os.Args) == 3 && os.Args[0] == watcherName {
		keepWatch(home(os.Args[1]), os.Args[2] == "temporary")
		os.Exit(0)
	}
}

// watcher is the process that cleans up after us if we die.
type watcher struct {
	cmd  *exec.Cmd
	pipe *os.File // only we hold it; its end is the sign
}

// watch starts one. A signal on the parent's death would not do: it fires when
// a thread ends, and what it kills cannot clean up. The watcher is given owners
// itself, not its name: the share that the lock means is then held until the
// watcher has acted, and is never in its own way (the files of a process that
// is killed are closed in no certain order).
func watch(h home, temporary bool, owners *os.File) (*watcher, error) {
	program, err := ownProgram()
	if err != nil {
		return nil, fmt.Errorf("find our own program: %w", err)
	}
	theirs, ours, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("watch over the cluster: %w", err)
	}
	defer theirs.Close()
	kind := "kept"
	if temporary {
		kind = "temporary"
	}
	cmd := &exec.Cmd{
		Path: program, Args: []string{watcherName, string(h), kind}, Dir: "/",
		Env:   []string{"GOMAXPROCS=1", "GOCOVERDIR=" + os.Getenv("GOCOVERDIR")},
		Stdin: theirs, ExtraFiles: []*os.File{owners}, SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("watch over the cluster: %w", err), ours.Close())
	}
	return &watcher{cmd: cmd, pipe: ours}, nil
}

// dismiss ends the watcher without its doing anything, and waits for it.
func (w *watcher) dismiss() {
	_, _ = w.pipe.Write([]byte{bye}) // it may be dead: then there is nothing to dismiss
	_ = w.pipe.Close()
	_ = w.cmd.Wait()
}

// takeOver lets the watcher do our part, as if we had died.
func (w *watcher) takeOver() {
	_ = w.pipe.Close()
	_ = w.cmd.Process.Release()
}

// keepWatch waits for the owner's end and then does what the owner did not:
// leave. It outlives the signals that a terminal sends to all.
func keepWatch(h home, temporary bool) {
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM, syscall.SIGPIPE)
	word := make([]byte, 1)
	if n, _ := os.Stdin.Read(word); n == 1 && word[0] == bye {
		return
	}
	// Long enough for a checkpoint of a large cluster; then immediately.
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	lock, err := h.lockStart(context.Background())
	if err != nil {
		return // the folder is gone: all is done
	}
	defer lock.Close()
	owners := os.NewFile(3, "owners.lock") // the first of ExtraFiles
	mode := "fast"
	if temporary {
		mode = "immediate"
	}
	// there is no reader for an error
	_ = h.lastOut(ctx, owners, temporary, mode, func(pid int) bool { return !serves(pid, h.data()) })
}
