package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// ErrTimedOut is why an event is not there: it has not come in time.
var ErrTimedOut = errors.New("the event has not come in time")

// Rest is an error that is none: the run ends, and the job goes on later, in its next run. It counts as no attempt.
// [Job.Sleep], [Job.Await] and [Job.Children] make it; return it as it is.
type Rest struct {
	Event string        // that the job awaits; empty: it sleeps
	Pause time.Duration // at most so long; 0: until the event comes
	// KeepLocks: no other job gets this one's locks meanwhile. [KeepLocks] sets it.
	KeepLocks bool
	Children  []Child // whose ends the job awaits
}

func (r *Rest) Error() string {
	switch {
	case len(r.Children) > 0:
		return fmt.Sprintf("it awaits the ends of %d child jobs", len(r.Children))
	case r.Event == "":
		return fmt.Sprintf("it sleeps for %s", r.Pause)
	}
	return fmt.Sprintf("it awaits event %s", r.Event)
}

// message is how the run ends, in the json dialect.
func (r *Rest) message() any {
	m := map[string]any{}
	if r.KeepLocks {
		m["keep_locks"] = true
	}
	switch {
	case len(r.Children) > 0:
		m["children"] = json.RawMessage(r.ChildrenJSON())
		return m
	case r.Event == "":
		m["sleep"] = r.Pause.String()
		return m
	}
	await := map[string]string{"event": r.Event}
	if r.Pause != 0 {
		await["timeout"] = r.Pause.String()
	}
	m["await"] = await
	return m
}

// KeepLocks has the job keep its locks while it rests, if err is one of [Job.Sleep], [Job.Await] or [Job.Children]. Any
// other error is returned as it is. Jobs that want the same locks wait while the job rests, and runs once more.
//
//	if err := job.Sleep(10 * time.Minute); err != nil {
//		return agent.KeepLocks(err)
//	}
func KeepLocks(err error) error {
	var rest *Rest
	if errors.As(err, &rest) {
		keeps := *rest
		keeps.KeepLocks = true
		return &keeps
	}
	return err
}

// Step does a part of a job's work once: what do gives is kept, as JSON, before Step returns. A later run of the job
// gets it from there, and do is not called again. do may be called twice if the process dies before it is kept. An
// error of do's is returned, and nothing is kept. Names are 1 to 200 characters, each used once in a job.
//
//	receipt, err := agent.Step(ctx, job, "charge", func(ctx context.Context) (Receipt, error) { … })
func Step[R, T any](
	ctx context.Context, job *Job[T], name string, do func(ctx context.Context) (R, error),
) (R, error) {
	var out, none R
	if is, err := job.Kept(name, &out); is || err != nil {
		return out, err
	}
	out, err := do(ctx)
	if err != nil {
		return none, err
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return none, fmt.Errorf("step %q of job %d: its output is not valid JSON: %w", name, job.ID, err)
	}
	if err := job.voice.Keep(ctx, name, raw); err != nil {
		return none, fmt.Errorf("step %q of job %d: %w", name, job.ID, err)
	}
	job.remember(name, raw)
	return out, nil
}

// Kept tells whether a step of the job is done, and reads its output. An output that is of another kind is an error.
func (j *Job[T]) Kept(name string, into any) (bool, error) {
	j.mu.Lock()
	raw, is := j.Steps[name]
	j.mu.Unlock()
	if !is {
		return false, nil
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return true, fmt.Errorf("step %q of job %d has kept an output of another kind; give the step another name: %w",
			name, j.ID, err)
	}
	return true, nil
}

// SaveStep keeps a step if the transaction commits: the rows that the step writes and the step are there together, or
// neither is. Look with [Job.Kept] first. The login needs what [Job.Finish] tells.
func (j *Job[T]) SaveStep(ctx context.Context, tx Exec, name string, output any) error {
	raw, err := json.Marshal(output)
	if err != nil {
		return fmt.Errorf("step %q of job %d: its output is not valid JSON: %w", name, j.ID, err)
	}
	if _, err = tx(ctx, "select bellhop.save_step($1::bigint, $2::bigint, $3::text, $4::jsonb)",
		j.ID, j.Fence, name, string(raw)); err != nil {
		return fmt.Errorf("step %q of job %d: %w", name, j.ID, err)
	}
	return nil
}

func (j *Job[T]) remember(name string, raw json.RawMessage) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.Steps == nil {
		j.Steps = map[string]json.RawMessage{}
	}
	j.Steps[name] = raw
}

// Sleep ends the run, and the next one goes on from here after so long a time (a millisecond to 366 days): return its
// error, if there is one. The job has no slot and no process meanwhile. Sleeps are counted in their order.
//
//	if err := job.Sleep(72 * time.Hour); err != nil {
//		return err
//	}
func (j *Job[T]) Sleep(d time.Duration) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.sleeps++
	if _, slept := j.Steps[fmt.Sprintf("sleep.%d", j.sleeps)]; slept {
		return nil
	}
	return &Rest{Pause: d}
}

// Await gives the payload of an event that an app tells by bellhop.emit. If it is not there yet, the run ends, and the
// next one goes on from here when it comes: return the error. After the timeout (0: none) the error is [ErrTimedOut].
func (j *Job[T]) Await(event string, timeout time.Duration) (json.RawMessage, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.awaits == nil {
		j.awaits = map[string]int{}
	}
	j.awaits[event]++
	var kept struct {
		Payload  json.RawMessage `json:"payload"`
		TimedOut int             `json:"timed_out"`
	}
	if raw, is := j.Steps["event."+event]; is {
		if err := json.Unmarshal(raw, &kept); err != nil {
			return nil, fmt.Errorf("event %q of job %d: %w", event, j.ID, err)
		}
	}
	switch {
	case kept.Payload != nil:
		return kept.Payload, nil
	case kept.TimedOut >= j.awaits[event]:
		return nil, fmt.Errorf("event %q: %w", event, ErrTimedOut)
	}
	return nil, &Rest{Event: event, Pause: timeout}
}

// Keep has a step kept, and waits until it is.
func (w *words) Keep(ctx context.Context, name string, output json.RawMessage) error {
	_, err := w.ask(ctx, map[string]any{"step": struct {
		Name   string          `json:"name"`
		Output json.RawMessage `json:"output"`
	}{name, output}})
	return err
}
