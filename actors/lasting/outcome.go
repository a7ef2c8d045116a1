package lasting

import (
	"cmp"
	"math/rand/v2"
	"time"

	"bellhop/actors/message"
	"bellhop/actors/tree"
	"bellhop/scheduler"
)

// againAfter is how long a job rests that has found too few locks free.
const againAfter = time.Second

// Snoozed is what stands in waiting_for of a job that its agent has put off.
const Snoozed = "snoozed"

// Judged turns the end of an attempt into the record of what the job becomes.
func Judged(retry scheduler.RetryPolicy, r scheduler.Result) scheduler.Record {
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
		if r.Answer != nil && r.Answer.Rest != nil && !r.Again {
			rec.Rest, rec.Verdict.State, rec.Verdict.Delay = r.Answer.Rest, scheduler.Scheduled, r.Answer.Rest.Pause
			if r.Answer.Rest.Children != "" {
				rec.Verdict.State = scheduler.Blocked
			}
		} else if r.Again {
			rec.Why, rec.Verdict.State = r.Error, scheduler.Scheduled
			rec.Verdict.Delay = cmp.Or(v.Delay, scheduler.Backoff(againAfter, againAfter, 1, rand.Float64()))
		} else if v.Delay > 0 {
			rec.Why, rec.Verdict.State = Snoozed, scheduler.Scheduled
		} else if !r.Began.IsZero() {
			rec.Lost = cmp.Or(r.Error, "its instance gave it back")
		}
	}
	return rec
}

// Requeue returns a line to where it came from: the queue, or its msq.
func Requeue(p *tree.Peers, o *Outbox, l scheduler.Line, why string) {
	if l.Item != 0 {
		p.Tell(message.RoleMSQ(l.Claim.Job), &message.Returned{Lines: []scheduler.Line{l}})
		return
	}
	o.Owe(scheduler.Record{Kind: scheduler.RecordRequeue, Claim: l.Claim, Attempt: l.Attempt, Why: why})
}
