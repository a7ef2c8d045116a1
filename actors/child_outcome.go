package actors

import (
	"fmt"

	"bellhop/actors/lasting"
	"bellhop/actors/message"
	"bellhop/scheduler"
)

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
		k.inst.outbox.Note(r.Line.Claim, r.Line.Attempt, r.Host, r.Error+"; it is tried again, and this does not count as an attempt")
	}
	rec := lasting.Judged(k.retry, r)
	if rec.Why == lasting.Snoozed {
		k.inst.outbox.Note(r.Line.Claim, r.Line.Attempt, r.Host,
			fmt.Sprintf("its agent has put it off for %s, and this does not count as an attempt", rec.Verdict.Delay))
	}
	k.owed = append(k.owed, rec)
}

// requeue returns a line to where it came from: the queue, or its msq.
func (inst *instance) requeue(l scheduler.Line, why string) {
	if l.Item != 0 {
		inst.Tell(message.RoleMSQ(l.Claim.Job), &message.Returned{Lines: []scheduler.Line{l}})
		return
	}
	inst.outbox.Owe(scheduler.Record{Kind: scheduler.RecordRequeue, Claim: l.Claim, Attempt: l.Attempt, Why: why})
}
