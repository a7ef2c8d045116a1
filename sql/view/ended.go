package view

import (
	"context"
	"fmt"
	"strings"
	"time"

	"bellhop/scheduler/lock"
	"bellhop/sql"
)

var (
	lookEndedSQL       = sql.Query("look_ended")
	lookReaderEndedSQL = strings.NewReplacer("from bellhop.jobqueue", "from bellhop.every_job",
		"j.args, j.vars", "null::text as args, null::jsonb as vars").Replace(lookEndedSQL)
	lookTemplatesSQL = sql.Query("look_templates")
)

// EndedRow is a job that has run and ended.
type EndedRow struct {
	Type     string
	Priority int
	Locks    []string // its own, and those that its agent says
	At       float64  // when it could begin, in seconds since the first could
	Waited   float64  // from then to its start
	Takes    float64  // its last attempt
	Unknown  bool     // its agent's locks are not known for sure, since the caller may not see its arguments
}

// Ended gives so many of the newest jobs that were submitted since a while ago, and have ended. A reader sees no
// arguments: what agents' templates make of these is the unknown kind then.
func (l Look) Ended(ctx context.Context, since time.Duration, most int, operator bool) ([]EndedRow, error) {
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
	text := lookEndedSQL
	if !operator {
		text = lookReaderEndedSQL
	}
	rows, err := collect[struct {
		Type              string
		Priority          int
		Locks             []string
		Key, Args         *string
		Vars              map[string]string
		At, Waited, Takes float64
	}](ctx, l.db, "read jobs that have ended", text, since.Seconds(), most)
	if err != nil {
		return nil, err
	}
	ended := make([]EndedRow, len(rows))
	for i, r := range rows {
		w := all.Resolved(lock.Waiting{Type: r.Type, Locks: r.Locks}, lock.Columns{Args: r.Args, Key: r.Key, Vars: r.Vars})
		ended[i] = EndedRow{Type: r.Type, Priority: r.Priority, Locks: w.Locks, At: r.At, Waited: r.Waited,
			Takes: r.Takes, Unknown: !operator && all[r.Type] != nil}
	}
	return ended, nil
}
