package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	warmAgainstProcesses = "warm agents against a process per job, no-op"
	processPerJob        = "a process (/bin/true) per job"
)

// measureExec compares warm agents with a process (/bin/true, the cheapest
// there is) for every job: bellhop's own mode exec, the reference's way with
// eight at once, what people write first, a loop of a shell over psql, and what
// no queue is behind: as many at once as bellhop has slots, started by this
// program and by xargs.
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
		bare("xargs -P", xargs),
		func() error {
			rate, err := b.shellLoop(ctx, b.length(100, 500))
			if rate > 0 {
				b.note(round, processPerJob, "a shell loop over psql", rate, "jobs/s")
			}
			return err
		})
}

// shellLoop is what people write first: as many loops of a shell as bellhop has
// slots, each of which has psql take a job, runs it, and has psql say so.
func (b *bench) shellLoop(ctx context.Context, n int) (rate float64, err error) {
	psql, err := exec.LookPath("psql")
	if err != nil {
		b.say("no psql: the shell loop is left out")
		return 0, nil
	}
	err = b.bare(ctx, func(db *database, conn *pgx.Conn) error {
		if _, err := conn.Exec(ctx, `create table loop (id int primary key, state text not null default 'ready')`); err != nil {
			return err
		}
		if _, err := conn.Exec(ctx, "insert into loop (id) select generate_series(1, $1::int)", n); err != nil {
			return err
		}
		const script = `while id=$("$PSQL" -XqAt "$URL" -c "update loop set state = 'running' where id = (select id from loop
	where state = 'ready' order by id limit 1 for update skip locked) returning id") && [ -n "$id" ]; do
	/bin/true && "$PSQL" -XqAt "$URL" -c "update loop set state = 'done' where id = $id"
done`
		began := time.Now()
		errs := make(chan error, defaultSlots())
		for range defaultSlots() {
			go func() {
				loop := exec.CommandContext(ctx, "sh", "-c", script)
				loop.Env = append(os.Environ(), "PSQL="+psql, "URL="+db.url)
				errs <- loop.Run()
			}()
		}
		for range defaultSlots() {
			err = errors.Join(err, <-errs)
		}
		rate = float64(n) / time.Since(began).Seconds()
		var left int
		if e := conn.QueryRow(ctx, "select count(*) from loop where state <> 'done'").Scan(&left); e != nil || left > 0 {
			err = errors.Join(err, e, fmt.Errorf("%d jobs of the shell loop are not done", left))
		}
		return err
	})
	return rate, err
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
