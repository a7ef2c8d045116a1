package serve

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"syscall"
	"time"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/sql/migrate"
)

// errRenew: this instance has come to an end because there is another program
// under its name, which is to go on.
var errRenew = errors.New("the program was replaced")

// renew is a signal that is never sent: the program was replaced.
type renew struct{}

func (renew) String() string { return "the program was replaced" }
func (renew) Signal()        {}

// How often a replaced program is looked for, and how long it may take to say
// its version, which shows that it runs, and the schema that it needs.
const (
	renewEvery    = 2 * time.Second
	renewPatience = 20 * time.Second
)

// watchProgram sends renew, once, when another program has taken the place of path, runs, and can serve the database
// (fits gets the schema that it needs). Until then this one goes on. It ends with ctx.
func watchProgram(
	ctx context.Context, path string, every time.Duration, fits func(context.Context, int) error, log *slog.Logger,
	signals chan<- os.Signal,
) {
	mine, err := os.Stat(path)
	if err != nil {
		return // it was started from a file that is gone
	}
	same := func(a, b os.FileInfo) bool {
		return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
	}
	last, told := mine, ""
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
		other, err := versionOf(ctx, path)
		if err != nil {
			log.Error("the program was replaced by one that does not run; this one goes on", "program", path, "error", err)
			mine = now // until the next one comes
			continue
		}
		if err := fits(ctx, other.Schema); err != nil {
			if err := err.Error(); err != told {
				log.Error("the program was replaced by one that cannot serve this database; this one goes on until it can",
					"program", path, "version", other.Version, "error", err)
				told = err
			}
			continue
		}
		log.Info("the program was replaced", "program", path, "version", other.Version)
		select {
		case signals <- renew{}:
		case <-ctx.Done():
		}
		return
	}
}

// otherVersion is what a program says of itself; Schema 0: it does not say.
type otherVersion struct {
	Version string
	Schema  int
}

func versionOf(ctx context.Context, path string) (v otherVersion, err error) {
	ctx, cancel := context.WithTimeout(ctx, renewPatience)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "version", "-o", "json").Output()
	if err != nil {
		return v, err
	}
	return v, json.Unmarshal(out, &v)
}

// servable reports whether a program that needs this schema can serve the database, as its own start would find.
func servable(ctx context.Context, a *cli.App, where cli.Database, schema int) error {
	if schema == 0 || where.Embedded { // it migrates an embedded one itself
		return nil
	}
	conn, err := a.Dial(ctx, where, nil)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // it is not needed any more
	return migrate.Admits(ctx, conn, schema)
}

// renewed puts the new program in this one's place: the same process, the same
// arguments. It returns only when that fails.
func renewed(path string) error {
	err := syscall.Exec(path, os.Args, os.Environ())
	return cli.Failed(cli.ExitSystem, "serve", "start it again: bellhop serve", "cannot run the program that replaced this one, %s: %s", path, err)
}
