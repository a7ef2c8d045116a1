package instance

import (
	"context"

	"bellhop/actors/port"
	"bellhop/scheduler"
	"bellhop/sql/store"
	"bellhop/triggers"
)

// Bell is a listener as the tree hears it.
type Bell struct{ Listener triggers.Listener }

// Run listens until ctx ends.
func (b *Bell) Run(
	ctx context.Context, rang func(inserted bool), locksRang, cancelRang, dueRang, beat func(),
	awaited, followed func([]scheduler.JobID),
) error {
	b.Listener.Rang, b.Listener.LocksRang, b.Listener.CancelRang = rang, locksRang, cancelRang
	b.Listener.DueRang, b.Listener.Beat = dueRang, beat
	b.Listener.Awaited, b.Listener.Followed = awaited, followed
	return b.Listener.Run(ctx)
}

// Cut ends a connection that has gone deaf.
func (b *Bell) Cut() { b.Listener.Cut() }

// rowsAtOnce is how many rows of an MSQ travel in one round trip.
const rowsAtOnce = 1000

// Queries opens the queries of MSQ jobs.
type Queries struct{ *store.Cursors }

// Open begins to read the rows of a query.
func (q Queries) Open(ctx context.Context, text string) (port.Rows, error) {
	cursor, err := q.Cursors.Open(ctx, text, rowsAtOnce)
	if err != nil {
		return nil, err
	}
	return cursor, nil
}
