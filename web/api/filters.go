package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"bellhop/scheduler/grammar"
	"bellhop/scheduler/lock"
	"bellhop/sql/view"
	"bellhop/verb"
)

// NewFilter is a job filter as it is written.
type NewFilter struct {
	Action     string            `json:"action"`
	Predicates []json.RawMessage `json:"predicates,omitempty"`
	Priority   int               `json:"priority,omitempty"`
	Reason     string            `json:"reason,omitempty"`
}

// TransformSchema gives the fields the words and bounds of the grammar.
func (NewFilter) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	return described(grammar.Filter, s)
}

// row is the filter as it is to be stored. It is read as the scheduler will, so that what cannot be right is refused.
func (n NewFilter) row() (view.FilterRow, error) {
	row := view.FilterRow{Priority: n.Priority, Reason: n.Reason, Predicates: []byte("[]")}
	if strings.TrimSpace(n.Action) == "" {
		return row, unfit("there is no action; CONTINUE, which does nothing, must be given too")
	}
	if strings.ContainsRune(n.Reason, 0) {
		return row, unfit("there is a NUL in the reason, which no text can hold")
	}
	action, err := lock.ParseAction(n.Action)
	if err != nil {
		return row, unfit(err.Error())
	}
	row.Action = action.String()
	for _, p := range n.Predicates {
		var at *lock.ExprError
		if _, err := lock.ParsePredicate(string(p)); errors.As(err, &at) {
			return row, refused(http.StatusUnprocessableEntity, "invalid", at.Next, "predicate %s, character %d: %s",
				at.Text, at.At, at.Why)
		} else if err != nil {
			return row, unfit(err.Error())
		}
	}
	if len(n.Predicates) > 0 {
		row.Predicates, err = json.Marshal(n.Predicates)
	}
	return row, err
}

// FilterWord names a filter.
type FilterWord struct {
	ID string `path:"id" pattern:"^[A-Za-z0-9._-]{1,100}$"`
}

func (w FilterWord) row(ctx context.Context, l view.Look) (view.FilterRow, error) {
	list, err := l.Filters(ctx, &w.ID)
	switch {
	case err != nil:
		return view.FilterRow{}, err
	case len(list) == 0:
		return view.FilterRow{}, w.missing()
	}
	return list[0], nil
}

func (w FilterWord) missing() error {
	return &verb.Missing{Thing: verb.Filter, Name: w.ID}
}

func filterOp(method, path string, least role, summary string, errors ...int) huma.Operation {
	return operation(method, "/filters"+path, least, "locks", summary, errors...)
}

// filters are the routes of job filters.
func (a *API) filters() {
	read(a, filterOp(http.MethodGet, "", reader, "List job filters, in the order in which they apply"),
		func(ctx context.Context, l view.Look, _ *struct{}) ([]view.FilterRow, error) {
			return l.Filters(ctx, nil)
		})
	read(a, filterOp(http.MethodGet, "/{id}", reader, "Show a filter", http.StatusNotFound),
		func(ctx context.Context, l view.Look, in *FilterWord) (view.FilterRow, error) {
			return in.row(ctx, l)
		})
	type made struct{ Body NewFilter }
	op := doing("filter add")
	op.DefaultStatus = http.StatusCreated
	write := func(ctx context.Context, l view.Look, name string, n NewFilter, id string) (*body[view.FilterRow], error) {
		row, err := n.row()
		if err != nil {
			return nil, err
		}
		row.ID = id
		out, err := verb.Do(ctx, l, name, verb.In{Filter: row})
		if err != nil {
			return nil, err
		}
		row, err = FilterWord{out.Name}.row(ctx, l)
		return &body[view.FilterRow]{row}, err
	}
	change(a, op, func(ctx context.Context, l view.Look, in *made) (*body[view.FilterRow], error) {
		return write(ctx, l, "filter add", in.Body, "")
	})
	type put struct {
		FilterWord
		Body NewFilter
	}
	change(a, doing("filter replace"),
		func(ctx context.Context, l view.Look, in *put) (*body[view.FilterRow], error) {
			return write(ctx, l, "filter replace", in.Body, in.ID)
		})
	type deletedFilter struct {
		ID      string `json:"id"`
		Changed bool   `json:"changed"`
	}
	change(a, doing("filter delete", http.StatusNotFound),
		func(ctx context.Context, l view.Look, in *FilterWord) (*body[deletedFilter], error) {
			out, err := verb.Do(ctx, l, "filter delete", verb.In{Name: in.ID})
			return &body[deletedFilter]{deletedFilter{in.ID, out.Changed}}, err
		})
}
