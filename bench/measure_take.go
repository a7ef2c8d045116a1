package main

import (
	"context"
	"errors"
	"sync"

	"github.com/jackc/pgx/v5"

	"bellhop/bench/receipt"
)

// Workers without an instance: sessions that take jobs and finish them. Their yardstick is handlers inside an app,
// which have an instance.
const (
	takers    = 8
	takenAt   = 100
	takeDrain = "workers without an instance: drain of 50,000, take of 100 by 8 connections"
)

// taking is bellhop without an instance: an app that calls bellhop.take and bellhop.finish_all.
type taking struct{ handlers }

func (k *taking) start(ctx context.Context, url string, o options) error {
	if err := k.b.migrate(ctx, k.b.binary, url); err != nil {
		return err
	}
	return k.inside.run(k.b, yardstick{Kind: "takers", URL: url, options: o})
}

// startTakers is such an app.
func startTakers(ctx context.Context, y yardstick) (stop func() error, err error) {
	desk, err := receipt.Open(y.Notes)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	errs := make([]error, takers)
	for n := range takers {
		conn, err := pgx.Connect(ctx, y.URL)
		if err == nil {
			_, err = conn.Exec(ctx, "listen bellhop_work")
		}
		if err != nil {
			cancel()
			return nil, err
		}
		all.Go(func() {
			if err := takeJobs(ctx, conn, desk); ctx.Err() == nil {
				errs[n] = err
				cancel()
			}
			_ = conn.Close(context.Background())
		})
	}
	return func() error {
		cancel()
		all.Wait()
		return errors.Join(errs...)
	}, nil
}

// takeJobs takes jobs and finishes them, until the end; where none is ready it waits for a ring.
func takeJobs(ctx context.Context, conn *pgx.Conn, desk *receipt.Desk) error {
	for {
		rows, err := conn.Query(ctx, "select id, fence, args from bellhop.take('{noop}', $1, '1 min')", takenAt)
		if err != nil {
			return err
		}
		var jobs, fences []int64
		var job, fence int64
		var args string
		if _, err := pgx.ForEachRow(rows, []any{&job, &fence, &args}, func() error {
			jobs, fences = append(jobs, job), append(fences, fence)
			_, err := desk.Take([]byte(args))
			return err
		}); err != nil {
			return err
		}
		if len(jobs) == 0 {
			if _, err := conn.WaitForNotification(ctx); err != nil {
				return err
			}
			continue
		}
		if _, err := conn.Exec(ctx, "select bellhop.finish_all($1, $2)", jobs, fences); err != nil {
			return err
		}
	}
}

func measureTake(ctx context.Context, b *bench, round int) error {
	const n = 50_000
	drain := func(c contender) func() error {
		return func() error {
			return b.drainAndCost(ctx, round, takeDrain, c, options{Drain: true}, n)
		}
	}
	return inTurn(round, drain(&taking{handlers{bellhop: bellhop{b: b}}}),
		drain(&handlers{bellhop: bellhop{b: b, label: "handlers inside"}}))
}
