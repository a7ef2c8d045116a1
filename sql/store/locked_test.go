package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler"
)

// hold is an app that has a job's row in hand until release is called.
func (e *env) hold(job scheduler.JobID) (release func()) {
	e.Helper()
	return e.holding("select from bellhop.jobqueue where id = $1 for update", int64(job))
}

// holding is an app that has done something and not committed it.
func (e *env) holding(text string, args ...any) (release func()) {
	e.Helper()
	conn, err := pgx.Connect(e.Context(), e.url)
	if err != nil {
		e.Fatal(err)
	}
	e.Cleanup(func() { _ = conn.Close(context.Background()) })
	tx, err := conn.Begin(e.Context())
	if err != nil {
		e.Fatal(err)
	}
	if _, err := tx.Exec(e.Context(), text, args...); err != nil {
		e.Fatal(err)
	}
	return func() {
		if err := tx.Rollback(e.Context()); err != nil {
			e.Fatal(err)
		}
	}
}

// A batch with a job whose row an app has in hand is not written, says so, and
// can be asked which job that is; the same batch is written when it is free.
func TestRecord_ARowThatSomebodyHasInHand(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	mine, theirs := e.running(), e.running()
	release := e.hold(theirs.Claim.Job)
	b := scheduler.Batch{Records: []scheduler.Record{succeeded(mine), succeeded(theirs)}}
	if _, _, err := e.recorder.Write(t.Context(), e.me, b, time.Now()); !errors.Is(err, scheduler.ErrBusy) {
		t.Fatalf("error is %v", err)
	}
	e.want(mine.Claim.Job, "state", "running")
	jobs := []scheduler.JobID{mine.Claim.Job, theirs.Claim.Job, 1 << 40}
	if busy, err := e.recorder.Busy(t.Context(), jobs); err != nil ||
		!slices.Equal(busy, []scheduler.JobID{theirs.Claim.Job}) {
		t.Errorf("busy: %v, %v", busy, err)
	}
	e.mustWrite(b.Records[0]) // and that look has let go of it
	release()
	if busy, err := e.recorder.Busy(t.Context(), jobs); err != nil || len(busy) > 0 {
		t.Errorf("busy when all are free: %v, %v", busy, err)
	}
	e.mustWrite(b.Records[1])
}

// An edge of the graph behind a job that an app has in hand is as good as its
// row; who keeps everybody from writing has no job in hand.
func TestRecord_WhatElseSomebodyCanHaveInHand(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	needed, other := e.running(), e.running()
	waits := e.insert("type, held", "'cat', true")
	e.exec("insert into bellhop.dependency (job, needs) values ($1, $2)", int64(waits), int64(needed.Claim.Job))
	release := e.holding("delete from bellhop.dependency")
	jobs := []scheduler.JobID{needed.Claim.Job, other.Claim.Job}
	if busy, err := e.recorder.Busy(t.Context(), jobs); err != nil || !slices.Equal(busy, jobs[:1]) {
		t.Errorf("with an edge in hand: %v, %v", busy, err)
	}
	release()
	release = e.holding("lock table bellhop.jobqueue in share mode") // as CREATE INDEX does
	if _, _, err := e.recorder.Write(t.Context(), e.me, scheduler.Batch{Records: []scheduler.Record{succeeded(other)}},
		time.Now()); !errors.Is(
		err, scheduler.ErrBusy) {
		t.Errorf("with the table locked: %v", err)
	}
	if busy, err := e.recorder.Busy(t.Context(), jobs); err == nil || errors.Is(err, scheduler.ErrBusy) {
		t.Errorf("with the table locked: busy %v, %v", busy, err)
	}
	release()
	e.mustWrite(succeeded(needed), succeeded(other))
}

// A command that is to kill a job that somebody has in hand waits; those behind
// it do not.
func TestObey_KilljobOfARowInHand(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	job := e.running()
	kill := e.insert("type, args", fmt.Sprintf("'command', 'killjob %d'", job.Claim.Job))
	pause := e.insert("type, args", "'command', 'pause cat'")
	release := e.hold(job.Claim.Job)
	if _, err := e.maintenance.RunCommands(t.Context(), e.me); err != nil {
		t.Fatal(err)
	}
	e.want(kill, "state", "ready")
	e.want(pause, "state", "succeeded")
	release()
	if _, err := e.maintenance.RunCommands(t.Context(), e.me); err != nil {
		t.Fatal(err)
	}
	e.want(kill, "state", "succeeded")
	e.want(job.Claim.Job, "cancel_requested", "true")
}

// No round waits for a row that an app has in hand, nor for others because of
// it: it is done for the others at once, and for that one when it is free.
func TestLocked_NoRoundWaits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(e *env, jobs [2]scheduler.Job)
		round   func(e *env) error
		look    string
	}{
		"burial": {func(*env, [2]scheduler.Job) {}, func(e *env) error {
			_, _, err := e.registry.MarkGone(e.Context(), e.me, "dead", true)
			if err == nil {
				_, _, err = e.maintenance.Due(e.Context()) // for what it has left
			}
			return err
		}, "state = 'ready' and instance is null"},
		"held by hand": {func(e *env, _ [2]scheduler.Job) {
			e.exec("update bellhop.jobqueue set state = 'held', held = false, instance = null")
		}, func(e *env) error {
			_, _, err := e.maintenance.Due(e.Context())
			return err
		}, "state = 'ready'"},
		"due": {func(e *env, _ [2]scheduler.Job) {
			e.exec("update bellhop.jobqueue set state = 'scheduled', run_at = clock_timestamp(), instance = null")
		}, func(e *env) error {
			_, _, err := e.maintenance.Due(e.Context())
			return err
		}, "state = 'ready'"},
		"marks": {func(e *env, _ [2]scheduler.Job) {
			e.exec("update bellhop.jobqueue set state = 'ready', type = 'unheard', instance = null")
		}, func(e *env) error {
			_, err := e.maintenance.ExplainWaiting(e.Context(), scheduler.Looker{Instance: e.me})
			return err
		}, "coalesce(waiting_for, '') = 'unknown_type'"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := openEnv(t)
			jobs := [2]scheduler.Job{e.running(), e.running()}
			c.prepare(e, jobs)
			release := e.hold(jobs[0].Claim.Job)
			if err := c.round(e); err != nil {
				t.Fatalf("with a row in hand: %v", err)
			}
			e.want(jobs[0].Claim.Job, c.look, "false")
			e.want(jobs[1].Claim.Job, c.look, "true")
			release()
			if err := c.round(e); err != nil {
				t.Fatal(err)
			}
			e.want(jobs[0].Claim.Job, c.look, "true")
		})
	}
}
