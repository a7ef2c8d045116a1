package history

import (
	"testing"
	"time"

	"bellhop/scheduler"
)

var noon = time.Date(2026, 3, 1, 12, 0, 30, 0, time.UTC)

func settle(typ scheduler.TypeName, job int64, became scheduler.JobState, wait, run time.Duration) scheduler.Record {
	return scheduler.Record{Kind: scheduler.RecordSettle, Claim: scheduler.Claim{Job: scheduler.JobID(job), Fence: 1},
		Verdict: scheduler.Verdict{State: became},
		Result: scheduler.Result{Began: noon, Ended: noon.Add(run),
			Line: &scheduler.Line{Origin: &scheduler.Origin{Type: typ, Due: noon.Add(-wait)}}}}
}

// A minute counts each outcome where it belongs, and no claim that was not ours any more.
func TestBook_CountsByTypeAndMinute(t *testing.T) {
	t.Parallel()
	var b Book
	line := scheduler.Line{Origin: &scheduler.Origin{Type: "mail"}}
	b.Took([]scheduler.Job{{Line: line, Type: "mail"}, {Line: line, Type: "mail"}, {}}, noon)
	stale := settle("mail", 9, scheduler.Failed, 0, 0)
	b.Settled([]scheduler.Record{
		settle("mail", 1, scheduler.Succeeded, time.Second, 2*time.Second),
		settle("mail", 2, scheduler.Failed, time.Second, 4*time.Second),
		settle("mail", 3, scheduler.Quarantined, time.Second, 4*time.Second),
		settle("mail", 4, scheduler.Cancelled, time.Second, 4*time.Second),
		settle("mail", 5, scheduler.Scheduled, time.Second, 4*time.Second),
		settle("scan", 6, scheduler.Succeeded, time.Second, 4*time.Second),
		stale, {Kind: scheduler.RecordRequeue, Result: scheduler.Result{Line: &line}},
	}, []scheduler.Claim{stale.Claim}, noon)
	item := line
	item.Item = 7
	b.Ran([]scheduler.Result{{Line: &item}, {Line: &item, Outcome: scheduler.OutcomeDied}, {Line: &line}}, noon)
	if due := b.Due(noon, false); len(due) != 0 {
		t.Errorf("a minute that is not over is due: %v", due)
	}
	due := b.Due(noon.Add(time.Minute), false)
	if len(due) != 2 || due[0].Type != "mail" || due[1].Type != "scan" ||
		!due[0].Minute.Equal(noon.Truncate(time.Minute)) {
		t.Fatalf("%+v", due)
	}
	m := due[0]
	got := [...]int64{m.Taken, m.Succeeded, m.Failed, m.Cancelled, m.Retried,
		m.ItemsDone, m.ItemsFailed, m.Wait.N(), m.Run.N()}
	if want := [...]int64{2, 1, 2, 1, 1, 1, 1, 5, 5}; got != want {
		t.Errorf("%v, not %v", got, want)
	}
	b.Written(due, noon.Add(time.Minute))
	if due := b.Due(noon.Add(time.Hour), true); len(due) != 0 {
		t.Errorf("what is written is due again: %v", due)
	}
}

// A minute that is written before it is over goes on, and what was given of it does not.
func TestBook_GoesOnWithWhatIsWrittenEarly(t *testing.T) {
	t.Parallel()
	var b Book
	one := settle("mail", 1, scheduler.Succeeded, 0, time.Second)
	b.Settled([]scheduler.Record{one}, nil, noon)
	early := b.Due(noon, true)
	b.Written(early, noon)
	b.Settled([]scheduler.Record{one}, nil, noon)
	due := b.Due(noon.Add(time.Minute), false)
	if len(early) != 1 || early[0].Run.N() != 1 || len(due) != 1 || due[0].Succeeded != 2 || due[0].Run.N() != 2 {
		t.Errorf("%+v, then %+v", early, due)
	}
}

// A clock that is set back does not change a minute that may be written already.
func TestBook_GoesOnInTheNewestMinuteWhenTheClockIsSetBack(t *testing.T) {
	t.Parallel()
	var b Book
	b.Settled([]scheduler.Record{settle("mail", 1, scheduler.Succeeded, 0, 0)}, nil, noon)
	b.Written(b.Due(noon.Add(time.Minute), false), noon.Add(time.Minute))
	b.Settled([]scheduler.Record{settle("mail", 2, scheduler.Succeeded, 0, 0)}, nil, noon.Add(time.Minute))
	b.Settled([]scheduler.Record{settle("mail", 3, scheduler.Succeeded, 0, 0)}, nil, noon.Add(-time.Hour))
	due := b.Due(noon.Add(2*time.Minute), false)
	if len(due) != 1 || due[0].Succeeded != 2 || !due[0].Minute.Equal(noon.Add(time.Minute).Truncate(time.Minute)) {
		t.Errorf("%+v", due)
	}
}

// With the database away for days, memory does not grow for ever: the oldest goes.
func TestBook_ForgetsTheOldestFirst(t *testing.T) {
	t.Parallel()
	var b Book
	for i := range most + 10 {
		at := noon.Add(time.Duration(i) * time.Minute)
		b.Settled([]scheduler.Record{settle("mail", 1, scheduler.Succeeded, 0, 0)}, nil, at)
	}
	due := b.Due(noon, true)
	if len(due) != most || !due[0].Minute.Equal(noon.Truncate(time.Minute).Add(10*time.Minute)) {
		t.Errorf("%d minutes from %v on", len(due), due[0].Minute)
	}
}
