package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// Line is one job, or one item of one, as it is given to work.
type Line struct {
	ID      int64 `json:"id"`      // of the job's row
	Attempt int   `json:"attempt"` // the try this is, from 1
	// Fence grows with each time that the job is given to an agent. To be exact
	// outside of PostgreSQL too, refuse a lower one than you have seen for the job.
	Fence int64 `json:"fence"`

	Args *string `json:"args"` // as text; nil: none
	// Item has the columns of an item, but those that are NULL; nil: this is no item.
	Item map[string]string `json:"item"`

	Key         string            `json:"key"` // of the job; empty: none
	Vars        map[string]string `json:"vars"`
	Traceparent string            `json:"traceparent"` // the W3C trace context of this run; empty: none

	// Steps are what earlier runs of the job have done, by name, each with its output: see [Step].
	Steps map[string]json.RawMessage `json:"steps"`
}

// Voice hears what a job says until its work returns. Its methods may be called by
// several goroutines.
type Voice interface {
	// Log keeps a line with the job; level is debug, info or error.
	Log(level, text string)
	// Give takes the value of a field of the json dialect: progress, result or success.
	Give(field string, value any)
	// Ask says one thing about locks, and waits for the answer.
	Ask(ctx context.Context, r LockRequest) ([]string, error)
	// Keep has a step of the job kept, and waits until it is.
	Keep(ctx context.Context, name string, output json.RawMessage) error
}

// Verdict is how the work on a line went.
type Verdict struct {
	Err      error         // nil: it is done
	Stopped  bool          // it gave up since its context had ended: whose wish that was, the scheduler knows
	ExitCode int           // of a failure: 1 … 255
	Never    bool          // another try gives the same
	After    time.Duration // the next try is not to come sooner; 0: as the policy says
	Snooze   time.Duration // it is put off for so long, and has not failed; 0: it is not
	Rest     *Rest         // its run is over, and it goes on later; nil: it does not rest
	EndedAs  EndedAs       // it is done, and this is how; Err is nil then
}

// Do does one line with work, here and now: what [Serve] does with each line, for callers that bring lines in
// another way, as package worker and tests do. The context must end with [ErrStopped] as its cause.
func Do[T any](ctx context.Context, line Line, voice Voice, work func(ctx context.Context, job *Job[T]) error) Verdict {
	job, err := newJob[T](line)
	if err == nil {
		job.voice = voice
		err = safely(ctx, job, work)
	}
	return verdict(ctx, err)
}

// verdict is what an error of work's means.
func verdict(ctx context.Context, err error) Verdict {
	switch {
	case err == nil:
		return Verdict{}
	case ctx.Err() != nil:
		return Verdict{Err: err, Stopped: true}
	}
	var ended EndedAs
	if errors.As(err, &ended) {
		return Verdict{EndedAs: ended}
	}
	var later Snooze
	if errors.As(err, &later) {
		return Verdict{Err: err, Snooze: time.Duration(later)}
	}
	var rest *Rest
	if errors.As(err, &rest) {
		return Verdict{Err: err, Rest: rest}
	}
	v := Verdict{Err: err, ExitCode: 1}
	var exit interface{ ExitCode() int }
	if errors.As(err, &exit) && exit.ExitCode() > 0 && exit.ExitCode() <= 255 {
		v.ExitCode = exit.ExitCode()
	}
	if err.Error() == "" {
		v.Err = fmt.Errorf("%T", err)
	}
	var wish *wished
	if errors.As(err, &wish) {
		v.Never, v.After = wish.never, wish.after
	}
	return v
}

// safely turns a panic into an error.
func safely[T any](ctx context.Context, job *Job[T], work func(ctx context.Context, job *Job[T]) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			job.Errorf("panic: %v\n%s", p, debug.Stack())
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return work(ctx, job)
}

// newJob reads what a line holds.
func newJob[T any](l Line) (*Job[T], error) {
	job := &Job[T]{Line: l}
	var data []byte
	switch text, is := any(&job.Args).(*string); {
	case l.Item != nil:
		if !is {
			data, _ = json.Marshal(l.Item) // strings always can
		}
	case l.Args == nil:
	case is:
		*text = *l.Args
	default:
		data = []byte(*l.Args)
	}
	if len(bytes.TrimSpace(data)) > 0 {
		if err := json.Unmarshal(data, &job.Args); err != nil {
			return nil, badArgs{fmt.Errorf("the job's args are not what the agent takes: %w", err)}
		}
	}
	return job, nil
}

// badArgs fails a job with exit code 2: another try gives the same.
type badArgs struct{ error }

func (badArgs) ExitCode() int   { return 2 }
func (b badArgs) Unwrap() error { return b.error }
