package client

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/sql"
	"bellhop/sql/view"
)

// Submit adds a job and gives its id. With a key that a job has already, it
// gives the id of that one where the content is the same, and ErrKeyTaken
// where it is not. A value that cannot be right is ErrInvalid, with the rule's
// name; a job of AfterKeys that is not there is ErrNotFound.
func (c *Client) Submit(ctx context.Context, job Job) (JobID, error) {
	s, err := job.submission(c.keys)
	if err != nil {
		return 0, err
	}
	id, err := c.look.Submit(ctx, s)
	return id, explained(ctx, err)
}

var copySetupSQL = sql.Query("copy_setup")

// copier is what a pool, a connection and a transaction of pgx have besides.
type copier interface {
	CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error)
}

// SubmitMany adds jobs by COPY, many thousands a second, and gives how many:
// all of them, or none and an error. Their ids are not told (SubmitManyIDs does);
// give them keys to find them by. A key that is taken, whatever the content of the job that has
// it, is ErrKeyTaken. Jobs that need others cannot come this way (ErrInvalid).
//
// jobs is read while the COPY runs: over a connection or in a transaction it
// must not use that.
func (c *Client) SubmitMany(ctx context.Context, jobs iter.Seq[Job]) (int64, error) {
	db, can := c.db.(copier)
	if !can {
		return 0, invalid("", fmt.Sprintf("submit many: %T has no CopyFrom, as pools, connections and transactions of pgx have", c.db))
	}
	rows, err := c.db.Query(ctx, copySetupSQL)
	if err != nil {
		return 0, explained(ctx, fmt.Errorf("submit many: %w", err))
	}
	setup, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[copySetup])
	if err != nil {
		return 0, explained(ctx, fmt.Errorf("submit many: %w", err))
	}
	next, stop := iter.Pull(jobs)
	defer stop()
	var bad error // of a job; PostgreSQL gives us but its text back
	n, err := db.CopyFrom(ctx, pgx.Identifier{"bellhop", "jobqueue"}, view.Copied,
		pgx.CopyFromFunc(func() (row []any, err error) {
			job, ok := next()
			if ok {
				row, bad = setup.row(&job, c.keys)
			}
			return row, bad
		}))
	switch {
	case bad != nil:
		return 0, fmt.Errorf("submit many: %w", bad)
	case err != nil:
		return 0, explained(ctx, fmt.Errorf("submit many: %w", err))
	}
	return n, nil
}

var submitManySQL = strings.ReplaceAll(sql.Query("submit_many"), "{columns}", strings.Join(view.Copied, ", "))

// SubmitManyIDs is SubmitMany with the ids, in the order of the jobs: one statement, all of them or none, and all
// in memory at once, so for some ten thousands at a time. It is slower than COPY, and quicker than one by one.
func (c *Client) SubmitManyIDs(ctx context.Context, jobs iter.Seq[Job]) ([]JobID, error) {
	rows, err := c.db.Query(ctx, copySetupSQL)
	if err != nil {
		return nil, explained(ctx, fmt.Errorf("submit many: %w", err))
	}
	setup, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[copySetup])
	if err != nil {
		return nil, explained(ctx, fmt.Errorf("submit many: %w", err))
	}
	var list []map[string]any
	for job := range jobs {
		row, err := setup.row(&job, c.keys)
		if err != nil {
			return nil, fmt.Errorf("submit many: %w", err)
		}
		named := make(map[string]any, len(row))
		for i, value := range row {
			if span, is := value.(*time.Duration); is && span != nil {
				value = fmt.Sprintf("%d microseconds", span.Microseconds())
			}
			named[view.Copied[i]] = value
		}
		list = append(list, named)
	}
	text, err := json.Marshal(list)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	if rows, err = c.db.Query(ctx, submitManySQL, string(text)); err != nil {
		return nil, explained(ctx, fmt.Errorf("submit many: %w", err))
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[JobID])
	if err != nil {
		return nil, explained(ctx, fmt.Errorf("submit many: %w", err))
	}
	return ids, nil
}

// copySetup is what only the database knows of the rows to be.
type copySetup struct {
	Now   time.Time // on its clock
	Trace *string   // of the session's jobs
}

// row is a job as a row of view.Copied.
func (s copySetup) row(j *Job, keys *Keys) ([]any, error) {
	if j.Batch != 0 {
		return nil, invalid("dependency_needs", "a job of a batch is submitted alone: Submit")
	}
	if len(j.After) > 0 || len(j.AfterKeys) > 0 {
		return nil, invalid("dependency_needs", "a job that needs others is submitted alone: Submit")
	}
	if j.Once != "" || j.Per != 0 || j.Replace {
		return nil, invalid("submit_once", "a job that may exist already is submitted alone: Submit")
	}
	row, err := j.submission(keys)
	if err != nil {
		return nil, err
	}
	if row.RunAt == nil && j.RunIn != 0 {
		row.RunAt = given(s.Now.Add(j.RunIn))
	}
	if row.Traceparent == nil {
		row.Traceparent = s.Trace
	}
	return row.CopyRow()
}
