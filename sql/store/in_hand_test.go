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
func (o *office) hold(job scheduler.JobID) (release func()) {
	o.Helper()
	return o.holding("select from bellhop.jobqueue where id = $1 for update", int64(job))
}

// holding is an app that has done something and not committed it.
func (o *office) holding(text string, args ...any) (release func()) {
	o.Helper()
	conn, err := pgx.Connect(o.Context(), o.url)
	if err != nil {
		o.Fatal(err)
	}
	o.Cleanup(func() { _ = conn.Close(context.Background()) })
	tx, err := conn.Begin(o.Context())
	if err != nil {
		o.Fatal(err)
	}
	if _, err := tx.Exec(o.Context(), text, args...); err != nil {
		o.Fatal(err)
	}
	return func() {
		if err := tx.Rollback(o.Context()); err != nil {
			o.Fatal(err)
		}
	}
}

// A batch with a job whose row an app has in hand is not written, says so, and
// can be asked which job that is; the same batch is written when it is free.
func TestRecord_ARowThatSomebodyHasInHand(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	mine, theirs := o.running(), o.running()
	release := o.hold(theirs.Claim.Job)
	b := scheduler.Batch{Records: []scheduler.Record{succeeded(mine), succeeded(theirs)}}
	if _, _, err := o.recorder.Write(t.Context(), o.me, b, time.Now()); !errors.Is(err, scheduler.ErrBusy) {
		t.Fatalf("error is %v", err)
	}
	o.want(mine.Claim.Job, "state", "running")
	jobs := []scheduler.JobID{mine.Claim.Job, theirs.Claim.Job, 1 << 40}
	if busy, err := o.recorder.Busy(t.Context(), jobs); err != nil || !slices.Equal(busy, []scheduler.JobID{theirs.Claim.Job}) {
		t.Errorf("busy: %v, %v", busy, err)
	}
	o.mustWrite(b.Records[0]) // and that look has let go of it
	release()
	if busy, err := o.recorder.Busy(t.Context(), jobs); err != nil || len(busy) > 0 {
		t.Errorf("busy when all are free: %v, %v", busy, err)
	}
	o.mustWrite(b.Records[1])
}

// An edge of the graph behind a job that an app has in hand is as good as its
// row; who keeps everybody from writing has no job in hand.
func TestRecord_WhatElseSomebodyCanHaveInHand(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	needed, other := o.running(), o.running()
	waits := o.insert("type, held", "'cat', true")
	o.exec("insert into bellhop.dependency (job, needs) values ($1, $2)", int64(waits), int64(needed.Claim.Job))
	release := o.holding("delete from bellhop.dependency")
	jobs := []scheduler.JobID{needed.Claim.Job, other.Claim.Job}
	if busy, err := o.recorder.Busy(t.Context(), jobs); err != nil || !slices.Equal(busy, jobs[:1]) {
		t.Errorf("with an edge in hand: %v, %v", busy, err)
	}
	release()
	release = o.holding("lock table bellhop.jobqueue in share mode") // as CREATE INDEX does
	if _, _, err := o.recorder.Write(t.Context(), o.me, scheduler.Batch{Records: []scheduler.Record{succeeded(other)}}, time.Now()); !errors.Is(err, scheduler.ErrBusy) {
		t.Errorf("with the table locked: %v", err)
	}
	if busy, err := o.recorder.Busy(t.Context(), jobs); err == nil || errors.Is(err, scheduler.ErrBusy) {
		t.Errorf("with the table locked: busy %v, %v", busy, err)
	}
	release()
	o.mustWrite(succeeded(needed), succeeded(other))
}

// A command that is to kill a job that somebody has in hand waits; those behind
// it do not.
func TestObey_KilljobOfARowInHand(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	job := o.running()
	kill := o.insert("type, args", fmt.Sprintf("'command', 'killjob %d'", job.Claim.Job))
	pause := o.insert("type, args", "'command', 'pause cat'")
	release := o.hold(job.Claim.Job)
	if _, err := o.keeper.Obey(t.Context(), o.me); err != nil {
		t.Fatal(err)
	}
	o.want(kill, "state", "ready")
	o.want(pause, "state", "succeeded")
	release()
	if _, err := o.keeper.Obey(t.Context(), o.me); err != nil {
		t.Fatal(err)
	}
	o.want(kill, "state", "succeeded")
	o.want(job.Claim.Job, "cancel_requested", "true")
}

// No round waits for a row that an app has in hand, nor for others because of
// it: it is done for the others at once, and for that one when it is free.
func TestInHand_NoRoundWaits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(o *office, jobs [2]scheduler.Job)
		round   func(o *office) error
		look    string
	}{
		"burial": {func(*office, [2]scheduler.Job) {}, func(o *office) error {
			_, _, err := o.registry.Bury(o.Context(), o.me, "dead", true)
			if err == nil {
				_, _, err = o.keeper.Due(o.Context()) // for what it has left
			}
			return err
		}, "state = 'ready' and instance is null"},
		"held by hand": {func(o *office, _ [2]scheduler.Job) {
			o.exec("update bellhop.jobqueue set state = 'held', held = false, instance = null")
		}, func(o *office) error {
			_, _, err := o.keeper.Due(o.Context())
			return err
		}, "state = 'ready'"},
		"due": {func(o *office, _ [2]scheduler.Job) {
			o.exec("update bellhop.jobqueue set state = 'scheduled', run_at = clock_timestamp(), instance = null")
		}, func(o *office) error {
			_, _, err := o.keeper.Due(o.Context())
			return err
		}, "state = 'ready'"},
		"marks": {func(o *office, _ [2]scheduler.Job) {
			o.exec("update bellhop.jobqueue set state = 'ready', type = 'unheard', instance = null")
		}, func(o *office) error {
			_, _, err := o.keeper.MarkWaiting(o.Context(), o.me)
			return err
		}, "coalesce(waiting_for, '') = 'unknown_type'"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := openOffice(t)
			jobs := [2]scheduler.Job{o.running(), o.running()}
			c.prepare(o, jobs)
			release := o.hold(jobs[0].Claim.Job)
			if err := c.round(o); err != nil {
				t.Fatalf("with a row in hand: %v", err)
			}
			o.want(jobs[0].Claim.Job, c.look, "false")
			o.want(jobs[1].Claim.Job, c.look, "true")
			release()
			if err := c.round(o); err != nil {
				t.Fatal(err)
			}
			o.want(jobs[0].Claim.Job, c.look, "true")
		})
	}
}
