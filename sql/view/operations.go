package view

import (
	"context"
	"encoding/json"
	"time"

	"bellhop/sql"
)

var (
	operationPlanSQL  = sql.Query("operation_plan")
	operationStartSQL = sql.Query("operation_start")
	operationStopSQL  = sql.Query("operation_stop")
	operationUndoSQL  = sql.Query("operation_undo")
	operationStepSQL  = sql.Query("operation_step")
	operationsSQL     = sql.Query("operations")
	operationsOpenSQL = sql.Query("operations_open")
)

// OperationRow is an order for many jobs, and how far it is.
type OperationRow struct {
	ID        int64            `json:"id"`
	Verb      string           `json:"verb"`
	Filter    json.RawMessage  `json:"filter"`
	Priority  *int             `json:"priority"`
	State     string           `json:"state"` // planned, running, stopping, stopped, done, undone
	Planned   int64            `json:"planned"`
	ByState   map[string]int64 `json:"by_state"`
	Skipped   map[string]int64 `json:"skipped"`
	Samples   []OperationJob   `json:"samples"`
	PlannedBy string           `json:"planned_by"` // the role
	Actor     *string          `json:"actor"`      // a token's name, or a login; nil: not known
	PlannedAt time.Time        `json:"planned_at"`
	StartedAt *time.Time       `json:"started_at"`
	EndedAt   *time.Time       `json:"ended_at"`
	WorkedAt  *time.Time       `json:"worked_at"` // when its last batch was done
	Done      int64            `json:"done"`
	Refused   int64            `json:"refused"`
	Undone    int64            `json:"undone"`
	Error     *string          `json:"error"`
	// Dependents is how many jobs besides need these, by what becomes of them: failed, blocked, held or run where these
	// are cancelled, else wait.
	Dependents map[string]int64 `json:"dependents"`
}

// OperationJob is a job that an operation is for.
type OperationJob struct {
	ID    int64   `json:"id"`
	Key   *string `json:"key"`
	Type  string  `json:"type"`
	State string  `json:"state"`
}

// PlanOperation plans an order for what a filter (JSON) lets through now, and counts it.
func (l Look) PlanOperation(ctx context.Context, verb string, filter []byte, priority *int) (id int64, err error) {
	return value[int64](ctx, l.db, "plan an operation", operationPlanSQL, verb, string(filter), priority)
}

// Operations lists them, the newest first, before an id (nil: the newest).
func (l Look) Operations(ctx context.Context, before *int64, most int) ([]OperationRow, error) {
	return l.operations(ctx, nil, before, most)
}

// Operation gives one; ok false: there is none.
func (l Look) Operation(ctx context.Context, id int64) (o OperationRow, ok bool, err error) {
	return first(l.operations(ctx, &id, nil, 1))
}

func (l Look) operations(ctx context.Context, id, before *int64, most int) ([]OperationRow, error) {
	return collect[OperationRow](ctx, l.db, "list operations", operationsSQL, id, before, most)
}

// StartOperation lets one run, or go on; nil: there is none. It gives the state that it has now.
func (l Look) StartOperation(ctx context.Context, id int64) (state *string, err error) {
	return value[*string](ctx, l.db, "start an operation", operationStartSQL, id)
}

// StopOperation ends one after the batch that is under way.
func (l Look) StopOperation(ctx context.Context, id int64) (state *string, err error) {
	return value[*string](ctx, l.db, "stop an operation", operationStopSQL, id)
}

// UndoOperation restores the jobs that have not been changed since; nil: there is no such operation.
func (l Look) UndoOperation(ctx context.Context, id int64) (n *int64, err error) {
	return value[*int64](ctx, l.db, "undo an operation", operationUndoSQL, id)
}

// StepOperation carries out the next batch; nil: there is no such operation.
func (l Look) StepOperation(ctx context.Context, id int64, most int) (state *string, err error) {
	return value[*string](ctx, l.db, "carry out an operation", operationStepSQL, id, most)
}

// OpenOperation is one that is to be carried out, under a role.
type OpenOperation struct {
	ID   int64
	Role string
}

// OpenOperations gives them; with left, only those without a worker.
func (v *Visitors) OpenOperations(ctx context.Context, left bool) ([]OpenOperation, error) {
	ctx, cancel := context.WithTimeout(ctx, readPatience)
	defer cancel()
	return collect[OpenOperation](ctx, v.pool, "look for operations to carry out", operationsOpenSQL, left)
}
