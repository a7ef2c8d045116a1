package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"bellhop/sql/view"
	"bellhop/verb"
	"bellhop/web"
)

// JobFilter says which jobs an operation is for. At least one of its parts is needed.
type JobFilter struct {
	All     bool    `json:"all,omitempty"     doc:"Every job, if no other part is given"`
	ID      []int64 `json:"id,omitempty"                                                                  maxItems:"10000"`
	Failure string  `json:"failure,omitempty" doc:"The error of a group of GET /failures, numbers masked"                  maxLength:"300"`
	JobWords
	EndedAfter  time.Time `json:"ended_after,omitzero"  doc:"Ended at this time or later"`
	EndedBefore time.Time `json:"ended_before,omitzero"`
}

// Order is an order for many jobs.
type Order struct {
	Verb     string    `json:"verb"               enum:"cancel,kill,retry,release,hold,priority"`
	Filter   JobFilter `json:"filter"`
	Priority *int      `json:"priority,omitempty"                                                minimum:"-20" maximum:"19" doc:"Of the verb priority"`
	DryRun   bool      `json:"dry_run,omitempty"                                                                            doc:"Count, and keep nothing"`
}

// operationWord names an operation.
type operationWord struct {
	ID int64 `path:"id" minimum:"1"`
}

func (w operationWord) row(ctx context.Context, l view.Look) (view.OperationRow, error) {
	o, ok, err := l.Operation(ctx, w.ID)
	if err == nil && !ok {
		err = &verb.Missing{Thing: verb.Operation, Name: strconv.FormatInt(w.ID, 10)}
	}
	return o, err
}

// errKeepNothing ends the transaction of a dry run.
var errKeepNothing = errors.New("a dry run keeps nothing")

func operationOp(method, path string, least role, summary string, errors ...int) huma.Operation {
	return operation(method, "/operations"+path, least, "operations", summary, errors...)
}

// operations are the routes of orders for many jobs.
func (a *API) operations() {
	op := doing("plan")
	op.DefaultStatus = http.StatusCreated
	huma.Register(a, op, a.plan)
	type list struct {
		Limit  int   `query:"limit"  minimum:"1" maximum:"200" default:"50"`
		Before int64 `query:"before" minimum:"0"                            doc:"Operations older than this"`
	}
	read(a, operationOp(http.MethodGet, "", reader, "List operations, the newest first"),
		func(ctx context.Context, l view.Look, in *list) ([]view.OperationRow, error) {
			var before *int64
			if in.Before > 0 {
				before = &in.Before
			}
			return l.Operations(ctx, before, in.Limit)
		})
	read(a, operationOp(http.MethodGet, "/{id}", reader, "Show an operation and its progress", http.StatusNotFound),
		func(ctx context.Context, l view.Look, in *operationWord) (view.OperationRow, error) {
			return in.row(ctx, l)
		})
	for _, name := range []string{"start", "stop", "undo"} {
		a.operationVerb(name)
	}
}

type planning struct{ Body Order }

func (a *API) plan(ctx context.Context, in *planning) (*body[view.OperationRow], error) {
	filter, err := json.Marshal(in.Body.Filter)
	if err != nil {
		return nil, err
	}
	var out body[view.OperationRow]
	err = a.Visitors.As(ctx, web.CallerOf(ctx).Role, func(l view.Look) error {
		did, err := verb.Do(ctx, l, "plan",
			verb.In{Order: in.Body.Verb, Match: filter, Edit: view.Edit{Priority: in.Body.Priority}})
		if err == nil {
			out.Body, err = operationWord{did.ID}.row(ctx, l)
		}
		if err == nil && in.Body.DryRun {
			out.Body.ID = 0
			err = errKeepNothing
		}
		return err
	})
	if err != nil && !errors.Is(err, errKeepNothing) {
		return nil, a.problem(ctx, err)
	}
	return &out, nil
}

func (a *API) operationVerb(name string) {
	op := doing(name, http.StatusNotFound, http.StatusConflict)
	huma.Register(a, op, func(ctx context.Context, in *operationWord) (*body[view.OperationRow], error) {
		var out body[view.OperationRow]
		err := a.Visitors.As(ctx, web.CallerOf(ctx).Role, func(l view.Look) (err error) {
			if _, err = verb.Do(ctx, l, name, verb.In{ID: in.ID}); err == nil {
				out.Body, err = in.row(ctx, l)
			}
			return err
		})
		if err != nil {
			return nil, a.problem(ctx, err)
		}
		if a.Operations != nil {
			a.Operations.Wake()
		}
		return &out, nil
	})
}
