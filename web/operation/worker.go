// Package operation carries out orders for many jobs: a batch a transaction, under the role that ordered it. Its
// progress stands in the database, so that any instance goes on where another was killed.
package operation

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"bellhop/sql/view"
)

// pause is for when another session is in the way, or it is not time yet.
const pause = 200 * time.Millisecond

// batchMost is how many jobs one transaction changes. Fewer if that takes long: a stop of an operation waits for
// its batch, and no statement outlasts its time.
const (
	batchMost  = 1000
	batchLeast = 10
	batchLong  = time.Second
)

// nextBatch is how many jobs the next transaction changes.
func nextBatch(size int, took time.Duration) int {
	switch {
	case took > batchLong:
		return max(batchLeast, size/4)
	case took < batchLong/4:
		return min(batchMost, size*2)
	}
	return size
}

// Worker carries out operations, one after the other.
type Worker struct {
	visitors *view.Visitors
	log      *slog.Logger
	wake     chan struct{}
	left     chan struct{}
	sizes    map[int64]int // of batches, by operation
}

// NewWorker gives one that does nothing before Run.
func NewWorker(visitors *view.Visitors, log *slog.Logger) *Worker {
	return &Worker{visitors, log, make(chan struct{}, 1), make(chan struct{}, 1), map[int64]int{}}
}

// Wake has it look now: an operation was started or stopped here.
func (w *Worker) Wake() { tell(w.wake) }

// Look has it look for operations without a worker: upkeep has seen some.
func (w *Worker) Look() { tell(w.left) }

func tell(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // it was told, and has not looked since
	}
}

// Run works until ctx ends.
func (w *Worker) Run(ctx context.Context) {
	for {
		var left bool
		select {
		case <-ctx.Done():
			return
		case <-w.wake:
		case <-w.left:
			left = true
		}
		if err := w.all(ctx, left); err != nil && ctx.Err() == nil {
			w.log.Debug("operations wait", "error", err)
		}
	}
}

// Once works on everything that is open now, until nothing is but what cannot go on.
func (w *Worker) Once(ctx context.Context) error { return w.all(ctx, false) }

// all works on everything that is open, in turns, until nothing is but what cannot go on.
func (w *Worker) all(ctx context.Context, left bool) error {
	clear(w.sizes)
	stuck := map[int64]bool{}
	for ctx.Err() == nil {
		open, err := w.visitors.OpenOperations(ctx, left)
		if err != nil {
			return err
		}
		idle := true
		for _, o := range open {
			if stuck[o.ID] {
				continue
			}
			idle = false
			err := w.some(ctx, o)
			if err != nil && !refused(err) {
				return err
			} else if err != nil { // its role is no operator's any more, say, or not ours to take
				w.log.Warn("an operation cannot go on", "operation", o.ID, "role", o.Role, "error", err)
				stuck[o.ID] = true
			}
		}
		if idle {
			return nil
		}
		left = false // what is open now is worked on here
	}
	return ctx.Err()
}

// refused reports whether PostgreSQL has answered, and will not answer otherwise soon.
func refused(err error) bool {
	var said *pgconn.PgError
	var outside *view.NotMember
	return errors.As(err, &outside) || errors.As(err, &said) && said.Code[:2] != "57" && said.Code[:2] != "08"
}

// some carries out a few batches of one operation.
func (w *Worker) some(ctx context.Context, o view.OpenOperation) error {
	for range 10 {
		size := w.sizes[o.ID]
		if size == 0 {
			size = batchMost
		}
		var state *string
		began := time.Now()
		err := w.visitors.As(ctx, o.Role, func(l view.Look) (err error) {
			state, err = l.StepOperation(ctx, o.ID, size)
			return err
		})
		w.sizes[o.ID] = nextBatch(size, time.Since(began))
		var said *pgconn.PgError
		switch {
		case errors.As(err, &said) && (said.Code[:2] == "40" || said.Code == "55P03" || said.Code == "57014"):
			w.log.Debug("an operation waits for another transaction", "operation", o.ID, "error", err)
			sleep(ctx, pause)
			continue
		case err != nil:
			return err
		}
		switch {
		case state == nil:
			return nil
		case *state == "waiting": // it begins later, or others have what is left
			sleep(ctx, pause)
		case *state != "running":
			return nil
		}
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
