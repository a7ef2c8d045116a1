package store

import (
	"github.com/jackc/pgx/v5"

	"bellhop/scheduler/lock"
	"bellhop/sql/view"
)

// rules reads the filters. The database has looked at what stands there; one that this program cannot
// read all the same is told to the log, once.
func (c *Claimer) rules(rows pgx.Rows, known *lock.Pass) error {
	var r view.FilterRow
	columns := []any{&r.ID, &r.Priority, &r.Watermark, &r.Predicates, &r.Action, &r.Reason}
	_, err := pgx.ForEachRow(rows, columns, func() error {
		rule, flaw := r.Rule()
		known.Rules = append(known.Rules, rule)
		if flaw != nil && c.Log != nil && c.told[r.ID] != flaw.Error() {
			c.Log.Warn("a filter cannot be read", "filter", r.ID, "error", flaw.Error(), "as", string(rule.Action.Kind),
				"next", "bellhop filter info "+r.ID)
			if c.told == nil {
				c.told = map[string]string{}
			}
			c.told[r.ID] = flaw.Error()
		}
		r = view.FilterRow{}
		return nil
	})
	return err
}
