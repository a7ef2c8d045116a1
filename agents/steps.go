package agents

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"bellhop/scheduler"
)

// In the json dialect an agent has what it did kept for the next run of its job, which finds it on its line:
//
//	{"step":{"name":"charge","output":{"receipt":7}}}        → {"step":"charge"}, when it is committed
//	{"sleep":"3d"}                                           the run ends; the next one begins after that time
//	{"await":{"event":"paid.42","timeout":"2d"}}             the run ends; the next one begins when the event comes
//	{"children":[{"type":"resize","args":"1.jpg"}]}          the run ends; the next one begins when these jobs have ended
//	{"sleep":"3d","keep_locks":true}                         the same, and its locks stay the job's own
//
// A step that cannot be kept is answered by {"failed":"why"}, as a request for locks is (locks.go).

// appendKept adds what a line tells of earlier attempts.
func appendKept(b []byte, k *scheduler.Earlier) []byte {
	if len(k.Steps) > 0 && string(k.Steps) != "{}" {
		b = append(append(b, `,"steps":`...), k.Steps...)
	}
	if k.Event != nil {
		b = append(append(b, `,"event":`...), k.Event...)
	}
	if k.TimedOut {
		b = append(b, `,"timed_out":true`...)
	}
	return b
}

// parseStep reads a step. why says what is wrong with it; empty: nothing.
func parseStep(line []byte) (step scheduler.SavedStep, why string) {
	var m jsonMessage
	var said struct {
		Name   *string         `json:"name"`
		Output json.RawMessage `json:"output"`
	}
	const example = `write {"step":{"name":"charge","output":{"receipt":7}}}`
	if err := json.Unmarshal(line, &m); err != nil {
		return step, fmt.Sprintf("the agent's step is not valid JSON: %v; %s", err, example)
	}
	if json.Unmarshal(m.Step, &said) != nil || said.Name == nil {
		return step, fmt.Sprintf("the agent's step %.100q has no name; %s", m.Step, example)
	}
	return scheduler.SavedStep{Name: *said.Name, Output: said.Output}, ""
}

// saveStep has a step kept, and answers. What the agent says meanwhile waits: it is read by this goroutine.
func (p *Process) saveStep(line []byte, truncated bool) {
	step, why := parseStep(line)
	if truncated {
		why = "the agent wrote a step of more than 1 MiB; keep a large output in a table of your own, and its key in the step"
	}
	p.mu.Lock()
	if !p.inHand {
		p.mu.Unlock()
		p.note(scheduler.LevelError, []byte("a step with no line outstanding is kept nowhere"), false)
		return
	}
	of := p.hand.Claim
	switch {
	case p.batch > 1: // the answer would not tell of which job it is
		p.replies = append(p.replies, lockReply(scheduler.LockAnswer{
			Refused: "an agent that takes batches cannot save a step so; call bellhop.save_step, as docs/steps.md says"}))
		p.reply()
		p.release()
		return
	case why != "":
	case p.hand.Item != 0:
		why = "an item keeps no steps; submit it as a job of its own"
	case p.launcher.steps == nil:
		why = "steps are not kept here: there is no database; run bellhop serve with one"
	case p.locks.failed != nil: // it was told that its attempt has failed
		p.mu.Unlock()
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	p.stopStep = stop
	if p.exiting || p.over {
		stop()
	}
	p.mu.Unlock()
	err := error(&scheduler.StepRefused{Why: why})
	if why == "" {
		err = p.launcher.steps(ctx, of, step)
	}
	p.mu.Lock()
	defer p.release()
	p.stopStep = nil
	switch {
	case ctx.Err() != nil || !p.inHand || p.hand.Claim != of: // it is too late for an answer
		return
	case err != nil:
		p.failAttempt(scheduler.LockAnswer{Failed: err.Error()})
	default:
		said, _ := json.Marshal(map[string]string{"step": step.Name}) // strings always can
		p.replies = append(p.replies, append(said, '\n'))
	}
	p.reply()
}

// failAttempt notes that the attempt has failed, and tells the agent, which is to end the line soon. mu is held.
func (p *Process) failAttempt(a scheduler.LockAnswer) {
	n := p.locks.asked
	p.locks.failed = &a
	time.AfterFunc(failPatience, func() { p.killFailed(n) })
	p.replies = append(p.replies, lockReply(a))
}

// rests reads how a run ends that goes on later. What cannot be read fails the attempt.
func rests(m *jsonMessage) remark {
	r, err := readRest(m)
	if err != nil {
		return remark{word: wordFail, code: 1, text: []byte(err.Error())}
	}
	const item = "an item cannot sleep, await an event or have children; submit it as a job of its own" // else it does not fail
	return remark{word: wordFail, text: []byte(item), wish: &scheduler.Answer{Rest: &r}}
}

func readRest(m *jsonMessage) (r scheduler.Resting, err error) {
	if isThere(m.Sleep) && isThere(m.Await) || isThere(m.Children) && (isThere(m.Sleep) || isThere(m.Await)) {
		return r, fmt.Errorf(`"sleep", "await" and "children" stand in one line; write one of them`)
	}
	if isThere(m.KeepLocks) {
		if err := json.Unmarshal(m.KeepLocks, &r.KeepLocks); err != nil {
			return r, fmt.Errorf(`"keep_locks" is %.40q, and neither true nor false: write {"sleep":"3d","keep_locks":true}`, m.KeepLocks)
		}
	}
	if isThere(m.Children) {
		r.Children = string(m.Children)
		return r, ofNoQuery(m.Children)
	}
	if isThere(m.Sleep) {
		if r.Pause, err = pause(m.Sleep); err != nil {
			return r, fmt.Errorf(`"sleep" is not a valid time: write {"sleep":"3d"}: %w`, err)
		}
		return r, nil
	}
	const example = `write {"await":{"event":"paid.42","timeout":"2d"}}`
	var said struct {
		Event   string          `json:"event"`
		Timeout json.RawMessage `json:"timeout"`
	}
	if json.Unmarshal(m.Await, &said) != nil || said.Event == "" {
		return r, fmt.Errorf(`"await" %.100q names no event: %s`, m.Await, example)
	}
	r.Event = said.Event
	if isThere(said.Timeout) {
		if r.Pause, err = pause(said.Timeout); err != nil {
			return r, fmt.Errorf(`the timeout of "await" is not a valid time: %s: %w`, example, err)
		}
	}
	if err = r.Check(); err != nil {
		return r, fmt.Errorf(`"await": %w`, err)
	}
	return r, nil
}

// ofNoQuery refuses child jobs that are queries: an agent has no rights to the database, and would get the rows on its
// stdin. The keys are read as PostgreSQL reads them; what is no list of objects is refused there.
func ofNoQuery(children []byte) error {
	var list []map[string]json.RawMessage
	if json.Unmarshal(children, &list) != nil {
		return nil
	}
	for n, child := range list {
		if isThere(child["msq"]) {
			return fmt.Errorf(`"msq" of child %d: an agent's child jobs cannot be queries, since it has no rights to the database; `+
				`a handler in an app can make them, or a session that takes the job`, n+1)
		}
	}
	return nil
}
