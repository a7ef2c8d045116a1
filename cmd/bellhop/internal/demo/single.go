package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler"
)

// warmJobs is how many single jobs are submitted, each after the last is over.
const warmJobs = 10

// single submits jobs of one file each, to an agent that is up, and gives the
// median time from the INSERT until the agent had it, in seconds. They look at a
// file that has its outcome, and nothing of it is changed. Nil: there is none.
func (t demoTable) single(ctx context.Context, j demoJob) (*float64, error) {
	asked, cancel := uncut(ctx)
	defer cancel()
	var id int64
	var line string
	var before [2]*time.Time
	err := t.conn.QueryRow(asked, `select id, format('id="%s" path="%s" kind="%s"', id, path, kind), received_at, checked_at
	  from demo.file where licence is not null and raw is null and path !~ '["\\[:cntrl:]]' order by id limit 1`).
		Scan(&id, &line, &before[0], &before[1])
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for a file for single jobs: %w", err)
	}
	var took []float64
	for range warmJobs {
		one, err := t.singleJob(ctx, id, line)
		if err != nil || one == nil {
			break // the files have their outcomes: that there is no figure is no failure
		}
		took = append(took, *one)
	}
	restore, done := uncut(ctx)
	defer done()
	if _, err := t.conn.Exec(restore, "update demo.file set received_at = $2, checked_at = $3 where id = $1", id, before[0], before[1]); err != nil {
		return nil, fmt.Errorf("put back what single jobs have changed: %w", err)
	}
	if len(took) < warmJobs {
		return nil, t.cancel(restore)
	}
	slices.Sort(took)
	return &took[len(took)/2], nil
}

// singleJob gives how long one took to be in an agent's hands, nil where it failed.
// No statement is cut off when the wait is over: that would end the connection.
func (t demoTable) singleJob(ctx context.Context, file int64, line string) (took *float64, err error) {
	wait, cancel := uncut(ctx)
	defer cancel()
	asked, answered := uncut(ctx)
	var id scheduler.JobID
	err = t.conn.QueryRow(asked, "insert into bellhop.jobqueue (type, args, run_on) values ($1, $2, $3) returning id",
		demoType, line, demoHost).Scan(&id)
	answered()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for state := scheduler.Ready; err == nil && !state.Final(); {
		select {
		case <-tick.C:
		case <-wait.Done():
			return nil, wait.Err()
		}
		asked, answered := uncut(ctx)
		err = t.conn.QueryRow(asked, `select j.state, case when j.state = 'succeeded' then extract(epoch from f.received_at - j.created_at)::float8 end
		  from bellhop.jobqueue j, demo.file f where j.id = $1 and f.id = $2`, int64(id), file).Scan(&state, &took)
		answered()
	}
	return took, err
}
