package view

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler/lock"
	"bellhop/sql"
)

var (
	lookEndedSQL       = sql.Query("look_ended")
	lookReaderEndedSQL = strings.NewReplacer("from bellhop.jobqueue", "from bellhop.every_job",
		"j.args", "null::text", "j.vars", "null::jsonb", "j.msq is not null", "j.is_msq").Replace(lookEndedSQL)
	lookEndedCountSQL = sql.Query("look_ended_count")
	lookTemplatesSQL  = sql.Query("look_templates")
)

// EndedRow is a job that has run and ended.
type EndedRow struct {
	ID         int64
	Type       string
	Group      string
	Share      string // empty: none
	Priority   int
	Locks      []string    // its own, and those that its agent says
	Created    time.Time   // when it was submitted
	Due        time.Time   // when it could begin, but for what it needs
	Began      time.Time   // the last attempt
	Ended      time.Time   // and its end
	Needs      []int64     // the jobs that it needed
	Tries      []time.Time // begin and end of each earlier attempt
	Host       string
	Query      bool
	Elsewhere  bool  // it took no slot of a host: it ran on an engine, or a worker had it
	Unknown    bool  // its agent's locks are not known for sure, since the caller may not see its arguments
	Unreadable error // what its agent says of its locks
}

// Past says which of the jobs that have ended are wanted.
type Past struct {
	Since    time.Duration // submitted so long ago at most
	Most     int           // of these the newest
	By       string        // groups: empty (type), share, or vars.NAME
	Operator bool          // else the caller sees no arguments: what agents' templates make of these is the unknown kind
}

// Templates are the locks that live instances' agents say their jobs need.
func (l Look) Templates(ctx context.Context) (lock.Templates, error) {
	agents, err := collect[struct {
		Type  string
		Locks []string
	}](ctx, l.db, "read what agents say of locks", lookTemplatesSQL)
	if err != nil {
		return nil, err
	}
	all := lock.Templates{}
	for _, a := range agents {
		if all[a.Type], err = lock.ParseTemplates(a.Locks, nil); err != nil {
			return nil, fmt.Errorf("read what the agent of %s says of locks: %w", a.Type, err)
		}
	}
	return all, nil
}

// Ended gives each of the jobs that have ended, one after the other, in the order of their ids.
func (l Look) Ended(ctx context.Context, past Past, each func(EndedRow)) error {
	all, err := l.Templates(ctx)
	if err != nil {
		return err
	}
	text := lookEndedSQL
	if !past.Operator {
		text = lookReaderEndedSQL
	}
	rows, err := l.db.Query(ctx, text, past.Since.Seconds(), past.Most, all.Types(), past.By)
	if err != nil {
		return fmt.Errorf("read jobs that have ended: %w", err)
	}
	var r EndedRow
	var key, args *string
	var vars map[string]string
	columns := []any{&r.ID, &r.Type, &r.Priority, &r.Locks, &key, &args, &vars, &r.Group, &r.Share, &r.Created, &r.Due,
		&r.Began, &r.Ended, &r.Needs, &r.Tries, &r.Host, &r.Query, &r.Elsewhere}
	_, err = pgx.ForEachRow(rows, columns, func() error {
		row := r
		if all[r.Type] != nil {
			w := lock.Waiting{Type: r.Type, Locks: r.Locks}
			w = all.Resolved(w, lock.Columns{Args: args, Key: key, Vars: vars})
			row.Locks, row.Unreadable, row.Unknown = w.Locks, w.Unreadable, !past.Operator
		}
		each(row)
		r, key, args, vars = EndedRow{}, nil, nil, nil // nothing of one row stays in the next
		return nil
	})
	if err != nil {
		return fmt.Errorf("read jobs that have ended: %w", err)
	}
	return nil
}

// EndedCount is how many jobs have ended since a while ago, deleted ones too.
func (l Look) EndedCount(ctx context.Context, since time.Duration) (int64, error) {
	return value[int64](ctx, l.db, "count jobs that have ended", lookEndedCountSQL, since.Seconds())
}
