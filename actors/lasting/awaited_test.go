package lasting

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"bellhop/scheduler"
)

// Of the jobs that end, those are told that somebody has asked for lately.
func TestAwaited_Among(t *testing.T) {
	t.Parallel()
	var a Awaited
	now := time.Now()
	end := func(job scheduler.JobID, state scheduler.JobState) scheduler.Record {
		return scheduler.Record{
			Kind:    scheduler.RecordSettle,
			Claim:   scheduler.Claim{Job: job},
			Verdict: scheduler.Verdict{State: state},
		}
	}
	records := []scheduler.Record{end(1, scheduler.Succeeded), end(2, scheduler.Failed), end(3, scheduler.Scheduled),
		{Kind: scheduler.RecordStart, Claim: scheduler.Claim{Job: 4}}, end(5, scheduler.Cancelled)}
	if got := a.Among(records, now); got != nil {
		t.Errorf("nobody waits, and %v are told", got)
	}
	a.Add([]scheduler.JobID{2, 3, 4, 5}, now)
	if got := a.Among(records, now.Add(awaitedFor)); !slices.Equal(got, []scheduler.JobID{2, 5}) {
		t.Errorf("%v are told", got)
	}
	if got := a.Among(records, now.Add(awaitedFor+1)); got != nil || len(a.until) > 0 || a.some.Load() {
		t.Errorf("nobody waits any more, and %v are told; %d are remembered", got, len(a.until))
	}
	// Whoever sends what they like uses up no memory, and what is known stays.
	var many []scheduler.JobID
	for id := range scheduler.JobID(3 * awaitedMost) {
		many = append(many, id+1)
	}
	a.Add(many, now)
	a.Add([]scheduler.JobID{1}, now.Add(time.Second))
	if len(a.until) != awaitedMost || a.until[1] != now.Add(time.Second+awaitedFor) {
		t.Errorf("%d are remembered, the first until %s", len(a.until), a.until[1])
	}
}

// At most one write a second says how far jobs are: the latest of each, and nothing of those that are over.
func TestOutbox_HowFarIsGathered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		var o *Outbox
		began := time.Now()
		o = NewOutbox(func() {
			b, _, _ := o.Take(time.Now())
			for _, h := range b.HowFar {
				done := "?"
				if h.Done != nil {
					done = fmt.Sprint(*h.Done)
				}
				told = append(told, fmt.Sprintf("%s: %d %s %s", time.Since(began), h.Job, done, h.Text))
			}
			o.Acked(nil, time.Now())
		}, &Awaited{})
		say := func(job scheduler.JobID, done float32, text string) {
			o.HowFar(scheduler.HowFar{Claim: scheduler.Claim{Job: job}, Done: &done, Text: text})
		}
		say(1, 0.1, "a") // at once
		for i := range 9 {
			time.Sleep(100 * time.Millisecond) // virtual
			say(1, 0.2, fmt.Sprint("b", i))
		}
		say(2, 0.5, "over before it is told")
		o.HowFar(scheduler.HowFar{Claim: scheduler.Claim{Job: 1}, Text: "c"}) // as far as before
		o.Owe(scheduler.Record{Kind: scheduler.RecordSettle, Claim: scheduler.Claim{Job: 2}})
		time.Sleep(5 * time.Second) // virtual
		say(1, 0.3, "d")
		synctest.Wait()
		want := []string{"0s: 1 0.1 a", "1s: 1 0.2 c", "5.9s: 1 0.3 d"}
		if !slices.Equal(told, want) {
			t.Errorf("%q, want %q", told, want)
		}
	})
}
