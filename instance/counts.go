package instance

import (
	"context"
	"time"

	"bellhop/actors/port"
	"bellhop/scheduler"
	"bellhop/sql/store"
)

// Counted counts how long what is committed took, for forecasts.
type Counted struct {
	port.Records
	Counts *store.Counts
}

func (r Counted) Write(
	ctx context.Context, me scheduler.InstanceID, b scheduler.Batch, now time.Time,
) ([]scheduler.Claim, bool, error) {
	stale, released, err := r.Records.Write(ctx, me, b, now)
	if err != nil {
		return stale, released, err
	}
	for i := range b.Records {
		// What was cancelled, or lost, says nothing of how long the next one takes.
		of, origin := &b.Records[i].Result, b.Records[i].Line().Origin
		if b.Records[i].Verdict.Counts && origin != nil && !of.Began.IsZero() {
			r.Counts.Took.Count(string(origin.Type), of.Ended.Sub(of.Began))
		}
	}
	return stale, released, nil
}
