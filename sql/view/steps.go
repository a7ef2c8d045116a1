package view

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"bellhop/scheduler"
	"bellhop/sql"
)

var lookKeptStepsSQL = sql.Query("look_kept_steps")

// KeptStepRow is what an earlier attempt of a job has done: a step, a sleep, or an event that it awaited.
type KeptStepRow struct {
	Name   string          `json:"name"`
	Output json.RawMessage `json:"output"` // null too where the account may not see it
	At     time.Time       `json:"at"`
}

// KeptSteps gives what attempts of a job have done, in order.
func (l Look) KeptSteps(ctx context.Context, id scheduler.JobID) ([]KeptStepRow, error) {
	return collect[KeptStepRow](ctx, l.db, fmt.Sprintf("read the steps of job %d", id), lookKeptStepsSQL, id)
}
