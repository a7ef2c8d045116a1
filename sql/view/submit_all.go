package view

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler"
	"bellhop/sql"
)

// RefusedAt is what became of one of several submissions.
type RefusedAt struct {
	N   int // from 0
	err error
}

func (r *RefusedAt) Error() string { return fmt.Sprintf("submission %d: %v", r.N+1, r.err) }
func (r *RefusedAt) Unwrap() error { return r.err }

// SubmitAll submits several jobs in as few round trips as it can, inside of the caller's
// transaction: they are all there, or none is.
func (l Look) SubmitAll(ctx context.Context, list []Submission) ([]scheduler.JobID, error) {
	sender, is := l.db.(interface {
		SendBatch(context.Context, *pgx.Batch) pgx.BatchResults
	})
	if !is {
		return nil, errors.New("submit: this connection takes no batches")
	}
	var batch pgx.Batch
	for i, s := range list {
		text, args, err := s.call()
		if err != nil {
			return nil, &RefusedAt{i, err}
		}
		batch.Queue(text, args...)
	}
	answers := sender.SendBatch(ctx, &batch)
	defer func() { _ = answers.Close() }() // an error of it was seen, or the transaction is lost
	ids := make([]scheduler.JobID, len(list))
	for i := range list {
		if err := answers.QueryRow().Scan(&ids[i]); err != nil {
			return nil, &RefusedAt{i, err}
		}
	}
	return ids, answers.Close()
}

var (
	lookEventSQL       = sql.Query("look_event")
	lookEventHeaderSQL = sql.Query("look_event_header")
	lookPostedSQL      = sql.Query("look_posted")
)

// Happened tells of an event that starts a workflow, once; is it new? Nil: there is no such
// workflow, or it is not active.
func (l Look) Happened(ctx context.Context, name, event string, parameters []byte) (fresh *bool, err error) {
	return value[*bool](ctx, l.db, "tell of an event", lookEventSQL, name, event, string(parameters))
}

// EventHeader is the header of a request that names the event which that is to a workflow; nil: no request starts it.
func (l Look) EventHeader(ctx context.Context, name string) (header *string, err error) {
	return value[*string](ctx, l.db, "tell of an event", lookEventHeaderSQL, name)
}

// Posted tells of a request that starts a workflow, once where it names its event; is it new? Nil: as Happened.
func (l Look) Posted(ctx context.Context, name, event string, payload []byte) (fresh *bool, err error) {
	return value[*bool](ctx, l.db, "tell of an event", lookPostedSQL, name, sql.OrNull(event), string(payload))
}
