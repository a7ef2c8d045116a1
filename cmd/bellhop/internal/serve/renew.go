package serve

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"bellhop/cmd/bellhop/internal/cli"
)

// errRenew: this instance has come to an end because there is another program
// under its name, which is to go on.
var errRenew = errors.New("the program was replaced")

// renew is a signal that is never sent: the program was replaced.
type renew struct{}

func (renew) String() string { return "the program was replaced" }
func (renew) Signal()        {}

// How often a replaced program is looked for, and how long it may take to say
// its version, by which it shows that it is whole.
const (
	renewEvery    = 2 * time.Second
	renewPatience = 20 * time.Second
)

// watchProgram sends renew, once, when another program has taken the place of
// path and runs. It ends with ctx.
func watchProgram(ctx context.Context, path string, every time.Duration, log *slog.Logger, signals chan<- os.Signal) {
	mine, err := os.Stat(path)
	if err != nil {
		return // it was started from a file that is gone
	}
	same := func(a, b os.FileInfo) bool {
		return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
	}
	last := mine
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now, err := os.Stat(path)
		if err != nil { // between two versions
			continue
		}
		settled := same(now, last) // it is not written to any more
		if last = now; !settled || same(now, mine) {
			continue
		}
		version, err := versionOf(ctx, path)
		if err != nil {
			log.Error("the program was replaced by one that does not run; this one goes on", "program", path, "error", err)
			mine = now // until the next one comes
			continue
		}
		log.Info("the program was replaced", "program", path, "version", version)
		select {
		case signals <- renew{}:
		case <-ctx.Done():
		}
		return
	}
}

func versionOf(ctx context.Context, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, renewPatience)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	return strings.TrimSpace(string(out)), err
}

// renewed puts the new program in this one's place: the same process, the same
// arguments. It returns only when that fails.
func renewed(path string) error {
	err := syscall.Exec(path, os.Args, os.Environ())
	return cli.Failed(cli.ExitSystem, "serve", "start it again: bellhop serve", "cannot run the program that replaced this one, %s: %s", path, err)
}
