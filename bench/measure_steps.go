package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// Steps that handlers inside an app keep. Their yardstick is an UPDATE of one row and its commit, by as many
// connections.
const (
	stepHandlers = 64
	stepsAJob    = 100

	stepsKept    = "steps: kept a second by 64 handlers inside an app"
	stepsOfFew   = "steps: kept a second by 4 handlers inside an app"
	commitsAStep = "steps: commits of the server for each"
	walAStep     = "steps: WAL for each"
)

// measureSteps has handlers do jobs of 100 steps each.
func measureSteps(ctx context.Context, b *bench, round int) error {
	many := b.length(320, 1600)
	return inTurn(round,
		func() error { return b.keepSteps(ctx, round, stepsKept, stepHandlers, many) },
		func() error { return b.keepSteps(ctx, round, stepsOfFew, 4, many/4) },
		func() error { return b.updates(ctx, round, stepsKept, stepHandlers, many*stepsAJob) },
		func() error { return b.updates(ctx, round, stepsOfFew, 4, many*stepsAJob/4) })
}

func (b *bench) keepSteps(ctx context.Context, round int, row string, at, jobs int) error {
	app := &handlers{bellhop: bellhop{b: b, types: []string{"noop", "steps"}}}
	return b.with(ctx, app, options{Slots: at}, func(s *session) error {
		run := func(jobs int) error {
			_, err := s.conn.Exec(ctx, `insert into bellhop.jobqueue (type, args)
				select 'steps', 'h' || g || ' 0s' from generate_series(1, $1::int) g`, jobs)
			s.done += int64(jobs)
			if err != nil {
				return err
			}
			return s.settle(ctx, 10*time.Minute)
		}
		if err := run(at); err != nil { // statements are prepared now
			return err
		}
		if err := s.vacuum(ctx); err != nil {
			return err
		}
		commits, wal, err := s.written(ctx)
		if err != nil {
			return err
		}
		began := time.Now()
		if err := run(jobs); err != nil {
			return err
		}
		took := time.Since(began)
		commitsAfter, walAfter, err := s.written(ctx)
		if err != nil {
			return err
		}
		var kept int
		if err := s.conn.QueryRow(ctx, "select count(*) from bellhop.saved_step").Scan(&kept); err != nil {
			return err
		}
		if kept != (jobs+at)*stepsAJob {
			return fmt.Errorf("%d steps are kept, not %d", kept, (jobs+at)*stepsAJob)
		}
		n := float64(jobs * stepsAJob)
		b.note(round, row, "bellhop", n/took.Seconds(), "steps/s")
		if at == stepHandlers {
			b.note(round, commitsAStep, "bellhop", float64(commitsAfter-commits)/n, "")
			b.note(round, walAStep, "bellhop", float64(walAfter-wal)/n, "B")
		}
		return s.check(ctx)
	})
}

// written is what the database has committed, and the server written. A backend tells of its commits a second later.
func (s *session) written(ctx context.Context) (commits, wal int64, err error) {
	time.Sleep(1500 * time.Millisecond)
	err = s.conn.QueryRow(ctx, `select xact_commit, pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint
		from pg_stat_database where datname = current_database()`).Scan(&commits, &wal)
	return commits, wal, err
}

// updates is what as many connections commit that do nothing else.
func (b *bench) updates(ctx context.Context, round int, row string, at, n int) error {
	return b.bare(ctx, func(db *database, conn *pgx.Conn) error {
		const table = `create table plain (id int primary key, output jsonb) with (fillfactor = 50);
			insert into plain select g, '{}' from generate_series(1, 1000) g`
		if _, err := conn.Exec(ctx, table); err != nil {
			return err
		}
		var all sync.WaitGroup
		errs := make(chan error, at)
		start := make(chan struct{})
		var up sync.WaitGroup
		up.Add(at)
		for w := range at {
			all.Go(func() { errs <- updateRows(ctx, db.url, w, n/at, &up, start) })
		}
		up.Wait()
		began := time.Now()
		close(start)
		all.Wait()
		took := time.Since(began)
		for range at {
			if err := <-errs; err != nil {
				return err
			}
		}
		b.note(round, row, "UPDATE and commit", float64(n/at*at)/took.Seconds(), "steps/s")
		return nil
	})
}

// updateRows updates one row n times, when start is closed; it says when it can.
func updateRows(ctx context.Context, url string, id, n int, up *sync.WaitGroup, start <-chan struct{}) error {
	const update = "update plain set output = $2::text::jsonb where id = $1"
	conn, err := pgx.Connect(ctx, url)
	if err == nil {
		defer func() { _ = conn.Close(ctx) }()
		_, err = conn.Prepare(ctx, "u", update)
	}
	up.Done()
	if err != nil {
		return err
	}
	<-start
	for i := range n {
		text, err := json.Marshal(map[string]string{"step": strings.Repeat("x", 20), "n": fmt.Sprint(i)})
		if err != nil {
			return err
		}
		if _, err := conn.Exec(ctx, "u", id+1, string(text)); err != nil {
			return err
		}
	}
	return nil
}
