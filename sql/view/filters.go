package view

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"bellhop/scheduler/lock"
	"bellhop/sql"
)

var (
	lookFiltersSQL       = sql.Query("look_filters")
	lookFilterAddSQL     = sql.Query("look_filter_add")
	lookFilterReplaceSQL = sql.Query("look_filter_replace")
	lookFilterDeleteSQL  = sql.Query("look_filter_delete")
)

// FilterRow is a job filter.
type FilterRow struct {
	ID         string          `json:"id"`
	Priority   int             `json:"priority"`
	Watermark  int64           `json:"watermark"` // the highest job when it was added or replaced
	Predicates json.RawMessage `json:"predicates"`
	Action     string          `json:"action"`
	Reason     string          `json:"reason"`
	CreatedAt  time.Time       `json:"created_at"`
	CreatedBy  string          `json:"created_by"`
	// Unreadable is why passes cannot read it, and take it for a PAUSE (lock.Action.Closed).
	Unreadable string `json:"unreadable,omitempty" db:"-"`
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

// Filters gives the filters in the order in which they are asked; of all, or with an id that one.
func (l Look) Filters(ctx context.Context, id *string) ([]FilterRow, error) {
	filters, err := collect[FilterRow](ctx, l.db, "list filters", lookFiltersSQL, id)
	if err != nil {
		return nil, err
	}
	for i := range filters {
		if _, flaw := filters[i].Rule(); flaw != nil {
			filters[i].Unreadable = flaw.Error()
		}
	}
	return filters, nil
}

// AddFilter adds a filter, and gives its id.
func (l Look) AddFilter(ctx context.Context, f FilterRow) (id string, err error) {
	return value[string](ctx, l.db, "add filter", lookFilterAddSQL, f.Action, string(f.Predicates), f.Priority, f.Reason)
}

// ReplaceFilter puts a filter in the place of the one with its id, or adds it.
func (l Look) ReplaceFilter(ctx context.Context, f FilterRow) (id string, err error) {
	return value[string](ctx, l.db, "replace filter", lookFilterReplaceSQL,
		f.ID, f.Action, string(f.Predicates), f.Priority, f.Reason)
}

// DeleteFilter deletes a filter; ok false: there is none.
func (l Look) DeleteFilter(ctx context.Context, id string) (ok bool, err error) {
	return value[bool](ctx, l.db, "delete filter", lookFilterDeleteSQL, id)
}
