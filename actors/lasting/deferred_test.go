package lasting

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"bellhop/scheduler"
)

func recordsOf(text string) (list []scheduler.Record) {
	for word := range strings.FieldsSeq(text) {
		var r scheduler.Record
		var kind rune
		if _, err := fmt.Sscanf(word, "%d%c", &r.Claim.Job, &kind); err != nil {
			panic(err)
		}
		if kind == 'e' {
			r.Kind = scheduler.RecordSettle
		}
		list = append(list, r)
	}
	return list
}

func textOf(b scheduler.Batch) string {
	var message []string
	for _, r := range b.Records {
		kind := "s"
		if r.Kind == scheduler.RecordSettle {
			kind = "e"
		}
		message = append(message, fmt.Sprint(r.Claim.Job, kind))
	}
	for _, p := range b.Progress {
		message = append(message, fmt.Sprintf("%d:%d", p.Job, p.Done))
	}
	return strings.Join(message, " ")
}

// What is owed of a job whose row is in hand waits in its order; the rest of
// what is owed passes it by, and new ones do not put its next try off.
func TestOutbox_WhatIsAsideIsPassedBy(t *testing.T) {
	o := NewOutbox(func() {}, &Awaited{})
	now := time.Now()
	progress := func(job scheduler.JobID, done int64) {
		o.Progress(scheduler.Progress{Claim: scheduler.Claim{Job: job}, Items: scheduler.Items{Done: done}})
	}
	flies := func(want string) {
		t.Helper()
		if b, _, _ := o.Take(now); textOf(b) != want {
			t.Fatalf("in the air: %q, want %q", textOf(b), want)
		}
	}
	lands := func(wantFirst int, more bool, busy ...scheduler.JobID) {
		t.Helper()
		if first, again := o.Acked(busy, now); len(first) != wantFirst || again != more {
			t.Fatalf("first %v, more %t; want %d, %t", first, again, wantFirst, more)
		}
	}
	empty := func() bool {
		select {
		case <-o.WhenEmpty():
			return true
		default:
			return false
		}
	}
	o.Owe(recordsOf("1s 2s 3s")...)
	flies("1s 2s 3s")
	lands(1, false, 2)
	if empty() {
		t.Fatal("nothing is owed, and a start is aside")
	}
	o.Owe(recordsOf("1e 2e")...)
	progress(2, 5)
	flies("1e")
	lands(0, false)
	progress(2, 6)
	o.Owe(recordsOf("3e")...)
	flies("3e")
	now = now.Add(deferFirst / 2)
	lands(1, false, 3) // another one: the first is tried when it would have been
	now = now.Add(deferFirst / 2)
	o.Owe(recordsOf("4s")...)
	flies("2s 2e 3e 2:6")
	if owing := o.Owing(); !owing[scheduler.Claim{Job: 2}] || !owing[scheduler.Claim{Job: 3}] {
		t.Errorf("owing: %v", owing)
	}
	lands(0, true, 2)
	flies("4s")
	lands(0, false)
	if at := o.DeferredAt(); at.Sub(now) != 2*deferFirst {
		t.Errorf("the next try is in %v", at.Sub(now))
	}
	gone := o.WhenEmpty()
	now = now.Add(2 * deferFirst)
	flies("2s 2e 2:6")
	lands(0, false)
	select {
	case <-gone:
	default:
		t.Error("nothing is owed, and nobody is told")
	}
	if !o.DeferredAt().IsZero() {
		t.Error("nothing is aside, and it is to be tried again")
	}
}

// That an earlier try may have been committed is known of what it was true of,
// and of nothing that is put aside later.
func TestOutbox_AgainIsNotForgottenNorKeptTooLong(t *testing.T) {
	o := NewOutbox(func() {}, &Awaited{})
	now := time.Now()
	again := func(want bool) {
		t.Helper()
		if b, _, _ := o.Take(now); b.Empty() || b.MaybeCommitted != want {
			t.Fatalf("again is %t, want %t: %q", b.MaybeCommitted, want, textOf(b))
		}
	}
	o.Owe(recordsOf("1e")...)
	again(false)
	again(true) // the answer was lost
	o.Acked([]scheduler.JobID{1}, now)
	now = now.Add(deferMost)
	again(true)
	o.Acked(nil, now)
	o.Owe(recordsOf("2e")...)
	again(false)
	o.Acked([]scheduler.JobID{2}, now)
	now = now.Add(deferMost)
	again(false)
}

// More than one flight's worth stays in its order too.
func TestOutbox_MoreAsideThanOneFlightTakes(t *testing.T) {
	o := NewOutbox(func() {}, &Awaited{})
	now := time.Now()
	var jobs []scheduler.JobID
	for j := range scheduler.JobID(batchMost) {
		jobs = append(jobs, j+1)
		o.Owe(scheduler.Record{Claim: scheduler.Claim{Job: j + 1}})
	}
	o.Take(now)
	o.Acked(jobs, now)
	for _, j := range jobs {
		o.Owe(scheduler.Record{Kind: scheduler.RecordSettle, Claim: scheduler.Claim{Job: j}})
	}
	if b, _, _ := o.Take(now); !b.Empty() {
		t.Fatalf("%d records of jobs that are aside", len(b.Records))
	}
	var order []scheduler.Record
	now = now.Add(deferMost)
	for range batchMost / deferJobs { // one after the other, since nobody is busy any more
		b, _, _ := o.Take(now)
		order = append(order, b.Records...)
		o.Acked(nil, now)
	}
	if len(order) != 2*batchMost || !o.waiting.Empty() || len(o.deferred.jobs) > 0 {
		t.Fatalf("%d of %d records written; %d jobs still aside", len(order), 2*batchMost, len(o.deferred.jobs))
	}
	seen := map[scheduler.JobID]scheduler.RecordKind{}
	for _, r := range order {
		if last, ok := seen[r.Claim.Job]; ok && last > r.Kind {
			t.Fatalf("job %d ends before it starts", r.Claim.Job)
		}
		seen[r.Claim.Job] = r.Kind
	}
}

// What ends faster than the database takes it is bounded: a full outbox keeps the dispatcher from claiming.
func TestOutbox_IsFullUntilEnoughIsWritten(t *testing.T) {
	o := NewOutbox(func() {}, &Awaited{})
	records := make([]scheduler.Record, owedMost)
	for i := range records {
		records[i].Claim.Job = scheduler.JobID(i + 1)
	}
	o.Owe(records[1:]...)
	if o.Full() {
		t.Error("one less than may wait is too much")
	}
	o.Owe(records[0])
	if !o.Full() {
		t.Error("as many as may wait are not enough")
	}
	o.Take(time.Now())
	if !o.Full() {
		t.Error("what is on its way counts no more")
	}
	if o.Acked(nil, time.Now()); o.Full() {
		t.Error("full after a write")
	}
}
