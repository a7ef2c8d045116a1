package view

import (
	"encoding/json"
	"fmt"
	"strings"

	"bellhop/scheduler"
	"bellhop/scheduler/words"
)

// OutcomeRow is how far a job is.
type OutcomeRow struct {
	ID          scheduler.JobID    `json:"id"`
	Key         *string            `json:"key"`
	State       scheduler.JobState `json:"state"`
	Attempt     int                `json:"attempt"`      // the latest, from 1; 0: none yet
	ExitCode    *int               `json:"exit_code"`    // nil: none is known
	Error       *string            `json:"error"`        // why the latest attempt failed
	ItemsFailed *int64             `json:"items_failed"` // of an MSQ job
	WaitingFor  *string            `json:"waiting_for"`  // why it does not start, if that is known
	Progress    *float32           `json:"progress"`     // 0 … 1; nil: its agent has not said
	// What its agent says of that, and what it gave back: for operators and its submitter.
	ProgressText *string         `json:"progress_text"`
	Result       json.RawMessage `json:"result"`
	Stuck        bool            `json:"-"` // it waits, and waiting alone will not change that
}

// Err is nil when the job succeeded or is not over, and else a *JobError.
func (o OutcomeRow) Err() error {
	if !o.State.Final() || o.State == scheduler.Succeeded {
		return nil
	}
	return &JobError{o}
}

// HowFar is Progress, and 0 where its agent has not said.
func (o OutcomeRow) HowFar() float64 {
	if o.Progress == nil {
		return 0
	}
	return float64(*o.Progress)
}

// Says is ProgressText, and empty where its agent has not said.
func (o OutcomeRow) Says() string { return words.Text(o.ProgressText) }

// Into reads what the job gave back into v, as package encoding/json does. Of a
// job that gave nothing back it is an error.
func (o OutcomeRow) Into(v any) error {
	if len(o.Result) == 0 {
		return fmt.Errorf("job %d %s, and has no result that this login may see", o.ID, o.State.Predicate())
	}
	if err := json.Unmarshal(o.Result, v); err != nil {
		return fmt.Errorf("read the result of job %d: %w", o.ID, err)
	}
	return nil
}

// JobError is the error of a job that is over and did not succeed.
type JobError struct{ Outcome OutcomeRow }

// Error says how it ended, and what was said of it.
func (e *JobError) Error() string {
	why := ""
	if e.Outcome.Error != nil {
		why = strings.TrimSpace(*e.Outcome.Error)
	}
	text := fmt.Sprintf("job %d %s", e.Outcome.ID, e.Outcome.State.Predicate())
	if code := e.Outcome.ExitCode; code != nil && *code != 0 && !strings.HasPrefix(why, "exit status ") {
		text += fmt.Sprintf(", exit code %d", *code)
	}
	if why != "" {
		text += ": " + why
	}
	return text
}
