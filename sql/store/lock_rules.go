package store

import (
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler/lock"
)

// scanRules reads the filters. The database has looked at what stands there; a
// rule that this program cannot read all the same, such as one with a regular expression
// that is PostgreSQL's alone, holds nobody.
func scanRules(rows pgx.Rows, known *lock.Pass) error {
	var r FilterRow
	columns := []any{&r.ID, &r.Priority, &r.Watermark, &r.Predicates, &r.Action, &r.Reason}
	_, err := pgx.ForEachRow(rows, columns, func() error {
		if rule, err := r.Rule(); err == nil {
			known.Rules = append(known.Rules, rule)
		}
		r = FilterRow{}
		return nil
	})
	return err
}

// Rule is the filter as the policy takes it.
func (f FilterRow) Rule() (lock.Rule, error) {
	rule := lock.Rule{ID: lock.RuleID(f.ID), Priority: f.Priority, Watermark: lock.ID(f.Watermark), Reason: f.Reason}
	var err error
	if rule.Action, err = lock.ParseAction(f.Action); err != nil {
		return rule, err
	}
	var texts []json.RawMessage
	if err := json.Unmarshal(f.Predicates, &texts); err != nil {
		return rule, err
	}
	for _, text := range texts {
		p, err := lock.ParsePredicate(string(text))
		if err != nil {
			return rule, err
		}
		rule.Predicates = append(rule.Predicates, p)
	}
	return rule, nil
}
