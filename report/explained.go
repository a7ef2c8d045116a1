package report

import (
	"context"
	"strings"

	"bellhop/scheduler"
	"bellhop/sql/view"
)

// Explained is a job with all that is to be said about it.
type Explained struct {
	ID      scheduler.JobID    `json:"id"`
	Type    scheduler.TypeName `json:"type"`
	State   scheduler.JobState `json:"state"`
	Reasons []view.ReasonRow   `json:"reasons" nullable:"false"`
	*Forecast
}

// Is says what the job is or did. Of a ready job it also says that a lock holds it back.
func (e Explained) Is() string {
	if e.State == scheduler.Ready && len(e.Reasons) > 0 && strings.HasPrefix(e.Reasons[0].Code, "lock_") {
		return e.State.Predicate() + ", and waits for a lock"
	}
	return e.State.Predicate()
}

// Explain says why a job does not run, or why it ended as it did. If the forecast fails, which not every role may
// make, the reasons are still there.
func Explain(ctx context.Context, l view.Look, job view.JobRow) (Explained, error) {
	e := Explained{ID: job.ID, Type: job.Type, State: job.State}
	var err error
	if e.Reasons, err = l.Explain(ctx, job.ID); err != nil {
		return e, err
	}
	e.Forecast, err = Foresee(ctx, l, job)
	return e, err
}
