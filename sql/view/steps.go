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

// shortOutput is how many characters of an output people see beside others.
const shortOutput = 60

// Short is the output as a table shows it.
func (r KeptStepRow) Short() string {
	short := []rune(string(r.Output[:min(len(r.Output), 4*shortOutput)])) // a character has at most four bytes
	if len(short) > shortOutput || len(r.Output) > 4*shortOutput {
		return string(short[:shortOutput-1]) + "…"
	}
	return string(short)
}

// KeptSteps gives what attempts of a job have done, in order.
func (l Look) KeptSteps(ctx context.Context, id scheduler.JobID) ([]KeptStepRow, error) {
	return collect[KeptStepRow](ctx, l.db, fmt.Sprintf("read the steps of job %d", id), lookKeptStepsSQL, id)
}
