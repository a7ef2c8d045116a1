package store

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler"
)

// always makes a session claim above horizons whenever it has one.
func always(c *Claimer) {
	c.position.Eager(time.Hour)
	c.position.Forget()
}

func two(most int) scheduler.Demand {
	return scheduler.Demand{Host: "local", Total: 2 * most, MSQ: true,
		Types: []scheduler.TypeDemand{
			{Type: "cat", Limit: most, MaxPriority: 19},
			{Type: "dog", Limit: most, MaxPriority: 19},
		}}
}

// TestHorizon_MissesNothingThatIsInserted: whatever the order in which transactions
// begin, insert and commit, claims above horizons alone find all that they bring.
func TestHorizon_MissesNothingThatIsInserted(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	always(e.claimer)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	insert := "insert into bellhop.jobqueue (type) select (array['cat', 'dog'])[1 + n % 2] from generate_series(1, $1::int) n"
	ways := []func(conn *pgx.Conn, wait func()) error{
		func(conn *pgx.Conn, _ func()) error { _, err := conn.Exec(ctx, insert, 1); return err },
		func(conn *pgx.Conn, wait func()) error { // late
			return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
				_, err := tx.Exec(ctx, insert, 2)
				wait()
				return err
			})
		},
		func(conn *pgx.Conn, wait func()) error { // old, and inserts at its end
			return pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, func(tx pgx.Tx) error {
				if _, err := tx.Exec(ctx, "select pg_current_xact_id()"); err != nil {
					return err
				}
				wait()
				_, err := tx.Exec(ctx, insert, 1)
				return err
			})
		},
		func(conn *pgx.Conn, wait func()) error { // in parts, one of which is taken back
			return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
				for _, text := range []string{"savepoint a", "insert into bellhop.jobqueue (type) values ('cat')", "rollback to a", "savepoint b",
					"insert into bellhop.jobqueue (type) values ('dog')", "release b"} {
					if _, err := tx.Exec(ctx, text); err != nil {
						return err
					}
				}
				wait()
				return nil
			})
		},
		func(conn *pgx.Conn, wait func()) error { // taken back
			tx, err := conn.Begin(ctx)
			if err != nil {
				return err
			}
			_, err = tx.Exec(ctx, insert, 3)
			wait()
			_ = tx.Rollback(ctx)
			return err
		},
	}
	var producers sync.WaitGroup
	var above atomic.Int64 // claims made above a horizon
	for n := range 6 {
		producers.Go(func() {
			conn, err := pgx.Connect(ctx, e.url)
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close(context.WithoutCancel(ctx))
			luck := rand.New(rand.NewPCG(uint64(n), 1))
			for i := 0; i < 120 || above.Load() < 100 && ctx.Err() == nil; i++ {
				if i >= 120 { // the claimer has been too slow to come to an end of it
					_, _ = conn.Exec(ctx, "select pg_sleep(0.05)")
				}
				way := ways[luck.IntN(len(ways))]
				if err := way(conn, func() { _, _ = conn.Exec(ctx, "select pg_sleep($1)", luck.Float64()/100) }); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	ended := make(chan struct{})
	go func() { producers.Wait(); close(ended) }()
	claimed := 0
	for over := false; ; {
		if e.claimer.position.From(two(3), time.Now()).Above != nil {
			above.Add(1)
		}
		jobs, err := e.claimer.Claim(ctx, e.me, two(3))
		if err != nil {
			t.Fatal(err)
		}
		claimed += len(jobs)
		if over && len(jobs) == 0 {
			break
		}
		select {
		case <-ended:
			over = true
		default:
		}
	}
	if left := e.one("select count(*) from bellhop.jobqueue where state = 'ready'"); left != "0" || above.Load() < 100 ||
		claimed == 0 {
		t.Errorf("%s jobs were missed; %d claimed, %d claims above a floor", left, claimed, above.Load())
	}
}

// TestHorizon_WhatIsReadyAgain: a horizon is void when Again has grown, and when it is old.
func TestHorizon_WhatIsReadyAgain(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	always(e.claimer)
	id := e.insert("type", "'cat'")
	d := two(1)
	claim := func() (n int) {
		t.Helper()
		jobs, err := e.claimer.Claim(t.Context(), e.me, d)
		if err != nil {
			t.Fatal(err)
		}
		return len(jobs)
	}
	again := func() {
		e.exec("update bellhop.jobqueue set state = 'ready', instance = null, host = null where id = $1", int64(id))
	}
	if n := claim() + claim() + claim(); n != 1 {
		t.Fatalf("%d were claimed, want 1", n)
	}
	again()
	if claim() != 0 {
		t.Error("it was found above the floor: this test shows nothing")
	}
	d.Readmitted++
	if claim() != 1 {
		t.Error("not found though Again has grown")
	}
	_, _ = claim(), claim()
	again()
	e.claimer.position.Eager(0)
	if claim() != 1 {
		t.Error("not found though the floor is old")
	}
	e.claimer.position.Eager(time.Hour)
	_, _ = claim(), claim()
	again()
	e.assert(e.claimer, e.me)
	if claim() != 1 {
		t.Error("not found on a connection that was asserted anew")
	}
}

// TestHorizon_Order: above a horizon, too, what is more urgent comes first, and not
// more of a type than is wanted.
func TestHorizon_Order(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	always(e.claimer)
	for range 2 {
		if jobs, err := e.claimer.Claim(t.Context(), e.me, two(2)); err != nil || len(jobs) > 0 {
			t.Fatal(jobs, err)
		}
	}
	e.exec("insert into bellhop.jobqueue (type, priority, held) values ('cat', 3, false), ('cat', -3, false), ('dog', 1, false), ('cat', 0, false), ('dog', 0, true), ('bird', 0, false)")
	d := two(2)
	d.Total = 3
	if e.claimer.position.From(d, time.Now()).Above == nil {
		t.Fatal("there is no floor")
	}
	jobs, err := e.claimer.Claim(t.Context(), e.me, d)
	var got []string
	for _, j := range jobs {
		got = append(got, fmt.Sprint(j.Type, " ", j.Priority))
	}
	if want := "[cat -3 cat 0 dog 1]"; err != nil || fmt.Sprint(got) != want {
		t.Errorf("claimed %v, %v; want %s", got, err, want)
	}
}

// TestHorizon_WalksPastNothing: while a snapshot is held, what is over stays in
// the index of what is ready, and every claim of everything walks past it.
func TestHorizon_WalksPastNothing(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	holder, err := pgx.Connect(t.Context(), e.url)
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close(context.WithoutCancel(t.Context()))
	for _, text := range []string{"begin isolation level repeatable read", "select 1"} {
		if _, err := holder.Exec(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	e.exec("insert into bellhop.jobqueue (type) select 'cat' from generate_series(1, 20000)")
	e.exec("update bellhop.jobqueue set state = 'succeeded', ended_at = now()")
	e.exec("vacuum analyze bellhop.jobqueue") // nothing is ready: for the planner any index of such rows is as good
	xmax := e.one("select pg_snapshot_xmax(pg_current_snapshot())")
	e.insert("type", "'cat'")
	conn := e.claimer.conn.conn
	me := fmt.Sprint(int64(e.me))
	_, all := planned(t, conn, claimSQL, me, "'local'", "'cat'", "10", "19", "true", "-32768", "0", "7")
	plan, above := planned(t, conn, claimAboveSQL, me, "'local'", "array['cat']", "array[10]", "10", "'"+xmax+"'", "array['"+xmax+"']", "7", "32767", "9223372036854775807")
	if all < 200 || above > 60 {
		t.Errorf("a claim of everything read %d pages, one above a floor %d:\n%s", all, above, plan)
	}
	t.Logf("a claim of everything reads %d pages, one above a floor %d", all, above)
}
