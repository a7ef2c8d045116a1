package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"bellhop/pgdev/pgtest"
)

// kill kills some of the processes.
func (f *faults) kill(pids []int) {
	for _, pid := range pids {
		if f.luck.IntN(2) == 0 {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
		}
	}
}

// hold keeps a transaction open after a statement.
func (f *faults) hold(text string, span time.Duration) {
	end := make(chan struct{})
	f.open = append(f.open, end)
	pool, ctx := f.pool, f.t.Context()
	f.holding.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, span)
		defer cancel()
		tx, err := pool.Begin(ctx)
		if err != nil {
			return // the database is away
		}
		_, _ = tx.Exec(ctx, text)
		select {
		case <-end:
		case <-ctx.Done():
		}
		_ = tx.Rollback(context.WithoutCancel(ctx))
	})
}

func (f *faults) endTransactions() {
	for _, end := range f.open {
		close(end)
	}
	f.open = nil
	f.holding.Wait()
}

func (f *faults) goOn(v *victim) {
	_ = v.instance.cmd.Process.Signal(syscall.SIGCONT) // harmless where it runs
	v.resume = time.Time{}
	select {
	case <-v.instance.exited:
		if strings.Contains(v.instance.said(), "bellhop serves") {
			f.t.Errorf("%s ended by itself", filepath.Base(v.instance.dir))
		}
		f.judge(v.instance)
		v.instance = f.start(f.configuration(v.yaml)) // it met a fault while it came up
	default:
	}
}

func (f *faults) back(n int) { _ = os.Remove(filepath.Join(f.dir, fmt.Sprint("away", n))) }

// heal ends all that goes on.
func (f *faults) heal() {
	f.t.Helper()
	f.endTransactions()
	f.sql("select bellhop.resume(type) from bellhop.paused")
	for n, v := range f.victims {
		f.back(n)
		pgtest.Eventually(f.t, patience, "it is up", func() bool {
			f.goOn(v)
			return strings.Contains(v.instance.said(), "bellhop serves")
		})
	}
}
