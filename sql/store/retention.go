package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler"
	"bellhop/sql"
)

var (
	retentionBeginSQL, retentionGoesOnSQL = sql.Query("retention_begin"), sql.Query("retention_goes_on")
	retainJobsSQL, retainRunsSQL          = sql.Query("retain_jobs"), sql.Query("retain_runs")
)

// retainMost is how many jobs one transaction looks at.
const retainMost = 1000

// Keep says for how long what is over is kept: jobs of a type (empty: of all
// others) that ended so. 0: for ever.
type Keep struct {
	Type  scheduler.TypeName
	State scheduler.JobState
	For   time.Duration
}

// KeepAll is how long everything is kept. What is 0 is kept for ever.
type KeepAll struct {
	Every   time.Duration // between two passes
	Jobs    []Keep
	Keyed   time.Duration            // jobs with a key
	Runs    map[string]time.Duration // by how they ended, with their jobs, events and messages
	Archive string                   // a table that gets jobs before they are deleted; empty: none
}

// Retention deletes what was over for long enough.
type Retention struct {
	session
	keep KeepAll
	rest func(context.Context, time.Duration) // between two batches
}

// NewRetention returns a session for it; it connects at its first use.
func NewRetention(url string, keep KeepAll) (*Retention, error) {
	conn, err := newConnection(url, "retention", upkeepByIndex())
	return &Retention{session{conn}, keep, rest}, err
}

// rest waits.
func rest(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// Turn makes a pass, where it is time for one and no other instance is at it. It
// gives how many jobs and runs were deleted; those before an error stay so.
func (r *Retention) Turn(ctx context.Context, me scheduler.InstanceID) (deleted int64, err error) {
	var begins bool
	if err := r.ask(ctx, &begins, retentionBeginSQL, int64(me), r.keep.Every.Milliseconds()); err != nil || !begins {
		return 0, err
	}
	for _, pass := range []func(context.Context, func(int64) (bool, error)) error{r.jobs, r.runs} {
		err := pass(ctx, func(n int64) (goesOn bool, err error) {
			deleted += n
			err = r.ask(ctx, &goesOn, retentionGoesOnSQL, int64(me), n, false)
			return goesOn, err
		})
		if err != nil {
			return deleted, err
		}
	}
	return deleted, r.ask(ctx, &begins, retentionGoesOnSQL, int64(me), 0, true)
}

// jobs goes through the queue from its oldest job on.
func (r *Retention) jobs(ctx context.Context, did func(int64) (bool, error)) error {
	types, states, ages := []string{}, []string{}, []*int64{}
	any := false
	for _, k := range r.keep.Jobs {
		types, states, ages = append(types, string(k.Type)), append(states, string(k.State)), append(ages, orForever(k.For))
		any = any || k.For > 0
	}
	if !any {
		return nil
	}
	for past := int64(0); ; {
		var deleted int64
		var last *int64
		began := time.Now()
		err := r.conn.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
			return conn.QueryRow(ctx, retainJobsSQL, past, retainMost, types, states, ages, orForever(r.keep.Keyed),
				r.keep.Archive).
				Scan(&deleted, &last)
		})
		if err != nil {
			return fmt.Errorf("delete jobs that were over long ago: %w", err)
		}
		if goesOn, err := did(deleted); err != nil || !goesOn || last == nil {
			return err
		}
		past = *last
		r.pause(ctx, began)
	}
}

func (r *Retention) runs(ctx context.Context, did func(int64) (bool, error)) error {
	states, ages := []string{}, []*int64{}
	for state, age := range r.keep.Runs {
		states, ages = append(states, state), append(ages, orForever(age))
	}
	for {
		var n int64
		began := time.Now()
		if err := r.ask(ctx, &n, retainRunsSQL, states, ages, retainMost, r.keep.Archive); err != nil {
			return fmt.Errorf("delete runs that were over long ago: %w", err)
		}
		// A search for more would never end where runs grow old all the time.
		if goesOn, err := did(n); err != nil || !goesOn || n < retainMost {
			return err
		}
		r.pause(ctx, began)
	}
}

// pause leaves four fifths of the time to others.
func (r *Retention) pause(ctx context.Context, began time.Time) {
	r.rest(ctx, max(20*time.Millisecond, 4*time.Since(began)))
}

func (r *Retention) ask(ctx context.Context, answer any, text string, args ...any) error {
	return r.conn.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		return conn.QueryRow(ctx, text, args...).Scan(answer)
	})
}

// orForever makes ms of a time; nil, which is NULL, of none.
func orForever(d time.Duration) *int64 {
	if d <= 0 {
		return nil
	}
	ms := d.Milliseconds()
	return &ms
}
