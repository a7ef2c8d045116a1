package store

import (
	"github.com/jackc/pgx/v5"

	"bellhop/scheduler/lock"
)

func (p *pass) scanHeld(rows pgx.Rows, known *lock.Pass) error {
	var g lock.Grant
	var w lock.Waiting
	var of lock.Columns
	var priority *int
	var typ, agent *string
	p.turns = map[lock.ID][]lock.Grant{}
	_, err := pgx.ForEachRow(rows, []any{(*int64)(&g.Job), &g.Level, &g.Name, &g.Mode, &g.Since, &g.Past, &priority,
		&w.Locks, &w.Reasons, &typ, &of.Args, &of.Key, &of.Vars, &of.RunOn, &of.SubmittedBy, &of.Share,
		&agent}, func() error {
		switch {
		case g.Mode == lock.Turn:
			p.turns[g.Job] = append(p.turns[g.Job], g)
			return nil
		case priority == nil:
			known.Held = append(known.Held, g)
			return nil
		}
		w.Job, w.Priority, w.Type, w.Since = g.Job, *priority, *typ, g.Since
		if w.Elsewhere = agent == nil; agent != nil {
			w.Agent = *agent
		}
		known.Reserved = append(known.Reserved, p.claimer.Templates.Resolved(w, of))
		w, of = lock.Waiting{}, lock.Columns{}
		return nil
	})
	return err
}

// scanJobs reads jobs, with the locks of their agents' templates, and with turn their turns as the last column.
func scanJobs(rows pgx.Rows, into *[]lock.Waiting, templates lock.Templates, turn bool) error {
	var w lock.Waiting
	var of lock.Columns
	columns := []any{(*int64)(&w.Job), &w.Type, &w.Priority, &w.Since, &w.Locks, &w.Reasons,
		&of.Args, &of.Key, &of.Vars, &of.RunOn, &of.SubmittedBy, &of.Share, &w.Agent}
	if turn {
		columns = append(columns, &w.Turn)
	}
	_, err := pgx.ForEachRow(rows, columns, func() error {
		*into = append(*into, templates.Resolved(w, of))
		w, of = lock.Waiting{}, lock.Columns{}
		return nil
	})
	return err
}
