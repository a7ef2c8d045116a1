package actors

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"time"

	"bellhop/actors/message"
	"bellhop/scheduler"
)

// againAfter is how long a job rests that has found too few locks free.
const againAfter = time.Second

// snoozed is what stands in waiting_for of a job that its agent has put off.
const snoozed = "snoozed"

func (k *child) settle(r scheduler.Result) {
	if r.Outcome == scheduler.OutcomeSucceeded {
		k.done++
		k.healthy = true
	} else if r.Outcome == scheduler.OutcomeFailed {
		k.healthy = true // it did not die of it
	}
	if r.Line.Item != 0 {
		if k.items == nil {
			k.items = map[scheduler.JobID][]scheduler.Result{}
		}
		k.items[r.Line.Claim.Job] = append(k.items[r.Line.Claim.Job], r)
		return
	}
	if r.Again {
		k.inst.outbox.note(r.Line.Claim, r.Line.Attempt, r.Host, r.Error+"; it is tried again, and this does not count as an attempt")
	}
	rec := judged(k.retry, r)
	if rec.Why == snoozed {
		k.inst.outbox.note(r.Line.Claim, r.Line.Attempt, r.Host,
			fmt.Sprintf("its agent has put it off for %s, and this does not count as an attempt", rec.Verdict.Delay))
	}
	k.owed = append(k.owed, rec)
}

// judged turns the end of an attempt into the record of what the job becomes.
func judged(retry scheduler.RetryPolicy, r scheduler.Result) scheduler.Record {
	v := scheduler.Judge(&r, retry, rand.Float64())
	rec := scheduler.Record{
		Kind:      scheduler.RecordSettle,
		Claim:     r.Line.Claim,
		Attempt:   r.Line.Attempt,
		Host:      r.Host,
		CreatedAt: r.Line.Submitted(),
		Result:    r,
		Verdict:   v,
	}
	if v.Release {
		rec.Kind = scheduler.RecordRequeue
		if v.Delay > 0 {
			rec.Why, rec.Verdict.State = snoozed, scheduler.Scheduled
		} else if r.Again {
			rec.Why, rec.Verdict.State = r.Error, scheduler.Scheduled
			rec.Verdict.Delay = scheduler.Backoff(againAfter, againAfter, 1, rand.Float64())
		} else if !r.Began.IsZero() {
			rec.Lost = cmp.Or(r.Error, "its instance gave it back")
		}
	}
	return rec
}

// requeue returns a line to where it came from: the queue, or its msq.
func (inst *instance) requeue(l scheduler.Line, why string) {
	if l.Item != 0 {
		inst.Tell(message.RoleMSQ(l.Claim.Job), &message.Returned{Lines: []scheduler.Line{l}})
		return
	}
	inst.outbox.owe(scheduler.Record{Kind: scheduler.RecordRequeue, Claim: l.Claim, Attempt: l.Attempt, Why: why})
}
