package actors

import (
	"cmp"

	"bellhop/scheduler"
)

func (k *child) settle(r scheduler.Result) {
	if r.Outcome == scheduler.OutcomeSucceeded {
		k.done++
		k.proved = true
	} else if r.Outcome == scheduler.OutcomeFailed {
		k.proved = true // it did not die of it
	}
	if r.Line.Item != 0 {
		if k.items == nil {
			k.items = map[scheduler.JobID][]scheduler.Result{}
		}
		k.items[r.Line.Claim.Job] = append(k.items[r.Line.Claim.Job], r)
		return
	}
	k.owed = append(k.owed, judged(k.h, r))
}

// judged turns the end of an attempt into the record of what the job becomes.
func judged(h *house, r scheduler.Result) scheduler.Record {
	v := scheduler.Judge(r.Outcome, r.Line.Attempt, r.Line.MaxAttempts, r.Line.Deaths, h.Retry, luck())
	rec := scheduler.Record{Kind: scheduler.RecordSettle, Claim: r.Line.Claim, Attempt: r.Line.Attempt, Host: r.Host, Result: r, Verdict: v}
	if v.Release {
		rec.Kind = scheduler.RecordGiveBack
		if !r.Began.IsZero() {
			rec.Lost = cmp.Or(r.Error, "its instance gave it back")
		}
	}
	return rec
}

// giveBack returns a line to where it came from: the queue, or its msq.
func (h *house) giveBack(l scheduler.Line, why string) {
	if l.Item != 0 {
		h.tell(roleMSQ(l.Claim.Job), &unplaced{[]scheduler.Line{l}})
		return
	}
	h.owe(scheduler.Record{Kind: scheduler.RecordGiveBack, Claim: l.Claim, Attempt: l.Attempt, Why: why})
}
