package host

import (
	"fmt"

	"bellhop/actors/lasting"
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
		k.inst.Outbox.Note(r.Line.Claim, r.Line.Attempt, r.Host, r.Error+"; it is tried again, and this does not count as an attempt")
	}
	rec := lasting.Judged(k.retry, r)
	if rec.Why == lasting.Snoozed {
		k.inst.Outbox.Note(r.Line.Claim, r.Line.Attempt, r.Host,
			fmt.Sprintf("its agent has put it off for %s, and this does not count as an attempt", rec.Verdict.Delay))
	}
	if rec.Rest != nil {
		k.inst.Outbox.Note(r.Line.Claim, r.Line.Attempt, r.Host, "it "+rec.Rest.String()+", and this does not count as an attempt")
	}
	k.owed = append(k.owed, rec)
}
