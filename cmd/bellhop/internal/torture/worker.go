package torture

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// workerVariable names the database of a witness that is a worker: an app which takes jobs itself, by functions of SQL.
const workerVariable = "BELLHOP_TORTURE_DATABASE"

// leaseVariable is for how long such an app takes a job.
const leaseVariable = "BELLHOP_TORTURE_LEASE"

var (
	takeSQL   = statement("take")
	finishSQL = statement("finish")
)

// employed ends when stdin does, which dies with the process that started this one.
func employed(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	return ctx, stop
}

// takes is the loop of a worker.
func (w *witness) takes(ctx context.Context, url string, lease time.Duration) error {
	ctx, stop := employed(ctx)
	defer stop()
	var conn *pgx.Conn
	for ctx.Err() == nil {
		var err error
		if conn == nil || conn.IsClosed() {
			conn, err = pgx.Connect(ctx, url)
		}
		worked := false
		if err == nil {
			worked, err = w.takeOne(ctx, conn, lease)
		}
		if err != nil && conn != nil { // as every client does: a session that began read only stays so
			_ = conn.Close(context.WithoutCancel(ctx))
		}
		if err != nil || !worked { // a server that is away, or nothing to do: a witness may ask again
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
	return nil
}

// takeOne takes a job, does it, and finishes it in the transaction that writes the ledger.
func (w *witness) takeOne(ctx context.Context, conn *pgx.Conn, lease time.Duration) (worked bool, err error) {
	var c claim
	err = conn.QueryRow(ctx, takeSQL, lease.Milliseconds()).Scan(&c.ID, &c.Fence, &c.Attempt, &c.Args)
	if err == pgx.ErrNoRows {
		return false, nil
	} else if err != nil {
		return false, err
	}
	w.do(c)
	_, err = conn.Exec(ctx, finishSQL, c.ID, c.Fence, parseTask(c.Args).token)
	return true, err // BH004: another session has the job
}

// employ keeps apps at work until ctx ends: workers that take jobs, and one that has handlers inside. An app that dies
// is started again. over closes when all have ended.
func (s *stage) employ(ctx context.Context) (over <-chan struct{}, err error) {
	log, err := os.OpenFile(filepath.Join(s.dir, "workers.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	apps := []string{insideVariable}
	for range workersEach {
		apps = append(apps, workerVariable)
	}
	ended := make(chan struct{})
	var all sync.WaitGroup
	for _, variable := range apps {
		all.Go(func() {
			for ctx.Err() == nil {
				if err := s.app(ctx, log, variable); err != nil {
					s.pause(ctx, 50*time.Millisecond)
				}
			}
		})
	}
	go func() {
		defer close(ended)
		all.Wait()
		_ = log.Close() // it has been written
	}()
	return ended, nil
}

// app runs a witness that knows the database by a variable, until it dies or ctx ends: then its stdin ends.
func (s *stage) app(ctx context.Context, log io.Writer, variable string) error {
	cmd := exec.CommandContext(ctx, s.program, Witness)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, log, log
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), journalVariable + "=" + s.journal(), variable + "=" + s.database,
		fmt.Sprintf("%s=%s", leaseVariable, s.lag)}
	cmd.SysProcAttr = tied()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	cmd.Cancel, cmd.WaitDelay = stdin.Close, patience
	err = cmd.Run()
	_ = stdin.Close() // it has ended
	return err
}
