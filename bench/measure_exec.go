package main

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	warmAgainstProcesses = "warm agents against a process per job, no-op"
	processPerJob        = "a process (/bin/true) per job"
)

// measureExec compares warm agents with a process (/bin/true, the cheapest
// there is) for every job: bellhop's own mode exec, the reference's way with
// eight at once, and what no queue is behind: as many at once as bellhop has
// slots, started by this program and by xargs.
func measureExec(ctx context.Context, b *bench, round int) error {
	n := b.length(1000, 5000)
	drain := func(c contender, o options, n int, note func(rate float64)) func() error {
		return func() error {
			rate, err := b.drained(ctx, c, o, n)
			if err == nil {
				note(rate)
			}
			return err
		}
	}
	bare := func(name string, run func(context.Context, int) error) func() error {
		return func() error {
			began := time.Now()
			if err := run(ctx, n); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			b.note(round, processPerJob, name, float64(n)/time.Since(began).Seconds(), "jobs/s")
			return nil
		}
	}
	return inTurn(round,
		drain(&bellhop{b: b}, options{Drain: true}, 50_000, func(rate float64) {
			b.note(round, warmAgainstProcesses, "bellhop", rate, "jobs/s")
		}),
		drain(&bellhop{b: b}, options{Exec: true}, n, func(rate float64) {
			b.note(round, warmAgainstProcesses, "process per job: bellhop, mode exec", rate, "jobs/s")
			b.note(round, processPerJob, "bellhop", rate, "jobs/s")
		}),
		drain(&reference{b: b}, options{Exec: true}, n, func(rate float64) {
			b.note(round, warmAgainstProcesses, "process per job: reference", rate, "jobs/s")
		}),
		bare("bare fork and exec", forkAndExec),
		bare("xargs -P", xargs))
}

// forkAndExec runs n processes, as many at once as a newcomer's host has slots.
func forkAndExec(ctx context.Context, n int) error {
	var left atomic.Int64
	left.Store(int64(n))
	errs := make(chan error, defaultSlots())
	var all sync.WaitGroup
	for range defaultSlots() {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				if err := exec.CommandContext(ctx, "/bin/true").Run(); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	all.Wait()
	close(errs)
	return <-errs
}

func xargs(ctx context.Context, n int) error {
	cmd := exec.CommandContext(ctx, "xargs", "-P", fmt.Sprint(defaultSlots()), "-n", "1", "/bin/true")
	cmd.Stdin = strings.NewReader(strings.Repeat("x\n", n))
	return cmd.Run()
}
