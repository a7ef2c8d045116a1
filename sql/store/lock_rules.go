package store

import (
	"encoding/json"
	"errors"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler/lock"
)

// rules reads the filters. The database has looked at what stands there; one that this program cannot
// read all the same is told to the log, once.
func (c *Claimer) rules(rows pgx.Rows, known *lock.Pass) error {
	var r FilterRow
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
		r = FilterRow{}
		return nil
	})
	return err
}

// Rule is the filter as the policy takes it. Of one that cannot be read, which the error says, what can
// not be read is taken to hold for every job, and its action is lock.Action.Closed.
func (f FilterRow) Rule() (lock.Rule, error) {
	rule := lock.Rule{ID: lock.RuleID(f.ID), Priority: f.Priority, Watermark: lock.ID(f.Watermark), Reason: f.Reason}
	action, flaw := lock.ParseAction(f.Action)
	if flaw != nil {
		action = lock.Action{Kind: lock.Pause}
	}
	var texts []json.RawMessage
	if err := json.Unmarshal(f.Predicates, &texts); err != nil {
		flaw = errors.Join(flaw, err)
	}
	for _, text := range texts {
		p, err := lock.ParsePredicate(string(text))
		if err != nil {
			flaw = errors.Join(flaw, err)
			continue
		}
		rule.Predicates = append(rule.Predicates, p)
	}
	if flaw != nil {
		action = action.Closed()
	}
	rule.Action = action
	return rule, flaw
}
